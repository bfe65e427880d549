//! Deleting sources: first a plan that can be read, then a commit of versions that hide them.

use std::collections::{BTreeMap, BTreeSet};

use crate::commit::{Commit, Committed};
use crate::error::{Error, Result};
use crate::model::{Scope, ScopeSet, Source, SourceEntry, SourceId, Timestamp};
use crate::snapshot::Snapshot;
use crate::store::Store;

/// What a deletion would hide. Nothing is changed until it is committed.
#[derive(Clone, Debug, PartialEq)]
pub struct DeletePlan {
    /// The version it was planned against.
    pub base_version: u64,
    /// What would be hidden, in the order (scope, key, id).
    pub sources: Vec<PlannedDelete>,
    /// What is not there for this caller, ascending.
    pub not_found: Vec<SourceId>,
}

/// A source that a deletion would hide, and how much with it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedDelete {
    /// Its identity.
    pub id: SourceId,
    /// Its key.
    pub key: String,
    /// Its title.
    pub title: String,
    /// The scope it was written to.
    pub scope: Scope,
    /// The version that is current now.
    pub version: u32,
    /// Its turns.
    pub n_turns: u32,
    /// Its sentences.
    pub n_sentences: u32,
    /// Its chunks.
    pub n_chunks: u32,
    /// Edges that start at its chunks.
    pub n_edges: u32,
}

/// Says what deleting `ids` would hide. Changes nothing.
///
/// A source outside `scopes` is not found, exactly like one that never was.
///
/// # Errors
/// None today; planning may have to read later.
pub fn plan_delete(snapshot: &Snapshot, scopes: &ScopeSet, ids: &[SourceId]) -> Result<DeletePlan> {
    let mut sources = Vec::new();
    let mut not_found = Vec::new();
    for id in ids.iter().collect::<BTreeSet<_>>() {
        let Some(address) = snapshot.source(scopes, id) else {
            not_found.push(*id);
            continue;
        };
        let segment = &snapshot.segments()[address.segment as usize];
        let n_rows = |rows: std::ops::Range<u32>| rows.end - rows.start;
        let source = snapshot.source_at(address);
        sources.push(PlannedDelete {
            id: source.id,
            key: source.key.clone(),
            title: source.title.clone(),
            scope: source.scope.clone(),
            version: source.version,
            n_turns: n_rows(segment.turns_of(address.row)),
            n_sentences: n_rows(segment.sentences_of(address.row)),
            n_chunks: n_rows(segment.chunks_of(address.row)),
            n_edges: n_rows(segment.edges_of(address.row)),
        });
    }
    sources.sort_by(|a, b| (&a.scope, &a.key, a.id).cmp(&(&b.scope, &b.key, b.id)));
    Ok(DeletePlan { base_version: snapshot.version(), sources, not_found })
}

/// Commits a plan: every source in it gets a deleted version, which hides it everywhere at once.
///
/// # Errors
/// [`Error::Conflict`] where a source has changed since it was planned; else as [`Store::commit`].
pub fn commit_delete(store: &Store, plan: DeletePlan, actor: &str, reason: &str, at: Timestamp) -> Result<Committed> {
    let snapshot = store.snapshot()?;
    let Some(embedder) = snapshot.embedder().filter(|_| !plan.sources.is_empty()) else {
        return Ok(Committed { version: snapshot.version(), n_segments: 0 });
    };
    let deleted = |planned: &PlannedDelete| -> Result<SourceEntry> {
        let now = snapshot.newest(&planned.id).map(|address| snapshot.source_at(address));
        let Some(source) = now.filter(|source| source.version == planned.version) else {
            let found = now.map_or(0, |source| source.version);
            return Err(Error::Conflict { key: planned.key.clone(), found, expected: planned.version });
        };
        deleted_version(source, at)
    };
    store.commit(Commit {
        actor: actor.to_owned(),
        action: "delete".to_owned(),
        reason: reason.to_owned(),
        at,
        embedder: embedder.clone(),
        settings: BTreeMap::new(),
        live: true,
        entries: plan.sources.iter().map(deleted).collect::<Result<_>>()?,
    })
}

fn deleted_version(source: &Source, at: Timestamp) -> Result<SourceEntry> {
    SourceEntry::hiding(source, at).ok_or_else(|| Error::OutOfRange {
        what: "version",
        given: source.version.to_string(),
        allowed: "below 4,294,967,295",
    })
}
