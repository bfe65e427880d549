//! A model folder: configuration, tokenizer, tensors, digest.
//!
//! Reads files and checks them; computes nothing. Formats: Hugging Face `config.json`, `tokenizer.json`,
//! `model.safetensors`; sentence-transformers `sentence_bert_config.json`, `1_Pooling/config.json`,
//! `config_sentence_transformers.json`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokenizers::{ModelWrapper, Tokenizer};

use super::EmbedderId;
use super::pool::Pooling;
use super::tokens::Vocabulary;
use crate::{Error, Result};

/// Window of models that do not say theirs: what sentence-transformers gives MiniLM.
const WINDOW_STANDARD: usize = 256;

/// The shape of a BERT, from `config.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Config {
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_attention_heads: usize,
    pub num_hidden_layers: usize,
    pub max_position_embeddings: usize,
    pub layer_norm_eps: f32,
    hidden_act: String,
    model_type: String,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

/// A model folder in memory.
pub(super) struct Folder {
    pub config: Config,
    pub vocabulary: Vocabulary,
    pub tensors: Tensors,
    pub pooling: Pooling,
    pub id: EmbedderId,
}

/// The tensors of a model by name, in f32.
pub(super) struct Tensors {
    path: PathBuf,
    by_name: HashMap<String, Tensor>,
}

impl Folder {
    /// Reads a folder whole.
    ///
    /// # Errors
    /// [`Error::Read`] for a missing file, [`Error::Model`] for one that this build cannot use.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let config: Config = read_json(&folder.join("config.json"))?;
        check_config(&config, &folder.join("config.json"))?;
        let vocabulary = read_tokenizer(&folder.join("tokenizer.json"))?;
        let pooling = read_pooling(&folder.join("1_Pooling/config.json"))?;
        let window = read_window(folder, &config)?;
        let prompts = read_prompts(folder)?;
        let (tensors, digest) = Tensors::read(&folder.join("model.safetensors"))?;
        let name = folder.canonicalize().ok();
        let name = name.as_deref().unwrap_or(folder).file_name();
        let id = EmbedderId {
            name: name.unwrap_or_default().to_string_lossy().into_owned(),
            digest,
            dim: config.hidden_size as u32,
            pooling: pooling.name().to_owned(),
            query_prompt: prompts.first(&["query"]),
            passage_prompt: prompts.first(&["passage", "document"]),
            window: window as u32,
        };
        Ok(Self { config, vocabulary, tensors, pooling, id })
    }
}

impl Tensors {
    fn read(path: &Path) -> Result<(Self, String)> {
        let bytes = read_file(path)?;
        let mut digest = String::new();
        for byte in Sha256::digest(&bytes) {
            let _ = write!(digest, "{byte:02x}"); // writing to a string cannot fail
        }
        let by_name = candle_core::safetensors::load_buffer(&bytes, &Device::Cpu)
            .map_err(|error| unusable(path, error.to_string()))?;
        Ok((Self { path: path.to_owned(), by_name }, digest))
    }

    /// The values of a tensor of exactly `n_values`, row-major; names may start with "bert.".
    ///
    /// # Errors
    /// [`Error::Model`] when it is missing or has another size.
    pub(super) fn take(&self, name: &str, n_values: usize) -> Result<Vec<f32>> {
        let tensor = self.by_name.get(name).or_else(|| self.by_name.get(&format!("bert.{name}")));
        let tensor = tensor.ok_or_else(|| unusable(&self.path, format!("no tensor {name}")))?;
        let values = tensor
            .to_dtype(DType::F32)
            .and_then(|tensor| tensor.flatten_all()?.to_vec1::<f32>())
            .map_err(|error| unusable(&self.path, format!("{name}: {error}")))?;
        if n_values != values.len() {
            let reason = format!("{name} has {} values, not {n_values}", values.len());
            return Err(unusable(&self.path, reason));
        }
        if values.iter().any(|value| !value.is_finite()) {
            return Err(unusable(&self.path, format!("{name} holds a value that is not finite")));
        }
        Ok(values)
    }

