//! Typed relations between chunks.

use super::ids::ChunkId;
use super::source::names;

/// What an edge says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// The other end follows in the source.
    Next,
    /// Both are about the same, within one source.
    Similar,
    /// Both name the same thing.
    Entity,
    /// Both are about the same, in two sources.
    CrossSource,
    /// Both were cut from one community that did not fit the token budget.
    SameCommunity,
}

names!(EdgeKind {
    Next = "next",
    Similar = "similar",
    Entity = "entity",
    CrossSource = "cross_source",
    SameCommunity = "same_community",
});

/// One edge, walkable both ways. Its ends may lie in different segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Where it starts: the earlier one of `Next`, else the smaller id.
    pub from: ChunkId,
    /// Where it ends.
    pub to: ChunkId,
    /// What it says.
    pub kind: EdgeKind,
    /// `[0, 1]`: 1 for `Next`, the cosine of similar ones.
    pub weight: f32,
}
