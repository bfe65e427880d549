//! A model folder: which BERT it is, its tokenizer, pooling, window and prompts.
//!
//! Reads files and checks them; computes nothing. Formats: Hugging Face `config.json`, `tokenizer.json`;
//! sentence-transformers `modules.json`, `sentence_bert_config.json`, `1_Pooling/config.json`,
//! `config_sentence_transformers.json`; our own `strata.json`, which overrides prompts. What a file asks for and
//! this build cannot do is refused by the name of the file and the field.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokenizers::{ModelWrapper, Tokenizer};

use super::EmbedderId;
use super::pool::Pooling;
use super::prompts::{self, Prompts};
use super::simd::Gelu;
use super::tokens::Vocabulary;
use super::weights::Tensors;
use crate::{Error, Result};

/// The shape of a BERT, checked.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_attention_heads: usize,
    pub num_hidden_layers: usize,
    pub max_position_embeddings: usize,
    pub vocab_size: usize,
    pub type_vocab_size: usize,
    pub layer_norm_eps: f32,
    pub gelu: Gelu,
}

/// `config.json` as it stands.
#[derive(Deserialize)]
struct RawConfig {
    model_type: String,
    hidden_size: usize,
    intermediate_size: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    max_position_embeddings: usize,
    vocab_size: usize,
    #[serde(default = "two")]
    type_vocab_size: usize,
    #[serde(default = "epsilon")]
    layer_norm_eps: f32,
    hidden_act: String,
    #[serde(default)]
    position_embedding_type: Option<String>,
    #[serde(default)]
    is_decoder: bool,
    #[serde(default, rename = "_name_or_path")]
    name: String,
}

/// What a `config.json` that does not say has: BERT's own.
fn two() -> usize {
    2
}

fn epsilon() -> f32 {
    1e-12
}

/// A model folder in memory.
pub(super) struct Folder {
    pub config: Config,
    pub vocabulary: Vocabulary,
    pub tensors: Tensors,
    pub pooling: Pooling,
    pub id: EmbedderId,
}

impl Folder {
    /// Reads a folder whole.
    ///
    /// # Errors
    /// [`Error::Read`] for a missing file, [`Error::Model`] for one that this build cannot use.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("config.json");
        let raw: RawConfig = read_json(&path)?;
        let config = check_config(&raw, &path)?;
        let vocabulary = read_tokenizer(&folder.join("tokenizer.json"))?;
        let pooling = read_pooling(&folder.join(read_modules(folder)?).join("config.json"))?;
        let window = read_window(folder, &config, &vocabulary)?;
        let canonical = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let Prompts { query, passage } = prompts::read(folder, &canonical, &raw.name)?;
        let (tensors, digest) = Tensors::read(folder)?;
        let id = EmbedderId {
            name: canonical.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            digest,
            dim: config.hidden_size as u32,
            pooling: pooling.name().to_owned(),
            query_prompt: query,
            passage_prompt: passage,
            window: window as u32,
        };
        Ok(Self { config, vocabulary, tensors, pooling, id })
    }
}

fn check_config(raw: &RawConfig, path: &Path) -> Result<Config> {
    let refuse = |reason: String| Err(unusable(path, reason));
    if raw.model_type != "bert" {
        return refuse(format!("model_type {:?} is not \"bert\"", raw.model_type));
    }
    if raw.is_decoder {
        return refuse("is_decoder is set: attention to what comes later is needed".to_owned());
    }
    if raw.position_embedding_type.as_deref().unwrap_or("absolute") != "absolute" {
        return refuse(format!("position_embedding_type {:?} is not \"absolute\"", raw.position_embedding_type));
    }
    let gelu = match raw.hidden_act.as_str() {
        "gelu" | "gelu_python" => Gelu::Exact,
        "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" | "gelu_accurate" => Gelu::Tanh,
        other => return refuse(format!("hidden_act {other:?} is not a gelu")),
    };
    let heads = raw.num_attention_heads;
    if heads == 0 || raw.hidden_size == 0 || !raw.hidden_size.is_multiple_of(heads) {
        return refuse(format!("num_attention_heads {heads} do not share hidden_size {}", raw.hidden_size));
    }
    if raw.hidden_size > u16::MAX as usize || raw.intermediate_size > u16::MAX as usize {
        return refuse("hidden_size or intermediate_size is beyond 65535".to_owned());
    }
    let sizes = [
        ("intermediate_size", raw.intermediate_size),
        ("max_position_embeddings", raw.max_position_embeddings),
        ("vocab_size", raw.vocab_size),
        ("type_vocab_size", raw.type_vocab_size),
        ("num_hidden_layers", raw.num_hidden_layers),
    ];
    if let Some((field, _)) = sizes.iter().find(|(_, size)| *size == 0) {
        return refuse(format!("{field} is 0"));
    }
    if !raw.layer_norm_eps.is_finite() || raw.layer_norm_eps < 0.0 {
        return refuse(format!("layer_norm_eps {} is not a small number", raw.layer_norm_eps));
    }
    Ok(Config {
        hidden_size: raw.hidden_size,
        intermediate_size: raw.intermediate_size,
        num_attention_heads: heads,
        num_hidden_layers: raw.num_hidden_layers,
        max_position_embeddings: raw.max_position_embeddings,
        vocab_size: raw.vocab_size,
        type_vocab_size: raw.type_vocab_size,
        layer_norm_eps: raw.layer_norm_eps,
        gelu,
    })
}

