//! The BERT family on a card, through candle: packed texts, no padding, half precision.
//!
//! Linear layers run on all tokens of a batch at once; attention on each run of texts of equal length, `[texts,
//! heads, n, n]`, so that there is neither padding nor mask. Batches are large (a card's launches cost more than
//! 1,000 tokens' work) and sorted by length, so that there are few runs. Results are pooled in f32.
//! Sketch: as `encoder`; 165 launches a batch and 10 a run more. Memory a token: 5 · hidden + intermediate + heads · n
//! values of 2 bytes at the peak, 230 MB for a batch of 32,768 tokens of MiniLM-L6 at 32 a text.
//!
//! Knows no device by name: candle's are all alike, and the tests run this on its processor.

use candle_core::{D, DType, Tensor};

use super::folder::Config;
use super::pool::{Pooling, to_unit};
use super::simd::Gelu;
use super::weights::Tensors;
use crate::{Device, Error, Result};

/// Tokens of a batch.
pub(super) const BATCH_TOKENS_MAX: usize = 32_768;

/// How numbers are kept on a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits; what the processor computes in.
    F32,
    /// 16 bits, 11 of them digits; what cards compute in unless told otherwise.
    F16,
    /// 16 bits, 8 of them digits, with the range of [`Precision::F32`]; for models that overflow [`Precision::F16`].
    Bf16,
}

/// A BERT's weights on a card.
pub(super) struct Card {
    device: candle_core::Device,
    heads: usize,
    pooling: Pooling,
    gelu: Gelu,
    words: Tensor,
    positions: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    qkv: Linear,
    attended: Linear,
    attended_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

struct Linear {
    /// `[from, to]`.
    weights: Tensor,
    bias: Tensor,
}

struct Norm {
    scale: Tensor,
    shift: Tensor,
    epsilon: f32,
}

/// Opens candle's side of a device: "auto", "cpu", "cuda:0", "metal:0".
///
/// # Errors
/// [`Error::Missing`] for a card that this build or machine lacks.
pub(super) fn open_device(device: &str) -> Result<candle_core::Device> {
    // Our own side finds out what is there, and says it in words; candle may not even look for the driver.
    let opened = match crate::open(device)?.name().parse()? {
        Device::Auto | Device::Cpu => Ok(candle_core::Device::Cpu),
        Device::Cuda(card) => candle_core::Device::new_cuda(card as usize),
        Device::Metal(card) => candle_core::Device::new_metal(card as usize),
    };
    match opened {
        Err(_) if device == "auto" => Ok(candle_core::Device::Cpu),
        opened => opened.map_err(|error| Error::Missing { device: device.to_owned(), reason: error.to_string() }),
    }
}

impl Card {
    /// Copies the weights of a model to a device.
    ///
    /// # Errors
    /// [`Error::Model`] for a tensor that is missing or has another shape, [`Error::Compute`] from the device.
    pub(super) fn load(
        config: &Config,
        tensors: &Tensors,
        pooling: Pooling,
        device: candle_core::Device,
        precision: Precision,
    ) -> Result<Self> {
        let dtype = match precision {
            Precision::F32 => DType::F32,
            Precision::F16 => DType::F16,
            Precision::Bf16 => DType::BF16,
        };
        let hidden = config.hidden_size;
        let loader = Loader { config, tensors, device: &device, dtype };
        let words = loader.take("embeddings.word_embeddings.weight", &[config.vocab_size, hidden])?;
        let positions = loader.put(tensors.positions(config)?, &[config.max_position_embeddings, hidden])?;
        let norm = loader.norm("embeddings.LayerNorm")?;
        let layers = (0..config.num_hidden_layers).map(|layer| loader.layer(&format!("encoder.layer.{layer}")));
        let layers = layers.collect::<Result<_>>()?;
        Ok(Self {
            heads: config.num_attention_heads,
            pooling,
            gelu: config.gelu,
            words,
            positions,
            norm,
            layers,
            device,
        })
    }

    /// Starts one batch; the result, `[texts, hidden]`, may still be on its way. Texts are tokens, longest first.
    ///
    /// # Errors
    /// [`Error::Compute`] for a token without a vector, or from the device.
    pub(super) fn start(&self, texts: &[&[u32]]) -> Result<Tensor> {
        let n_words = self.words.dim(0).map_err(from_candle)?;
        let ids: Vec<u32> = texts.iter().flat_map(|text| text.iter().copied()).collect();
        if let Some(token) = ids.iter().find(|&&token| token as usize >= n_words) {
            let reason = format!("token {token} has no vector: tokenizer and weights differ");
            return Err(Error::Compute { reason });
        }
        let positions: Vec<u32> = texts.iter().flat_map(|text| 0..text.len() as u32).collect();
        self.forward(ids, positions, &runs(texts)).map_err(from_candle)
    }

    /// Waits for a batch: its unit vectors, `[texts, hidden]`.
    ///
    /// # Errors
    /// [`Error::Compute`] from the device, or for a vector without a direction.
    pub(super) fn finish(&self, batch: &Tensor) -> Result<Vec<f32>> {
        let hidden = batch.dim(D::Minus1).map_err(from_candle)?;
        let mut vectors = batch.flatten_all().and_then(|rows| rows.to_vec1::<f32>()).map_err(from_candle)?;
        vectors.chunks_exact_mut(hidden).try_for_each(to_unit)?;
        Ok(vectors)
    }

