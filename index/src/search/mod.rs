//! Questions over one snapshot: reach, score, fuse, explain.
//!
//! What the caller may see is decided first ([`reach`]); only that is scored. Every door takes a
//! [`ScopeSet`], which only the identity layer can make.

mod context;
mod fence;
mod fuse;
mod gather;
mod lexical;
pub mod query;
mod rank;
mod reach;
mod semantic;
mod walk;

pub use context::context;
pub use query::{
    Answer, Context, ContextQuery, Hit, Hop, K_MAX, Place, Query, Reached, Record, SignalScore, SourceRef, Unit, Walk,
    WalkQuery,
};
pub use walk::walk;

use crate::error::{Error, Result};
use crate::model::{ScopeSet, SourceId};
use crate::snapshot::Snapshot;
use rank::rank;
use reach::Reach;

/// Answers `query` with at most `k` units that `scopes` may see, best first.
///
/// Work is O(postings of the question's words + compared sentences · dim); up to 65,536 sentences are
/// all compared, above that the vector indexes choose.
///
/// # Errors
/// [`Error::OutOfRange`] for a bad `k`, an empty question or a vector of another length than the
/// store's; [`Error::Corrupt`] where a text cannot be read back.
pub fn search(snapshot: &Snapshot, scopes: &ScopeSet, query: &Query) -> Result<Answer> {
    query.check()?;
    check_vector(snapshot, &query.vector)?;
    let reach = Reach::new(snapshot, scopes, query.unit, &query.sources);
    let hits = match reach.n_slots() {
        0 => Vec::new(),
        _ => gather::hits(&reach, query, &rank(&reach, query)?)?,
    };
    Ok(Answer { version: snapshot.version(), hits })
}

/// The sources that `names` (keys or ids) mean to this caller; a key may mean several.
///
/// # Errors
/// [`Error::NotFound`] for the first name that means nothing here, whether or not others could see it.
pub fn resolve_sources(snapshot: &Snapshot, scopes: &ScopeSet, names: &[String]) -> Result<Vec<SourceId>> {
    let mut found = Vec::new();
    for name in names {
        let id: Option<SourceId> = name.parse().ok();
        let before = found.len();
        for address in snapshot.sources(scopes) {
            let source = &snapshot.segments()[address.segment as usize].sources()[address.row as usize];
            if source.key == *name || Some(source.id) == id {
                found.push(source.id);
            }
        }
        if found.len() == before {
            return Err(Error::NotFound { noun: "source", given: name.clone() });
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn check_vector(snapshot: &Snapshot, vector: &[f32]) -> Result<()> {
    let Some(embedder) = snapshot.embedder() else {
        return Ok(());
    };
    if vector.is_empty() || vector.len() == embedder.dim as usize {
        return Ok(());
    }
    Err(Error::OutOfRange {
        what: "length of the question's vector",
        given: vector.len().to_string(),
        allowed: "the dimension of the store's embedder",
    })
}
