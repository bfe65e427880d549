//! Stats: what a scope holds, in numbers. Counts only what the caller may read.

use index::model::SourceKind;
use proto::v1;

use crate::error::Result;
use crate::identity::{Caller, Verb};
use crate::shared::Memory;

/// Counts.
///
/// Work is O(sources of the scope).
///
/// # Errors
/// What the caller may not, or what the store says.
pub fn stats(memory: &Memory, caller: &Caller, request: v1::StatsRequest) -> Result<v1::StatsResponse> {
    let scopes = caller.reads(Verb::Read, &request.scope)?;
    let snapshot = memory.at_least(request.min_manifest_version)?;
    let mut stats = v1::StatsResponse {
        manifest_version: snapshot.version(),
        embedder: snapshot.embedder().map(ToString::to_string).unwrap_or_default(),
        ..Default::default()
    };
    for address in snapshot.sources(&scopes) {
        let source = snapshot.source_at(address);
        let segment = &snapshot.segments()[address.segment as usize];
        stats.n_sources += 1;
        match source.kind {
            SourceKind::Document => stats.n_documents += 1,
            SourceKind::Conversation => stats.n_conversations += 1,
        }
        stats.n_turns += segment.turns_of(address.row).len() as u64;
        stats.n_sentences += segment.sentences_of(address.row).len() as u64;
        stats.n_chunks += segment.chunks_of(address.row).len() as u64;
        stats.n_tokens += source.n_tokens;
    }
    Ok(stats)
}
