//! The tensors of a model folder: one `model.safetensors` or the shards that its index names, in f32.
//!
//! Reads files and checks them; computes nothing but their digest. Types are f32, f16 and bf16. Names may start
//! with "bert."; a norm's may end in "gamma" and "beta", as checkpoints of 2018 have it.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::folder::{Config, read_file, read_optional, unusable};
use crate::Result;

const WHOLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// The tensors of a model by name.
pub(super) struct Tensors {
    path: PathBuf,
    by_name: HashMap<String, Tensor>,
}

impl Tensors {
    /// Reads all weights of a folder; with them their SHA-256, hex: of the file, or of the shards in order of name.
    ///
    /// # Errors
    /// [`crate::Error::Read`] for a missing file, [`crate::Error::Model`] for one that this build cannot use.
    pub(super) fn read(folder: &Path) -> Result<(Self, String)> {
        let (path, files) = match read_shards(folder)? {
            Some(files) => (folder.join(INDEX), files),
            None => (folder.join(WHOLE), vec![folder.join(WHOLE)]),
        };
        let mut by_name = HashMap::new();
        let mut sha256 = Sha256::new();
        for file in &files {
            let bytes = read_file(file)?;
            sha256.update(&bytes);
            let tensors = candle_core::safetensors::load_buffer(&bytes, &Device::Cpu)
                .map_err(|error| unusable(file, error.to_string()))?;
            by_name.extend(tensors);
        }
        let mut digest = String::new();
        for byte in sha256.finalize() {
            let _ = write!(digest, "{byte:02x}"); // writing to a string cannot fail
        }
        Ok((Self { path, by_name }, digest))
    }

    /// The values of a tensor of exactly this shape, row-major.
    ///
    /// # Errors
    /// [`crate::Error::Model`] when it is missing, has another shape or type, or a value that is not finite.
    pub(super) fn take(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let tensor = self.find(name)?;
        let refuse = |reason: String| Err(unusable(&self.path, format!("{name} {reason}")));
        if tensor.dims() != shape {
            return refuse(format!("has shape {:?}, not {shape:?}", tensor.dims()));
        }
        if !matches!(tensor.dtype(), DType::F32 | DType::F16 | DType::BF16) {
            return refuse(format!("is of type {}, not f32, f16 or bf16", tensor.dtype().as_str()));
        }
        let values = tensor.to_dtype(DType::F32).and_then(|tensor| tensor.flatten_all()?.to_vec1::<f32>());
        match values {
            Ok(values) if values.iter().all(|value| value.is_finite()) => Ok(values),
            Ok(_) => refuse("holds a value that is not finite".to_owned()),
            Err(error) => refuse(format!("cannot be read: {error}")),
        }
    }

    /// Position vectors with the first token type added: `[positions, hidden]`.
    ///
    /// # Errors
    /// As [`Tensors::take`].
    pub(super) fn positions(&self, config: &Config) -> Result<Vec<f32>> {
        let (hidden, n_types) = (config.hidden_size, config.type_vocab_size);
        let types = self.take("embeddings.token_type_embeddings.weight", &[n_types, hidden])?;
        let shape = [config.max_position_embeddings, hidden];
        let mut positions = self.take("embeddings.position_embeddings.weight", &shape)?;
        for position in positions.chunks_exact_mut(hidden) {
            position.iter_mut().zip(&types).for_each(|(value, first)| *value += first);
        }
        Ok(positions)
    }

    /// Query, key and value of the layer called `name`, one below the other: `[3 · hidden, hidden]` and bias; queries
    /// are scaled by `1 / √head_dim` already.
    ///
    /// # Errors
    /// As [`Tensors::take`].
    pub(super) fn scaled_qkv(&self, name: &str, hidden: usize, n_heads: usize) -> Result<(Vec<f32>, Vec<f32>)> {
        let (mut weights, mut bias) = (Vec::new(), Vec::new());
        for part in ["query", "key", "value"] {
            let name = format!("{name}.attention.self.{part}");
            weights.extend(self.take(&format!("{name}.weight"), &[hidden, hidden])?);
            bias.extend(self.take(&format!("{name}.bias"), &[hidden])?);
        }
        let scale = 1.0 / ((hidden / n_heads) as f32).sqrt();
        let queries = weights.iter_mut().take(hidden * hidden).chain(bias.iter_mut().take(hidden));
        queries.for_each(|value| *value *= scale);
        Ok((weights, bias))
    }

    fn find(&self, name: &str) -> Result<&Tensor> {
        let old = name.strip_suffix("LayerNorm.weight").map(|layer| format!("{layer}LayerNorm.gamma"));
        let old = old.or_else(|| name.strip_suffix("LayerNorm.bias").map(|layer| format!("{layer}LayerNorm.beta")));
        let names = std::iter::once(name).chain(old.as_deref());
        names
            .flat_map(|name| [name.to_owned(), format!("bert.{name}")])
            .find_map(|name| self.by_name.get(&name))
            .ok_or_else(|| unusable(&self.path, format!("no tensor {name}")))
    }
}

/// The files that an index names, in order of name; `None` where there is no index or the weights are whole.
fn read_shards(folder: &Path) -> Result<Option<Vec<PathBuf>>> {
    #[derive(Deserialize)]
    struct Index {
        weight_map: HashMap<String, String>,
    }
    if folder.join(WHOLE).is_file() {
        return Ok(None);
    }
    let path = folder.join(INDEX);
    let Some(index) = read_optional::<Index>(&path)? else {
        return Ok(None);
    };
    let names: BTreeSet<&String> = index.weight_map.values().collect();
    // An index comes with a model from elsewhere: it names files of its own folder and no others.
    let stray = |name: &&&String| !name.ends_with(".safetensors") || name.contains(['/', '\\', ':']);
    if let Some(name) = names.iter().find(stray) {
        return Err(unusable(&path, format!("weight_map names {name:?}, not a safetensors file beside it")));
    }
    Ok(Some(names.into_iter().map(|name| folder.join(name)).collect()))
}