fn read_tokenizer(path: &Path) -> Result<Vocabulary> {
    let tokenizer = Tokenizer::from_bytes(read_file(path)?).map_err(|error| unusable(path, error.to_string()))?;
    if !matches!(tokenizer.get_model(), ModelWrapper::WordPiece(_)) {
        return Err(unusable(path, "model.type is not \"WordPiece\"".to_owned()));
    }
    Vocabulary::new(tokenizer).map_err(|reason| unusable(path, reason))
}

/// The folder of the pooling, from `modules.json`; what stands after it may be a norm, and nothing else.
///
/// Vectors are made unit here whether or not there is a norm: every score of Strata is a cosine.
fn read_modules(folder: &Path) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Module {
        #[serde(default)]
        path: String,
        #[serde(rename = "type")]
        kind: String,
    }
    let path = folder.join("modules.json");
    let mut pooling = PathBuf::from("1_Pooling");
    for module in read_optional::<Vec<Module>>(&path)?.unwrap_or_default() {
        match module.kind.rsplit('.').next().unwrap_or_default() {
            "Pooling" if !module.path.contains("..") && Path::new(&module.path).is_relative() => {
                pooling = PathBuf::from(module.path);
            }
            "Transformer" if module.path.is_empty() => {}
            "Normalize" => {}
            _ => {
                let reason = format!("type {:?} at path {:?} is not supported", module.kind, module.path);
                return Err(unusable(&path, reason));
            }
        }
    }
    Ok(pooling)
}

/// As sentence-transformers has it: `max_seq_length`, else the tokenizer's, never more than there are positions.
fn read_window(folder: &Path, config: &Config, vocabulary: &Vocabulary) -> Result<usize> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Window {
        max_seq_length: Option<usize>,
        do_lower_case: bool,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct TokenizerConfig {
        /// Some write 10^30 where there is no limit.
        model_max_length: Option<f64>,
    }
    let path = folder.join("sentence_bert_config.json");
    let said: Window = read_optional(&path)?.unwrap_or_default();
    if said.do_lower_case && !vocabulary.lowers_case() {
        return Err(unusable(&path, "do_lower_case is set, and tokenizer.json keeps case".to_owned()));
    }
    let tokenizer: TokenizerConfig = read_optional(&folder.join("tokenizer_config.json"))?.unwrap_or_default();
    let limit = tokenizer.model_max_length.filter(|limit| *limit >= 1.0).map(|limit| limit.min(1e9) as usize);
    let window = said.max_seq_length.or(limit).unwrap_or(config.max_position_embeddings);
    Ok(window.min(config.max_position_embeddings))
}

fn read_pooling(path: &Path) -> Result<Pooling> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Modes {
        pooling_mode: Option<String>,
        pooling_mode_cls_token: bool,
        pooling_mode_mean_tokens: bool,
        pooling_mode_max_tokens: bool,
        pooling_mode_mean_sqrt_len_tokens: bool,
        pooling_mode_weightedmean_tokens: bool,
        pooling_mode_lasttoken: bool,
        include_prompt: Option<bool>,
    }
    let Some(modes) = read_optional::<Modes>(path)? else {
        return Ok(Pooling::Mean);
    };
    if modes.include_prompt == Some(false) {
        return Err(unusable(path, "include_prompt is false".to_owned()));
    }
    let other = modes.pooling_mode_max_tokens
        || modes.pooling_mode_mean_sqrt_len_tokens
        || modes.pooling_mode_weightedmean_tokens
        || modes.pooling_mode_lasttoken;
    match (modes.pooling_mode.as_deref(), modes.pooling_mode_mean_tokens, modes.pooling_mode_cls_token, other) {
        (Some("mean"), ..) | (None, true, false, false) => Ok(Pooling::Mean),
        (Some("cls"), ..) | (None, false, true, false) => Ok(Pooling::Cls),
        _ => Err(unusable(path, "pooling_mode is neither mean nor cls".to_owned())),
    }
}

pub(super) fn read_file(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    serde_json::from_slice(&read_file(path)?).map_err(|error| unusable(path, error.to_string()))
}

/// As [`read_json`], but a file that is not there is `None`.
pub(super) fn read_optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match read_json(path) {
        Ok(value) => Ok(Some(value)),
        Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file of the folder that this build cannot use.
pub(super) fn unusable(path: &Path, reason: String) -> Error {
    Error::Model { path: path.to_owned(), reason }
}
