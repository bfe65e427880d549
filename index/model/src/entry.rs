//! One source version with all that was derived from it: what ingest hands to the store.

use super::chunk::Chunk;
use super::edge::Edge;
use super::ids::TextDigest;
use super::sentence::Sentence;
use super::source::{Source, SourceState, Turn};
use super::time::Timestamp;

/// A source version and its derived rows.
///
/// Invariants, checked on write: turns lie in the text in order; sentences ascend and lie in their
/// turns; `vectors.len() == sentences.len() * dim`; a chunk's sentences exist; a deleted version has
/// no text and no rows.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceEntry {
    /// The version itself.
    pub source: Source,
    /// The retained text: of a conversation the turns' bodies joined by one newline.
    pub text: String,
    /// Its messages; empty for a document.
    pub turns: Vec<Turn>,
    /// Its sentences in the order of the text.
    pub sentences: Vec<Sentence>,
    /// Their vectors, `[n_sentences, dim]`, unit rows.
    pub vectors: Vec<f32>,
    /// Its chunks in the order of their first sentence; facts cards last in their session.
    pub chunks: Vec<Chunk>,
    /// Edges that start at one of its chunks.
    pub edges: Vec<Edge>,
}

impl SourceEntry {
    /// The version after `source` that hides it: no text and no rows. `None` where no number is left.
    pub fn hiding(source: &Source, at: Timestamp) -> Option<Self> {
        let source = Source {
            version: source.version.checked_add(1)?,
            state: SourceState::Deleted,
            digest: TextDigest::of(""),
            recorded_at: at,
            n_tokens: 0,
            n_unknown: 0,
            n_replaced: 0,
            ..source.clone()
        };
        Some(Self {
            source,
            text: String::new(),
            turns: Vec::new(),
            sentences: Vec::new(),
            vectors: Vec::new(),
            chunks: Vec::new(),
            edges: Vec::new(),
        })
    }
}
