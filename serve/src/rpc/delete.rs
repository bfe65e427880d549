//! DeleteSource: what hiding some sources would do, and doing it where asked to commit.

use std::fmt::Write as _;

use index::Snapshot;
use index::model::ScopeSet;
use proto::v1;
use sha2::{Digest, Sha256};

use super::convert;
use super::search::SOURCES_MAX;
use super::sources::address_of;
use crate::error::{Error, Result};
use crate::identity::{Caller, Verb, hex};
use crate::shared::{Memory, now};

/// Characters of the longest reason.
const REASON_CHARS_MAX: usize = 1_000;

/// Plans a deletion, and commits it where asked.
///
/// # Errors
/// What the caller may not, no such source for this caller, a plan that no longer holds, or what the
/// store says.
pub fn delete(memory: &Memory, caller: &Caller, request: v1::DeleteSourceRequest) -> Result<v1::DeleteSourceResponse> {
    let scopes = caller.reads(Verb::Delete, &request.scope)?;
    if request.sources.is_empty() || request.sources.len() > SOURCES_MAX {
        return Err(Error::argument("sources", format!("are not 1 to {SOURCES_MAX}")));
    }
    if request.reason.chars().count() > REASON_CHARS_MAX {
        return Err(Error::argument("reason", "is longer than 1000 characters"));
    }
    let snapshot = memory.refresh()?;
    let ids = index::search::resolve_sources(&snapshot, &scopes, &request.sources)?;
    let plan = index::plan_delete(&snapshot, &scopes, &ids)?;
    let told = told(&snapshot, &scopes, &plan)?;
    if !request.commit {
        return Ok(v1::DeleteSourceResponse {
            manifest_version: snapshot.version(),
            plan: Some(told),
            committed: false,
        });
    }
    // On the same version the plan is the same by construction; on a newer one its etag must be.
    if request.base_version != told.base_version && request.etag != told.etag {
        return Err(Error::Stale { base: request.base_version, newest: told.base_version });
    }
    let committed = index::commit_delete(memory.store(), plan, &caller.actor(), &request.reason, now())?;
    memory.refresh()?;
    Ok(v1::DeleteSourceResponse { manifest_version: committed.version, plan: Some(told), committed: true })
}

fn told(snapshot: &Snapshot, scopes: &ScopeSet, plan: &index::DeletePlan) -> Result<v1::DeletePlan> {
    let mut read = String::new();
    let mut sources = Vec::new();
    for planned in &plan.sources {
        let address = address_of(snapshot, scopes, &planned.id, &planned.key)?;
        let source = snapshot.source_at(address);
        // What the plan rests on: which version of which source it hides.
        let _ = writeln!(read, "{} {} {}", source.id, source.version, source.digest);
        sources.push(v1::PlannedDelete {
            source: Some(convert::ref_of(source)),
            n_turns: u64::from(planned.n_turns),
            n_sentences: u64::from(planned.n_sentences),
            n_chunks: u64::from(planned.n_chunks),
            n_edges: u64::from(planned.n_edges),
        });
    }
    Ok(v1::DeletePlan { base_version: plan.base_version, etag: hex(&Sha256::digest(read.as_bytes())[..16]), sources })
}
