//! Questions and answers as values: what is asked, what comes back and why.

use crate::error::{Error, Result};
use crate::model::{
    ChunkId, ChunkKind, EdgeKind, Role, Scope, Source, SourceId, SourceKind, Span, TimeOrigin, Timestamp,
};

/// The most units one answer may hold.
pub const K_MAX: u32 = 1_000;

/// What `k` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Unit {
    /// A community, exchange, paragraph or facts card.
    #[default]
    Chunk,
    /// One message of a conversation; documents have none.
    Turn,
    /// Turns without a long gap; a document is one session.
    Session,
    /// A whole conversation or document.
    Source,
}

impl Unit {
    /// All units, in the order of their size.
    pub const ALL: [Self; 4] = [Self::Chunk, Self::Turn, Self::Session, Self::Source];

    /// The name used on the wire and in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chunk => "chunk",
            Self::Turn => "turn",
            Self::Session => "session",
            Self::Source => "source",
        }
    }

    /// Reads that name back.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.as_str() == name)
    }
}

/// A question, ready to be asked: its vector was made by the store's own embedder.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The words.
    pub text: String,
    /// Their vector, `[dim]`, unit length; empty asks by words alone.
    pub vector: Vec<f32>,
    /// What `k` counts.
    pub unit: Unit,
    /// The most units that may come back, `1..=K_MAX`. A ceiling, never a promise.
    pub k: u32,
    /// Only these sources; empty for all that the caller may read.
    pub sources: Vec<SourceId>,
}

impl Query {
    /// Checks the bounds once, at the door.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] where `k` is 0 or above [`K_MAX`] or the question is empty.
    pub fn check(&self) -> Result<()> {
        if self.k == 0 || self.k > K_MAX {
            return Err(Error::OutOfRange { what: "k", given: self.k.to_string(), allowed: "1 to 1000" });
        }
        if self.text.trim().is_empty() {
            return Err(Error::OutOfRange {
                what: "question",
                given: "\"\"".to_owned(),
                allowed: "at least one character that is no space",
            });
        }
        Ok(())
    }
}

/// One reason for a hit's place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalScore {
    /// The signal: `lexical`, `semantic`, `neighbours`, `session`.
    pub name: &'static str,
    /// How strongly it speaks for the hit, `[0, 1]`.
    pub score: f32,
    /// Its share of the fused score; the weights of one answer sum to 1.
    pub weight: f32,
}

/// The source a hit comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceRef {
    /// Its id.
    pub id: SourceId,
    /// The archive's own id, or collection label and path.
    pub key: String,
    /// For people.
    pub title: String,
    /// The exact scope it lives in.
    pub scope: Scope,
    /// Document or conversation.
    pub kind: SourceKind,
    /// The reader that made it.
    pub reader: String,
    /// The version the spans point into.
    pub version: u32,
}

impl From<&Source> for SourceRef {
    fn from(source: &Source) -> Self {
        Self {
            id: source.id,
            key: source.key.clone(),
            title: source.title.clone(),
            scope: source.scope.clone(),
            kind: source.kind,
            reader: source.reader.clone(),
            version: source.version,
        }
    }
}

/// Another place where a hit's text stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The unit there.
    pub unit_id: String,
    /// The source there.
    pub source: SourceRef,
    /// Where in that source.
    pub spans: Vec<Span>,
    /// The turns it stands in.
    pub turn_ids: Vec<String>,
}

/// One unit that answers a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// What it is.
    pub unit: Unit,
    /// A chunk's id, a turn's id, `source id/session`, or a source's id.
    pub unit_id: String,
    /// Where it comes from.
    pub source: SourceRef,
    /// How a chunk was made; `None` for other units.
    pub chunk_kind: Option<ChunkKind>,
    /// Where its text stands in the retained text; of a session or source, its best passage.
    pub spans: Vec<Span>,
    /// The turns it covers, in order; empty for a document.
    pub turn_ids: Vec<String>,
    /// Its text; of a session or source, its best passage.
    pub text: String,
    /// The first covered turn's author; empty where unknown.
    pub author: String,
    /// The first covered turn's role.
    pub role: Role,
    /// When the first covered turn was said, where known.
    pub said_at: Option<Timestamp>,
    /// Where that time comes from.
    pub said_at_origin: TimeOrigin,
    /// The fused score, `[0, 1]`.
    pub score: f32,
    /// What it is made of.
    pub signals: Vec<SignalScore>,
    /// Other places with the same text.
    pub places: Vec<Place>,
}

/// The answer to a [`Query`], from one snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The manifest version every hit was read from.
    pub version: u64,
    /// At most `k`, best first.
    pub hits: Vec<Hit>,
}

/// A question for a bounded context.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextQuery {
    /// What to look for; `k` bounds the records.
    pub query: Query,
    /// The most tokens the whole fenced block may have.
    pub max_tokens: u32,
    /// The most records one source may give, at least 1.
    pub per_source_max: u32,
}

/// One record of a context.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The number it is cited by, from 1.
    pub citation: u32,
    /// The hit it shows, its text as shown.
    pub hit: Hit,
    /// Whether its text was cut at the budget; the citation says so too.
    pub cut: bool,
}

/// A block of quoted evidence within a token budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The manifest version it was read from.
    pub version: u64,
    /// The block: a fence no text can close, one line a record's head, its text, the closing fence.
    pub text: String,
    /// Tokens of `text`, by the counter given.
    pub n_tokens: u32,
    /// The records in the block, best first.
    pub records: Vec<Record>,
}

/// A bounded walk over the edges between chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct WalkQuery {
    /// Where to start.
    pub from: Vec<ChunkId>,
    /// The most edges on a path, `1..=6`.
    pub hops: u32,
    /// The most chunks that may come back, `1..=K_MAX`.
    pub k: u32,
    /// Only these kinds of edges; empty for all.
    pub kinds: Vec<EdgeKind>,
}

/// One step of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// The chunk stepped from.
    pub from: ChunkId,
    /// The chunk stepped to.
    pub to: ChunkId,
    /// The edge's kind.
    pub kind: EdgeKind,
    /// Whether the edge was walked as written (`true`) or from its end to its start.
    pub forward: bool,
    /// The edge's weight, `[0, 1]`.
    pub weight: f32,
}

/// A chunk that a walk reached, by its best path.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The chunk; `score` is the product of the path's weights.
    pub hit: Hit,
    /// The edges that led there, in order.
    pub path: Vec<Hop>,
}

/// The answer to a [`WalkQuery`].
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// The manifest version it was read from.
    pub version: u64,
    /// At most `k`, best path first; the start is not among them.
    pub reached: Vec<Reached>,
}
