//! A BERT as an embedder: texts to tokens, tokens to batches, batches to vectors in the order of the texts.
//!
//! Knows windows, prompts and roles. The mathematics is the business of `encoder` on the processor and of `card`
//! on a device.

use std::path::Path;
use std::sync::mpsc::sync_channel;

use candle_core::Tensor;
use rayon::prelude::*;

use super::card::{self, Card, Precision};
use super::encoder::Encoder;
use super::folder::{Folder, unusable};
use super::linear::Threads;
use super::tokens::{self, PIECE_TOKENS_MAX, Vocabulary};
use super::{Embedder, EmbedderId, Fitted, Role, TokenCount};
use crate::{Error, Result, Vectors};

/// Tokens of a batch on the processor: its activations share L2 with the weights that pass by.
const BATCH_TOKENS_MAX: usize = 320;
/// Texts that are tokenised while a card embeds those before them.
const CHUNK_TEXTS: usize = 8_192;
/// Chunks of tokens that wait for a card.
const CHUNKS_WAITING_MAX: usize = 2;

/// A BERT encoder with its tokenizer.
pub(super) struct Bert {
    id: EmbedderId,
    vocabulary: Vocabulary,
    /// Tokens that a text may have: the window without special tokens and the longer prompt.
    budget: u32,
    engine: Engine,
}

enum Engine {
    Processor(Encoder),
    Card(Card),
}

impl Bert {
    /// Opens a model folder for a device; `None` is the device's own precision.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Model`]; [`Error::Missing`] for a device that is not there.
    pub(super) fn open(folder: &Path, device: &str, precision: Option<Precision>) -> Result<Self> {
        // What a device lacks is said before half a gigabyte is read.
        let card = match (card::open_device(device)?, precision) {
            (candle_core::Device::Cpu, None | Some(Precision::F32)) => None,
            (card, precision) => Some((card, precision.unwrap_or(Precision::F16))),
        };
        Self::open_on(folder, card)
    }

    /// As [`Bert::open`], through candle on `card`, or without it.
    fn open_on(folder: &Path, card: Option<(candle_core::Device, Precision)>) -> Result<Self> {
        let Folder { config, vocabulary, tensors, pooling, id } = Folder::read(folder)?;
        let prompts = [&id.query_prompt, &id.passage_prompt];
        let prompt = prompts.map(|prompt| tokens::count(prompt, |piece| vocabulary.count_piece(piece)).n_tokens);
        let budget = id.window.saturating_sub(2 + prompt[0].max(prompt[1]));
        if budget < PIECE_TOKENS_MAX {
            let reason = format!("a window of {} leaves {budget} tokens to a text", id.window);
            return Err(unusable(&folder.join("config.json"), reason));
        }
        let engine = match card {
            None => Engine::Processor(Encoder::pack(&config, &tensors, pooling)?),
            Some((card, precision)) => Engine::Card(Card::load(&config, &tensors, pooling, card, precision)?),
        };
        Ok(Self { id, vocabulary, budget, engine })
    }

    /// Texts to tokens; `first` is the index of the first text.
    fn tokens(&self, texts: &[&str], role: Role, first: usize) -> Result<Vec<Vec<u32>>> {
        let prompt = match role {
            Role::Query => &self.id.query_prompt,
            Role::Passage => &self.id.passage_prompt,
        };
        let tokens = texts.par_iter().map(|text| self.vocabulary.tokens(prompt, text)).collect::<Result<Vec<_>>>()?;
        let window = self.id.window as usize;
        match tokens.iter().position(|tokens| tokens.len() > window) {
            Some(idx) => Err(Error::TooLong { text_idx: first + idx, n_tokens: tokens[idx].len(), window }),
            None => Ok(tokens),
        }
    }

    /// Every thread takes the next batch.
    fn embed_on_processor(&self, encoder: &Encoder, texts: &[&str], role: Role, out: &mut [f32]) -> Result<()> {
        let tokens = self.tokens(texts, role, 0)?;
        let batches = tokens::batches(&lens(&tokens), BATCH_TOKENS_MAX);
        let threads = if batches.len() < rayon::current_num_threads() { Threads::All } else { Threads::One };
        let forward = |batch: &Vec<usize>| encoder.forward(&of_batch(batch, &tokens), threads);
        let vectors = batches.par_iter().with_max_len(1).map(forward).collect::<Result<Vec<_>>>()?;
        for (batch, vectors) in batches.iter().zip(&vectors) {
            self.put(batch, vectors, out);
        }
        Ok(())
    }

