//! What is true at one version: segments in order, with the digest of every file.
//!
//! A manifest is one line of JSON and one line with the BLAKE3 of it. Its number is its name; it names
//! the digest of the manifest before it. Knows no tables.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files::Files;

/// The format this build writes, of manifests and segments alike.
pub(crate) const FORMAT: u32 = 1;
/// The oldest format this build reads.
pub(crate) const FORMAT_OLDEST: u32 = 1;
/// The folder of the manifests.
pub(crate) const FOLDER: &str = "manifest";

/// What made the vectors of a store: vectors of two embedders are never compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbedderIdentity {
    /// The model's name.
    pub name: String,
    /// The digest of its weights and tokenizer, in hexadecimal.
    pub digest: String,
    /// Numbers in a vector.
    pub dim: u32,
    /// How token vectors become one: `cls`, `mean`, …
    pub pooling: String,
    /// What is put before a question.
    pub query_prompt: String,
    /// What is put before a passage.
    pub passage_prompt: String,
    /// Wordpieces it reads at most.
    pub window: u32,
}

impl fmt::Display for EmbedderIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest: String = self.digest.chars().take(12).collect();
        write!(f, "{} ({}, {digest})", self.name, self.dim)
    }
}

/// The length and digest of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileDigest {
    /// BLAKE3, 64 hexadecimal digits.
    pub blake3: String,
    /// Its length in bytes.
    pub bytes: u64,
}

impl FileDigest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self { blake3: blake3::hash(bytes).to_hex().to_string(), bytes: bytes.len() as u64 }
    }

    /// The digest of what `reader` gives.
    ///
    /// # Errors
    /// The reader's.
    pub(crate) fn read(reader: impl std::io::Read) -> std::io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(reader)?;
        Ok(Self { blake3: hasher.finalize().to_hex().to_string(), bytes: hasher.count() })
    }
}

/// Whether a segment has indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SegmentKind {
    /// Tables, a text index and a vector index.
    Sealed,
    /// Tables alone: small, searched exactly, merged soon.
    Live,
}

/// How many rows a segment has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Source versions.
    pub sources: u32,
    /// Turns.
    pub turns: u32,
    /// Sentences, and vectors.
    pub sentences: u32,
    /// Chunks.
    pub chunks: u32,
    /// Edges.
    pub edges: u32,
}

/// A segment as a manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentEntry {
    /// The name of its folder below `segments/`.
    pub name: String,
    /// The one tenant whose data it holds.
    pub tenant: String,
    /// Whether it has indexes.
    pub kind: SegmentKind,
    /// Its rows.
    pub counts: Counts,
    /// Every file of it, by its path in the folder.
    pub files: BTreeMap<String, FileDigest>,
}

/// One version of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The format of this manifest and of its segments.
    pub format: u32,
    /// Its number, from 1.
    pub number: u64,
    /// The BLAKE3 of the whole manifest before it; `None` for the first.
    pub parent: Option<String>,
    /// Which attempt to commit made it: tells one's own success from another's.
    pub commit_id: String,
    /// Who.
    pub actor: String,
    /// What was done: `import`, `add`, `delete`, `merge`, …
    pub action: String,
    /// Why, in the actor's words.
    pub reason: String,
    /// When: microseconds since 1970-01-01 UTC.
    pub at_us: i64,
    /// What made its vectors; `None` while there are no segments.
    pub embedder: Option<EmbedderIdentity>,
    /// The settings of this commit.
    pub settings: BTreeMap<String, String>,
    /// The segments in order; the oldest first.
    pub segments: Vec<SegmentEntry>,
}

