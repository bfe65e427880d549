//! The BERT family on the processor: packed texts, no padding, a batch a thread.
//!
//! Texts of a batch lie behind each other as lanes of blocks (see `linear`); only attention and pooling know where
//! a text ends. Every token goes through fixed chains of operations of its own, so a text's vector is the same bits
//! whatever is beside it and however many threads there are. Sketch: 21.23 MFLOP a token + 9,216 · tokens a text for
//! MiniLM-L6, of which `Linear` does all but a hundredth at 22 tokens a text and a twentieth at 128; activations are
//! 5 · hidden · 4 bytes a token, 2.5 MB a batch of 320. The intermediate layer is never whole: `WIDE` features of it
//! are made and used up at a time.
//!
//! Source: Devlin et al., arXiv:1810.04805.

use std::sync::{Mutex, PoisonError};

use super::attend::{Heads, Room, attend, pieces};
use super::folder::Config;
use super::linear::{BLOCK, Linear, Start, Threads};
use super::pool::{Pooling, to_unit};
use super::simd::{Gelu, Norm};
use super::weights::Tensors;
use crate::{Error, Result};

/// Features of the intermediate layer that are made at a time.
const WIDE: usize = 384;

/// The weights of a BERT, packed, and room for its batches.
pub(super) struct Encoder {
    hidden: usize,
    heads: Heads,
    pooling: Pooling,
    gelu: Gelu,
    words: Vec<f32>,
    /// Positions with the first token type added.
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    /// Activations of batches that are done, for the next ones: as many as threads have run at once.
    rooms: Mutex<Vec<Activations>>,
}

struct Layer {
    /// Query, key and value; queries are scaled by `1 / √head_dim`.
    qkv: Linear,
    attended: Linear,
    attended_norm: Norm,
    /// The intermediate layer, `WIDE` features at a time: up and down.
    wide: Vec<(Linear, Linear)>,
    wide_norm: Norm,
}

/// Room for a batch: matrices `[blocks, features, BLOCK]`.
#[derive(Default)]
struct Activations {
    rows: Vec<f32>,
    update: Vec<f32>,
    wide: Vec<f32>,
    room: Room,
}

impl Encoder {
    /// Packs the weights of a model.
    ///
    /// # Errors
    /// [`Error::Model`] for a tensor that is missing or has another shape.
    pub(super) fn pack(config: &Config, tensors: &Tensors, pooling: Pooling) -> Result<Self> {
        let hidden = config.hidden_size;
        let words = tensors.take("embeddings.word_embeddings.weight", &[config.vocab_size, hidden])?;
        let positions = tensors.positions(config)?;
        let norm = take_norm(tensors, "embeddings.LayerNorm", config)?;
        let layers = (0..config.num_hidden_layers)
            .map(|layer| Layer::take(tensors, &format!("encoder.layer.{layer}"), config))
            .collect::<Result<_>>()?;
        let heads = Heads { n_heads: config.num_attention_heads, head_dim: hidden / config.num_attention_heads };
        Ok(Self { hidden, heads, pooling, gelu: config.gelu, words, positions, norm, layers, rooms: Mutex::default() })
    }

    /// Runs one batch: the unit vector of each text, `[texts, dim]`. Texts are tokens, none empty, within the window.
    ///
    /// # Errors
    /// [`Error::Compute`] for a token without a vector or a result without a direction.
    pub(super) fn forward(&self, texts: &[&[u32]], threads: Threads) -> Result<Vec<f32>> {
        let lock = || self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let mut room = lock().pop().unwrap_or_default();
        let vectors = self.forward_in(texts, threads, &mut room);
        lock().push(room);
        vectors
    }

    fn forward_in(&self, texts: &[&[u32]], threads: Threads, room: &mut Activations) -> Result<Vec<f32>> {
        let hidden = self.hidden;
        let n_tokens = texts.iter().map(|text| text.len()).sum::<usize>();
        let n_lanes = n_tokens.next_multiple_of(BLOCK);
        room.rows.resize(n_lanes * hidden, 0.0);
        room.update.resize(n_lanes * hidden, 0.0);
        room.wide.resize(n_lanes * WIDE.max(3 * hidden), 0.0);
        let Activations { rows, update, wide, room } = room;
        self.look_up(texts, rows)?;
        self.norm.run(rows, None);
        for layer in &self.layers {
            layer.qkv.run(rows, wide, n_tokens, Start::Bias, None, threads);
            let mut first = 0;
            for text in texts {
                attend(self.heads, wide, first..first + text.len(), update, room);
                first += text.len();
            }
            layer.attended.run(update, rows, n_tokens, Start::Residual, None, threads);
            layer.attended_norm.run(rows, Some(update));
            for (up, down) in &layer.wide {
                up.run(rows, wide, n_tokens, Start::Bias, Some(self.gelu), threads);
                down.run(wide, update, n_tokens, Start::Residual, None, threads);
            }
            std::mem::swap(rows, update);
            layer.wide_norm.run(rows, None);
        }
        self.pool(texts, rows)
    }

