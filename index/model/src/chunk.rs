//! Chunks: the units that are retrieved.

use super::ids::ChunkId;
use super::sentence::Span;
use super::source::names;

/// How a chunk was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChunkKind {
    /// Sentences of one Leiden community: one topic, not always contiguous.
    Community,
    /// Whole turns of a conversation: something said and what answered it.
    Exchange,
    /// Neighbouring sentences of a text too short for communities.
    Paragraph,
    /// What a session names: its entities, dates and preferences. An index, not the memory.
    FactsCard,
}

names!(ChunkKind {
    Community = "community",
    Exchange = "exchange",
    Paragraph = "paragraph",
    FactsCard = "facts_card",
});

/// A retrievable unit of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Hash of (source, kind, ordered sentence digests, n-th occurrence).
    pub id: ChunkId,
    /// How it was made.
    pub kind: ChunkKind,
    /// The session it belongs to; 0 for a document.
    pub session: u32,
    /// Its sentences, counted within the source, ascending. Empty for a facts card.
    pub sentences: Vec<u32>,
    /// Its spans in the retained text, ascending, neighbours merged. Empty for a facts card.
    pub spans: Vec<Span>,
    /// Its wordpieces.
    pub n_tokens: u32,
    /// A facts card's own text; `None` where the spans are the text.
    pub card: Option<String>,
    /// Normalised names and quoted things it mentions, ascending, at most 32.
    pub entities: Vec<String>,
    /// Dates it mentions, as ISO 8601 intervals `from/to`, ascending, at most 32.
    pub dates: Vec<String>,
    /// Preferences stated in it, in their own words, at most 16.
    pub preferences: Vec<String>,
}