impl Manifest {
    /// Its bytes: a line of JSON, a line with its digest.
    ///
    /// # Errors
    /// [`Error::Engine`]; JSON of such plain data does not fail.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let failed = |error: serde_json::Error| Error::Engine {
            engine: "json",
            path: PathBuf::from(path(self.number)),
            reason: error.to_string(),
        };
        let mut bytes = serde_json::to_vec(self).map_err(failed)?;
        bytes.push(b'\n');
        let digest = blake3::hash(&bytes).to_hex();
        bytes.extend_from_slice(format!("blake3 {digest}\n").as_bytes());
        Ok(bytes)
    }

    /// Checks the digest and reads the manifest `number` back.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Incompatible`], naming the manifest.
    pub fn decode(bytes: &[u8], number: u64) -> Result<Self> {
        let corrupt = |reason: &str| Error::Corrupt { path: PathBuf::from(path(number)), reason: reason.to_owned() };
        let body_len = bytes.len().checked_sub("blake3 \n".len() + 64).ok_or_else(|| corrupt("it is cut short"))?;
        let (body, digest) = bytes.split_at(body_len);
        if digest != format!("blake3 {}\n", blake3::hash(body).to_hex()).as_bytes() {
            return Err(corrupt("its digest differs"));
        }
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let head: Head = serde_json::from_slice(body).map_err(|error| corrupt(&error.to_string()))?;
        if !(FORMAT_OLDEST..=FORMAT).contains(&head.format) {
            let path = PathBuf::from(path(number));
            return Err(Error::Incompatible { path, found: head.format, oldest: FORMAT_OLDEST, newest: FORMAT });
        }
        let manifest: Self = serde_json::from_slice(body).map_err(|error| corrupt(&error.to_string()))?;
        if manifest.number != number {
            return Err(corrupt("it says it has another number"));
        }
        let paths = manifest.segments.iter().flat_map(|entry| entry.files.keys().chain([&entry.name]));
        if let Some(path) = { paths }.find(|path| !is_plain(path)) {
            return Err(corrupt(&format!("it names {path:?}, which may lie outside the store")));
        }
        Ok(manifest)
    }

    /// The digest that the next manifest names as its parent.
    pub(crate) fn digest_of(bytes: &[u8]) -> String {
        blake3::hash(bytes).to_hex().to_string()
    }
}

/// Whether a path from a manifest stays inside its folder.
fn is_plain(path: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    path.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && part.bytes().all(plain))
}

/// The path of manifest `number`.
pub(crate) fn path(number: u64) -> String {
    format!("{FOLDER}/{number:020}")
}

/// The numbers of all manifests, ascending.
pub(crate) fn numbers(files: &dyn Files) -> Result<Vec<u64>> {
    let names = files.list(FOLDER)?;
    let is_number = |name: &&String| name.len() == 20 && name.bytes().all(|b| b.is_ascii_digit());
    Ok(names.iter().filter(is_number).filter_map(|name| name.parse().ok()).collect())
}

/// The newest manifest's number; 0 where there is none.
pub(crate) fn newest(files: &dyn Files) -> Result<u64> {
    Ok(numbers(files)?.last().copied().unwrap_or(0))
}

/// The newest manifest's number, from one that is known to be there. Numbers have no gaps, so that
/// looking up the next few is enough, and costs nothing of what a long history would cost to list.
pub(crate) fn newest_after(files: &dyn Files, known: u64) -> Result<u64> {
    const STEPS_MAX: u64 = 64;
    if known == 0 {
        return newest(files);
    }
    for number in known + 1..=known + STEPS_MAX {
        match files.read(&path(number)) {
            Ok(_) => {}
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => return Ok(number - 1),
            Err(error) => return Err(error),
        }
    }
    newest(files)
}

/// A manifest read from the store, with the digest its successor must name.
pub(crate) struct Published {
    /// The manifest.
    pub(crate) manifest: Manifest,
    /// Its digest.
    pub(crate) digest: String,
}

/// Reads manifest `number`; `None` for 0, the state before the first.
pub(crate) fn read(files: &Arc<dyn Files>, number: u64) -> Result<Option<Published>> {
    if number == 0 {
        return Ok(None);
    }
    let bytes: Bytes = files.read(&path(number))?;
    let manifest = Manifest::decode(&bytes, number)?;
    Ok(Some(Published { manifest, digest: Manifest::digest_of(&bytes) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Manifest {
        Manifest {
            format: FORMAT,
            number: 1,
            parent: None,
            commit_id: "c".to_owned(),
            actor: "ana".to_owned(),
            action: "import".to_owned(),
            reason: String::new(),
            at_us: 0,
            embedder: None,
            settings: BTreeMap::new(),
            segments: Vec::new(),
        }
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let bytes = example().encode().unwrap();
        assert_eq!(Manifest::decode(&bytes, 1).unwrap(), example());
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Manifest::decode(&flipped, 1).is_err(), "bit {bit}");
        }
        assert!((0..bytes.len()).all(|end| Manifest::decode(&bytes[..end], 1).is_err()));
        assert!(Manifest::decode(&bytes, 2).is_err());
    }

    #[test]
    fn a_newer_format_is_named() {
        let newer = Manifest { format: 9, ..example() };
        let error = Manifest::decode(&newer.encode().unwrap(), 1).unwrap_err();
        assert!(matches!(error, Error::Incompatible { found: 9, .. }));
    }

    #[test]
    fn paths_stay_inside() {
        assert!(is_plain("text/0a.idx") && is_plain("sources.parquet"));
        for bad in ["", "/etc", "../a", "a/../b", "a//b", ".tmp-1", "a\\b"] {
            assert!(!is_plain(bad), "{bad:?}");
        }
    }
}
