//! The seam to a model: texts to unit vectors, and token counts for budgets.
//!
//! Knows texts and vectors. Does not know sources, chunks or languages.

mod attend;
mod bert;
mod card;
mod encoder;
mod folder;
mod hashed;
mod linear;
mod pool;
mod prompts;
mod simd;
mod tokens;
mod weights;

use std::ops::Range;
use std::path::Path;

pub use card::Precision;

use crate::{Result, Vectors};

/// What a text is for; a model may want a prompt before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A question.
    Query,
    /// A remembered text.
    Passage,
}

/// Everything that decides which vectors an embedder gives; equal identities give comparable vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedderId {
    /// The model, as its folder or algorithm is called.
    pub name: String,
    /// SHA-256 of the weights, hex; the algorithm with its version where there are none.
    pub digest: String,
    /// Values a vector.
    pub dim: u32,
    /// How token vectors become one: "mean", "cls"; "sum" of hashed features.
    pub pooling: String,
    /// Put before a question.
    pub query_prompt: String,
    /// Put before a passage.
    pub passage_prompt: String,
    /// Most tokens of one text, special ones and prompt included.
    pub window: u32,
}

/// How long a text is for a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCount {
    /// Tokens, special ones and prompt not included.
    pub n_tokens: u32,
    /// Of these, tokens that the model does not know.
    pub n_unknown: u32,
}

/// A part of a text that fits the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// Bytes of the text, on character borders.
    pub range: Range<usize>,
    /// Its tokens.
    pub count: TokenCount,
}

/// A model that turns texts into unit vectors.
pub trait Embedder: Send + Sync {
    /// What the vectors depend on.
    fn id(&self) -> &EmbedderId;

    /// Counts the tokens of a text of any length. Work is O(bytes), with words looked up in a bounded cache.
    fn count(&self, text: &str) -> TokenCount;

    /// Cuts a text into ranges that fit the window: in order, covering every byte, split between words where
    /// there are any.
    ///
    /// One range when the text fits, none when it is empty. Work is O(bytes), memory O(ranges).
    fn fit(&self, text: &str) -> Vec<Fitted>;

    /// Embeds texts: `[n, dim]`, unit rows, in the order of the texts.
    ///
    /// A text's vector does not depend on the texts beside it.
    ///
    /// # Errors
    /// [`crate::Error::TooLong`] for a text beyond the window (split with [`Embedder::fit`] first);
    /// [`crate::Error::Compute`] when the model gives a vector that is not finite.
    fn embed(&self, texts: &[&str], role: Role) -> Result<Vectors>;
}

/// Embeds a text of any length: the mean of its pieces, weighed by their tokens, at unit length; `[dim]`.
///
/// # Errors
/// As [`Embedder::embed`], though never [`crate::Error::TooLong`].
pub fn embed_whole(e: &dyn Embedder, text: &str, role: Role) -> Result<Vec<f32>> {
    let pieces = e.fit(text);
    if pieces.len() <= 1 {
        return Ok(e.embed(&[text], role)?.into_data());
    }
    let texts: Vec<&str> = pieces.iter().map(|piece| &text[piece.range.clone()]).collect();
    let vectors = e.embed(&texts, role)?;
    let mut sum = vec![0.0; vectors.dim()];
    for (row, piece) in pieces.iter().enumerate() {
        let share = piece.count.n_tokens.max(1) as f32;
        for (sum, value) in sum.iter_mut().zip(vectors.row(row)) {
            *sum += share * value;
        }
    }
    pool::to_unit(&mut sum)?;
    Ok(sum)
}

/// Opens a model of the BERT family (MiniLM, BGE, E5, GTE and their like) on a device that [`crate::open`] knows.
///
/// Needs `config.json` (`model_type` "bert"), `tokenizer.json` (word pieces) and `model.safetensors` or the shards of
/// `model.safetensors.index.json` (f32, f16, bf16). Takes from `sentence_bert_config.json` or `tokenizer_config.json`
/// the window, from `modules.json` and `1_Pooling/config.json` mean or CLS, and prompts from `strata.json`,
/// `config_sentence_transformers.json` or, for E5 and BGE, from the model's name. Vectors are unit whether or not the
/// folder asks for it. XLM-RoBERTa and other kinds (multilingual E5, BGE-M3, newer GTE) are refused.
///
/// The processor runs our own packed forward in f32; a card runs candle's kernels in f16. The weights are read into
/// memory: 4 bytes a value here, 2 on a card.
///
/// # Errors
/// [`crate::Error::Read`] for a missing file, [`crate::Error::Model`] for one that this build cannot use, naming file
/// and field; [`crate::Error::Missing`] for a device that this build or machine lacks.
pub fn open_model(folder: &Path, device: &str) -> Result<Box<dyn Embedder>> {
    Ok(Box::new(bert::Bert::open(folder, device, None)?))
}

/// As [`open_model`], in a precision of the caller's choice. On the processor a half precision is candle's: slow, and
/// there to see what a card's vectors would be.
///
/// # Errors
/// As [`open_model`].
pub fn open_model_in(folder: &Path, device: &str, precision: Precision) -> Result<Box<dyn Embedder>> {
    Ok(Box::new(bert::Bert::open(folder, device, Some(precision))?))
}

/// The embedder without weights: hashed words and character n-grams, for tests, demos and machines without
/// a model.
pub fn hashed() -> Box<dyn Embedder> {
    Box::new(hashed::Hashed::new())
}
