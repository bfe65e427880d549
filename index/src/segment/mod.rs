//! A segment: one folder of one tenant's data, never altered once finished.
//!
//! `writer` makes the folder, `open` checks and opens it, `reader` lends its rows, `vector` and `text` are its indexes.

mod lazy;
mod open;
mod reader;
mod terms;
mod text;
mod vector;
pub(crate) mod writer;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::manifest::{Counts, EmbedderIdentity, FileDigest, SegmentKind};
use crate::model::Chunk;

pub(crate) use open::Place;
pub use reader::Segment;
pub(crate) use terms::Terms;

/// The folder of the segments.
pub(crate) const FOLDER: &str = "segments";
/// The names of a segment's files.
pub(crate) mod names {
    /// What the segment says of itself.
    pub(crate) const META: &str = "segment.json";
    /// A table each.
    pub(crate) const SOURCES: &str = "sources.parquet";
    pub(crate) const TEXTS: &str = "texts.parquet";
    pub(crate) const TURNS: &str = "turns.parquet";
    pub(crate) const SENTENCES: &str = "sentences.parquet";
    pub(crate) const VECTORS: &str = "vectors.parquet";
    pub(crate) const CHUNKS: &str = "chunks.parquet";
    pub(crate) const EDGES: &str = "edges.parquet";
    /// The vector index.
    pub(crate) const VECTOR_INDEX: &str = "vectors.usearch";
    /// The folder of the text index.
    pub(crate) const TEXT_INDEX: &str = "text/";
}

/// Which rows a text index answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Turns: the author, then the body.
    Turn,
    /// Chunks: their text; of exchanges the authors too.
    Chunk,
}

/// What a segment says of itself, beside what the manifest says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentMeta {
    /// The format of its files.
    pub format: u32,
    /// The one tenant whose data it holds.
    pub tenant: String,
    /// Whether it has indexes.
    pub kind: SegmentKind,
    /// Its rows.
    pub counts: Counts,
    /// What made its vectors.
    pub embedder: EmbedderIdentity,
    /// The settings it was made with.
    pub settings: BTreeMap<String, String>,
    /// Every other file of it.
    pub files: BTreeMap<String, FileDigest>,
}

/// A chunk's text: its card, or its spans, joined by a newline where they do not touch.
///
/// `None` where a span does not lie in `text` on character borders.
pub(crate) fn chunk_text(text: &str, chunk: &Chunk) -> Option<String> {
    if let Some(card) = &chunk.card {
        return Some(card.clone());
    }
    let mut out = String::new();
    let mut end = None;
    for span in &chunk.spans {
        if end.is_some_and(|end| end != span.start) {
            out.push('\n');
        }
        out.push_str(span.slice(text)?);
        end = Some(span.end);
    }
    Some(out)
}