    /// Rows of a matrix tensor that has `dim` columns.
    ///
    /// # Errors
    /// [`Error::Model`] when it is missing.
    pub(super) fn n_rows(&self, name: &str, dim: usize) -> Result<usize> {
        let tensor = self.by_name.get(name).or_else(|| self.by_name.get(&format!("bert.{name}")));
        let tensor = tensor.ok_or_else(|| unusable(&self.path, format!("no tensor {name}")))?;
        Ok(tensor.elem_count() / dim)
    }
}

fn check_config(config: &Config, path: &Path) -> Result<()> {
    let refuse = |reason: String| Err(unusable(path, reason));
    if config.model_type != "bert" {
        return refuse(format!("model type {} is not bert", config.model_type));
    }
    if config.hidden_act != "gelu" {
        return refuse(format!("activation {} is not gelu", config.hidden_act));
    }
    if config.position_embedding_type.as_deref().unwrap_or("absolute") != "absolute" {
        return refuse("positions are not absolute".to_owned());
    }
    let heads = config.num_attention_heads;
    if heads == 0 || config.hidden_size == 0 || !config.hidden_size.is_multiple_of(heads) {
        return refuse(format!("{heads} heads do not share {} values", config.hidden_size));
    }
    if config.intermediate_size == 0 || config.max_position_embeddings == 0 {
        return refuse("a size is 0".to_owned());
    }
    Ok(())
}

fn read_tokenizer(path: &Path) -> Result<Vocabulary> {
    let tokenizer = Tokenizer::from_bytes(read_file(path)?).map_err(|error| unusable(path, error.to_string()))?;
    if !matches!(tokenizer.get_model(), ModelWrapper::WordPiece(_)) {
        return Err(unusable(path, "its tokens are not word pieces".to_owned()));
    }
    Vocabulary::new(tokenizer).map_err(|reason| unusable(path, reason))
}

fn read_window(folder: &Path, config: &Config) -> Result<usize> {
    #[derive(Deserialize)]
    struct Window {
        max_seq_length: Option<usize>,
    }
    let said: Option<Window> = read_optional(&folder.join("sentence_bert_config.json"))?;
    let said = said.and_then(|window| window.max_seq_length);
    Ok(said.unwrap_or(WINDOW_STANDARD).min(config.max_position_embeddings))
}

fn read_pooling(path: &Path) -> Result<Pooling> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Modes {
        pooling_mode_cls_token: bool,
        pooling_mode_mean_tokens: bool,
        pooling_mode_max_tokens: bool,
        pooling_mode_mean_sqrt_len_tokens: bool,
        pooling_mode_weightedmean_tokens: bool,
        pooling_mode_lasttoken: bool,
    }
    let Some(modes) = read_optional::<Modes>(path)? else {
        return Ok(Pooling::Mean);
    };
    let other = modes.pooling_mode_max_tokens
        || modes.pooling_mode_mean_sqrt_len_tokens
        || modes.pooling_mode_weightedmean_tokens
        || modes.pooling_mode_lasttoken;
    match (modes.pooling_mode_mean_tokens, modes.pooling_mode_cls_token, other) {
        (true, false, false) => Ok(Pooling::Mean),
        (false, true, false) => Ok(Pooling::Cls),
        _ => Err(unusable(path, "its pooling is neither mean nor cls".to_owned())),
    }
}

#[derive(Default, Deserialize)]
struct Prompts {
    #[serde(default)]
    prompts: HashMap<String, String>,
}

impl Prompts {
    fn first(&self, names: &[&str]) -> String {
        names.iter().find_map(|&name| self.prompts.get(name)).cloned().unwrap_or_default()
    }
}

fn read_prompts(folder: &Path) -> Result<Prompts> {
    let path = folder.join("config_sentence_transformers.json");
    Ok(read_optional(&path)?.unwrap_or_default())
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    serde_json::from_slice(&read_file(path)?).map_err(|error| unusable(path, error.to_string()))
}

/// As [`read_json`], but a file that is not there is `None`.
fn read_optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match read_json(path) {
        Ok(value) => Ok(Some(value)),
        Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn unusable(path: &Path, reason: String) -> Error {
    Error::Model { path: path.to_owned(), reason }
}