    fn forward(&self, ids: Vec<u32>, positions: Vec<u32>, runs: &[Run]) -> candle_core::Result<Tensor> {
        let n_tokens = ids.len();
        let ids = Tensor::from_vec(ids, n_tokens, &self.device)?;
        let positions = Tensor::from_vec(positions, n_tokens, &self.device)?;
        let words = self.words.index_select(&ids, 0)?;
        let mut rows = self.norm.run(&(words + self.positions.index_select(&positions, 0)?)?)?;
        for layer in &self.layers {
            let qkv = layer.qkv.run(&rows)?;
            let attended = runs.iter().map(|run| self.attend(&qkv, run)).collect::<candle_core::Result<Vec<_>>>()?;
            let attended = layer.attended.run(&Tensor::cat(&attended, 0)?)?;
            rows = layer.attended_norm.run(&(attended + rows)?)?;
            let wide = layer.up.run(&rows)?;
            let wide = match self.gelu {
                Gelu::Exact => wide.gelu_erf()?,
                Gelu::Tanh => wide.gelu()?,
            };
            rows = layer.norm.run(&(layer.down.run(&wide)? + rows)?)?;
        }
        let pooled = runs.iter().map(|run| {
            let run_rows = rows.narrow(0, run.first, run.n_texts * run.len)?;
            let run_rows = run_rows.reshape((run.n_texts, run.len, ()))?;
            let taken = self.pooling.n_tokens(run.len);
            run_rows.narrow(1, 0, taken)?.to_dtype(DType::F32)?.sum(1)
        });
        Tensor::cat(&pooled.collect::<candle_core::Result<Vec<_>>>()?, 0)
    }

    /// Attention within the texts of one run: `qkv` is `[tokens, 3 · hidden]`, the result `[the run's tokens, hidden]`.
    fn attend(&self, qkv: &Tensor, run: &Run) -> candle_core::Result<Tensor> {
        let n_tokens = run.n_texts * run.len;
        let qkv = qkv.narrow(0, run.first, n_tokens)?.reshape((run.n_texts, run.len, 3, self.heads, ()))?;
        let part = |idx: usize| qkv.narrow(2, idx, 1)?.squeeze(2)?.transpose(1, 2)?.contiguous();
        let keys = part(1)?.transpose(2, 3)?.contiguous()?;
        let shares = candle_nn::ops::softmax_last_dim(&part(0)?.matmul(&keys)?)?;
        let attended = shares.matmul(&part(2)?)?;
        attended.transpose(1, 2)?.contiguous()?.reshape((n_tokens, ()))
    }
}

/// Neighbouring texts of equal length.
struct Run {
    /// Tokens before it.
    first: usize,
    n_texts: usize,
    /// Tokens of each text.
    len: usize,
}

fn runs(texts: &[&[u32]]) -> Vec<Run> {
    let mut first = 0;
    let by_len = texts.chunk_by(|a, b| a.len() == b.len());
    let run = by_len.map(|texts| {
        let run = Run { first, n_texts: texts.len(), len: texts[0].len() };
        first += run.n_texts * run.len;
        run
    });
    run.collect()
}

impl Linear {
    fn run(&self, rows: &Tensor) -> candle_core::Result<Tensor> {
        rows.matmul(&self.weights)?.broadcast_add(&self.bias)
    }
}

impl Norm {
    fn run(&self, rows: &Tensor) -> candle_core::Result<Tensor> {
        candle_nn::ops::layer_norm(rows, &self.scale, &self.shift, self.epsilon)
    }
}

struct Loader<'a> {
    config: &'a Config,
    tensors: &'a Tensors,
    device: &'a candle_core::Device,
    dtype: DType,
}

impl Loader<'_> {
    fn put(&self, values: Vec<f32>, shape: &[usize]) -> Result<Tensor> {
        // Rounded here: what goes over to the card is half as much.
        Tensor::from_vec(values, shape, &candle_core::Device::Cpu)
            .and_then(|tensor| tensor.to_dtype(self.dtype)?.to_device(self.device))
            .map_err(from_candle)
    }

    fn take(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        self.put(self.tensors.take(name, shape)?, shape)
    }

    /// Weights `[to, from]` as they are multiplied with: `[from, to]`.
    fn linear(&self, weights: Vec<f32>, bias: Vec<f32>, from: usize) -> Result<Linear> {
        let to = bias.len();
        let weights = self.put(weights, &[to, from])?.t().and_then(|weights| weights.contiguous());
        Ok(Linear { weights: weights.map_err(from_candle)?, bias: self.put(bias, &[to])? })
    }

    fn norm(&self, name: &str) -> Result<Norm> {
        let take = |part: &str| self.take(&format!("{name}.{part}"), &[self.config.hidden_size]);
        Ok(Norm { scale: take("weight")?, shift: take("bias")?, epsilon: self.config.layer_norm_eps })
    }

    fn layer(&self, name: &str) -> Result<Layer> {
        let (hidden, intermediate) = (self.config.hidden_size, self.config.intermediate_size);
        let linear = |part: &str, from: usize, to: usize| {
            let weights = self.tensors.take(&format!("{name}.{part}.weight"), &[to, from])?;
            self.linear(weights, self.tensors.take(&format!("{name}.{part}.bias"), &[to])?, from)
        };
        let (weights, bias) = self.tensors.scaled_qkv(name, hidden, self.config.num_attention_heads)?;
        Ok(Layer {
            qkv: self.linear(weights, bias, hidden)?,
            attended: linear("attention.output.dense", hidden, hidden)?,
            attended_norm: self.norm(&format!("{name}.attention.output.LayerNorm"))?,
            up: linear("intermediate.dense", hidden, intermediate)?,
            down: linear("output.dense", intermediate, hidden)?,
            norm: self.norm(&format!("{name}.output.LayerNorm"))?,
        })
    }
}

fn from_candle(error: candle_core::Error) -> Error {
    Error::Compute { reason: error.to_string() }
}