    /// One thread makes tokens while this one keeps the card busy: a batch is started before the one before it is
    /// waited for.
    fn embed_on_card(&self, card: &Card, texts: &[&str], role: Role, out: &mut [f32]) -> Result<()> {
        let dim = self.id.dim as usize;
        let chunks = texts.chunks(CHUNK_TEXTS).enumerate();
        let (send, receive) = sync_channel(CHUNKS_WAITING_MAX);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for (idx, texts) in chunks {
                    let tokens = self.tokens(texts, role, idx * CHUNK_TEXTS);
                    let failed = tokens.is_err();
                    // A receiver that is gone has failed, and says so.
                    if send.send(tokens).is_err() || failed {
                        break;
                    }
                }
            });
            for (tokens, out) in receive.into_iter().zip(out.chunks_mut(CHUNK_TEXTS * dim)) {
                let tokens = tokens?;
                let mut before: Option<(Vec<usize>, Tensor)> = None;
                for batch in tokens::batches(&lens(&tokens), card::BATCH_TOKENS_MAX) {
                    let started = card.start(&of_batch(&batch, &tokens))?;
                    if let Some((batch, vectors)) = before.replace((batch, started)) {
                        self.put(&batch, &card.finish(&vectors)?, out);
                    }
                }
                if let Some((batch, vectors)) = before {
                    self.put(&batch, &card.finish(&vectors)?, out);
                }
            }
            Ok(())
        })
    }

    /// Puts the vectors of a batch where its texts stand.
    fn put(&self, batch: &[usize], vectors: &[f32], out: &mut [f32]) {
        let dim = self.id.dim as usize;
        for (&text, vector) in batch.iter().zip(vectors.chunks_exact(dim)) {
            out[text * dim..(text + 1) * dim].copy_from_slice(vector);
        }
    }
}

fn lens(tokens: &[Vec<u32>]) -> Vec<usize> {
    tokens.iter().map(Vec::len).collect()
}

fn of_batch<'a>(batch: &[usize], tokens: &'a [Vec<u32>]) -> Vec<&'a [u32]> {
    batch.iter().map(|&text| &tokens[text][..]).collect()
}

impl Embedder for Bert {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    fn count(&self, text: &str) -> TokenCount {
        tokens::count(text, |piece| self.vocabulary.count_piece(piece))
    }

    fn fit(&self, text: &str) -> Vec<Fitted> {
        tokens::fit(text, self.budget, |piece| self.vocabulary.count_piece(piece))
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vectors> {
        let dim = self.id.dim as usize;
        let mut data = vec![0.0; texts.len() * dim];
        match &self.engine {
            Engine::Processor(encoder) => self.embed_on_processor(encoder, texts, role, &mut data)?,
            Engine::Card(card) => self.embed_on_card(card, texts, role, &mut data)?,
        }
        Vectors::new(data, dim).ok_or_else(|| Error::Compute { reason: "no shape".to_owned() })
    }
}

#[cfg(test)]
#[path = "../../tests/tiny/mod.rs"]
mod tiny;

#[cfg(test)]
mod tests {
    use super::tiny::{Tiny, texts};
    use super::*;

    #[test]
    fn the_card_path_equals_the_processors_in_f32() {
        for model in [Tiny::STANDARD, Tiny { pooling: "cls", act: "gelu_new", heads: 3, ..Tiny::STANDARD }] {
            let folder = tempfile::tempdir().expect("a folder");
            model.write(folder.path());
            let card = Some((candle_core::Device::Cpu, Precision::F32));
            let [packed, card] = [None, card].map(|card| Bert::open_on(folder.path(), card).expect("a usable model"));
            let texts = texts();
            let texts: Vec<&str> = (0..3).flat_map(|_| texts.iter().map(String::as_str)).collect();
            let [packed, card] = [packed, card].map(|bert| bert.embed(&texts, Role::Passage).expect("they fit"));
            for (row, text) in texts.iter().enumerate() {
                let cosine: f32 = packed.row(row).iter().zip(card.row(row)).map(|(a, b)| a * b).sum();
                assert!(cosine >= 0.999_99, "{cosine} {text}");
            }
        }
    }

    #[test]
    fn a_card_names_the_text_that_is_too_long() {
        let folder = tempfile::tempdir().expect("a folder");
        Tiny::STANDARD.write(folder.path());
        let bert = Bert::open_on(folder.path(), Some((candle_core::Device::Cpu, Precision::F32))).expect("usable");
        let long = "a ".repeat(300);
        let mut texts = vec!["a"; CHUNK_TEXTS + 3];
        texts[CHUNK_TEXTS + 1] = &long;
        let error = bert.embed(&texts, Role::Query).expect_err("too long");
        assert!(matches!(error, Error::TooLong { text_idx, .. } if text_idx == CHUNK_TEXTS + 1), "{error}");
        assert_eq!(bert.embed(&[], Role::Query).expect("nothing").n(), 0);
    }
}
