//! The nouns of a memory as plain data: no encoding, no files, no network.
//!
//! A crate of its own, so that readers of archives build without the engines of the store.

#![forbid(unsafe_code)]

mod chunk;
mod edge;
mod entry;
mod error;
mod ids;
mod scope;
mod sentence;
mod source;
mod time;

pub use chunk::{Chunk, ChunkKind};
pub use edge::{Edge, EdgeKind};
pub use entry::SourceEntry;
pub use error::{Error, Result};
pub use ids::{ChunkId, IdHasher, SourceId, TextDigest};
pub use scope::{Scope, ScopeSet};
pub use sentence::{Sentence, Span};
pub use source::{Role, Source, SourceKind, SourceState, TimeOrigin, Turn};
pub use time::Timestamp;