    /// Word, position and type vectors of all texts, `[blocks, hidden, BLOCK]`.
    fn look_up(&self, texts: &[&[u32]], rows: &mut [f32]) -> Result<()> {
        let hidden = self.hidden;
        let tokens = texts.iter().flat_map(|text| text.iter().enumerate());
        for (lane, (position, &token)) in tokens.enumerate() {
            let word = self.words.chunks_exact(hidden).nth(token as usize);
            let word = word.ok_or_else(|| Error::Compute {
                reason: format!("token {token} has no vector: tokenizer and weights differ"),
            })?;
            let position = &self.positions[position * hidden..(position + 1) * hidden];
            let lanes = rows[lane / BLOCK * hidden * BLOCK..].iter_mut().skip(lane % BLOCK).step_by(BLOCK);
            for ((value, word), position) in lanes.zip(word).zip(position) {
                *value = word + position;
            }
        }
        Ok(())
    }

    /// The unit vector of each text.
    fn pool(&self, texts: &[&[u32]], rows: &[f32]) -> Result<Vec<f32>> {
        let hidden = self.hidden;
        let mut vectors = vec![0.0; texts.len() * hidden];
        let mut first = 0;
        for (text, vector) in texts.iter().zip(vectors.chunks_exact_mut(hidden)) {
            let taken = first..first + self.pooling.n_tokens(text.len());
            for (block_idx, lanes, _) in pieces(taken.clone()) {
                let block = rows[block_idx * hidden * BLOCK..].chunks_exact(BLOCK);
                for (sum, row) in vector.iter_mut().zip(block) {
                    *sum = row[lanes.clone()].iter().fold(*sum, |sum, value| sum + value);
                }
            }
            to_unit(vector)?;
            first += text.len();
        }
        Ok(vectors)
    }
}

impl Layer {
    fn take(tensors: &Tensors, name: &str, config: &Config) -> Result<Self> {
        let (hidden, intermediate) = (config.hidden_size, config.intermediate_size);
        let (weights, bias) = tensors.scaled_qkv(name, hidden, config.num_attention_heads)?;
        let linear = |part: &str, from: usize, to: usize| {
            let weights = tensors.take(&format!("{name}.{part}.weight"), &[to, from])?;
            Ok((weights, tensors.take(&format!("{name}.{part}.bias"), &[to])?))
        };
        let attended = linear("attention.output.dense", hidden, hidden)?;
        let up = linear("intermediate.dense", hidden, intermediate)?;
        let down = linear("output.dense", intermediate, hidden)?;
        let wide = (0..intermediate).step_by(WIDE).map(|first| {
            let features = first..intermediate.min(first + WIDE);
            let rows = &up.0[features.start * hidden..features.end * hidden];
            let columns: Vec<f32> =
                down.0.chunks_exact(intermediate).flat_map(|row| &row[features.clone()]).copied().collect();
            let bias = if first == 0 { down.1.clone() } else { vec![0.0; hidden] };
            let up = Linear::pack(rows, &up.1[features.clone()], hidden);
            (up, Linear::pack(&columns, &bias, features.len()))
        });
        Ok(Self {
            qkv: Linear::pack(&weights, &bias, hidden),
            attended: Linear::pack(&attended.0, &attended.1, hidden),
            attended_norm: take_norm(tensors, &format!("{name}.attention.output.LayerNorm"), config)?,
            wide: wide.collect(),
            wide_norm: take_norm(tensors, &format!("{name}.output.LayerNorm"), config)?,
        })
    }
}

fn take_norm(tensors: &Tensors, name: &str, config: &Config) -> Result<Norm> {
    let take = |part: &str| tensors.take(&format!("{name}.{part}"), &[config.hidden_size]);
    Ok(Norm { scale: take("weight")?, shift: take("bias")?, epsilon: config.layer_norm_eps })
}
