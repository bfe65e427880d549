//! A BERT as an embedder: texts to tokens, tokens to batches, batches to vectors in the order of the texts.
//!
//! Knows windows, prompts and roles. The mathematics is the business of `encoder` on the processor and of `card`
//! on a device.

use std::path::Path;

use rayon::prelude::*;

use super::encoder::Encoder;
use super::folder::{Folder, unusable};
use super::linear::Threads;
use super::tokens::{self, PIECE_TOKENS_MAX, Vocabulary};
use super::{Embedder, EmbedderId, Fitted, Role, TokenCount};
use crate::{Error, Result, Vectors};

/// Tokens of a batch: its activations share L2 with the weights that pass by.
const BATCH_TOKENS_MAX: usize = 256;

/// A BERT encoder with its tokenizer.
pub(super) struct Bert {
    id: EmbedderId,
    vocabulary: Vocabulary,
    /// Tokens that a text may have: the window without special tokens and the longer prompt.
    budget: u32,
    encoder: Encoder,
}

impl Bert {
    /// Opens a model folder.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Model`].
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let Folder { config, vocabulary, tensors, pooling, id } = Folder::read(folder)?;
        let encoder = Encoder::pack(&config, &tensors, pooling)?;
        let prompts = [&id.query_prompt, &id.passage_prompt];
        let prompt = prompts.map(|prompt| tokens::count(prompt, |piece| vocabulary.count_piece(piece)).n_tokens);
        let budget = id.window.saturating_sub(2 + prompt[0].max(prompt[1]));
        if budget < PIECE_TOKENS_MAX {
            let reason = format!("a window of {} leaves {budget} tokens to a text", id.window);
            return Err(unusable(&folder.join("config.json"), reason));
        }
        Ok(Self { id, vocabulary, budget, encoder })
    }
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
        let prompt = match role {
            Role::Query => &self.id.query_prompt,
            Role::Passage => &self.id.passage_prompt,
        };
        let tokens = texts.par_iter().map(|text| self.vocabulary.tokens(prompt, text)).collect::<Result<Vec<_>>>()?;
        let lens: Vec<usize> = tokens.iter().map(Vec::len).collect();
        let window = self.id.window as usize;
        if let Some(text_idx) = lens.iter().position(|&len| len > window) {
            return Err(Error::TooLong { text_idx, n_tokens: lens[text_idx], window });
        }
        let batches = tokens::batches(&lens, BATCH_TOKENS_MAX);
        let threads = if batches.len() < rayon::current_num_threads() { Threads::All } else { Threads::One };
        let vectors = batches
            .par_iter()
            .with_max_len(1)
            .map(|batch| {
                let texts: Vec<&[u32]> = batch.iter().map(|&text| &tokens[text][..]).collect();
                self.encoder.forward(&texts, threads)
            })
            .collect::<Result<Vec<_>>>()?;
        let dim = self.id.dim as usize;
        let mut data = vec![0.0; texts.len() * dim];
        for (batch, vectors) in batches.iter().zip(&vectors) {
            for (&text, vector) in batch.iter().zip(vectors.chunks_exact(dim)) {
                data[text * dim..(text + 1) * dim].copy_from_slice(vector);
            }
        }
        Vectors::new(data, dim).ok_or_else(|| Error::Compute { reason: "no shape".to_owned() })
    }
}
