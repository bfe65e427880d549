//! GraphWalk: the chunks that lead on from some chunks.

use index::model::ChunkId;
use index::search::WalkQuery;
use proto::v1;

use super::convert;
use super::search::or_default;
use crate::error::{Error, Result};
use crate::identity::{Caller, Verb};
use crate::shared::Memory;

/// `hops` where a caller names none.
const HOPS_DEFAULT: u32 = 2;
/// `k` where a caller names none.
const K_DEFAULT: u32 = 10;
/// How many chunks a walk may start at.
const STARTS_MAX: usize = 100;
/// How many kinds a walk may name, repeats included.
const KINDS_MAX: usize = 16;

/// Walks.
///
/// # Errors
/// What the caller may not, a field outside its bounds, or a start that is not there for this caller.
pub fn walk(memory: &Memory, caller: &Caller, request: v1::GraphWalkRequest) -> Result<v1::GraphWalkResponse> {
    let scopes = caller.reads(Verb::Read, &request.scope)?;
    if request.from_chunk_ids.is_empty() || request.from_chunk_ids.len() > STARTS_MAX {
        return Err(Error::argument("from_chunk_ids", format!("are not 1 to {STARTS_MAX}")));
    }
    if request.kinds.len() > KINDS_MAX {
        return Err(Error::argument("kinds", format!("are more than {KINDS_MAX}")));
    }
    let from: index::model::Result<Vec<ChunkId>> = request.from_chunk_ids.iter().map(|id| id.parse()).collect();
    let kinds: Result<Vec<_>> = request.kinds.iter().map(|&kind| convert::asked_edge_kind(kind)).collect();
    let query = WalkQuery {
        from: from?,
        hops: or_default(request.hops, HOPS_DEFAULT),
        k: or_default(request.k, K_DEFAULT),
        kinds: kinds?,
    };
    let snapshot = memory.at_least(request.min_manifest_version)?;
    let walk = index::search::walk(&snapshot, &scopes, &query)?;
    Ok(v1::GraphWalkResponse {
        manifest_version: walk.version,
        reached: walk.reached.into_iter().map(convert::reached).collect(),
    })
}
