//! ListSources and GetSource: what a memory was made from.

use index::model::{Scope, ScopeSet, SourceId};
use index::{Address, Snapshot};
use proto::v1;

use super::convert;
use crate::error::{Error, Result};
use crate::identity::{Caller, Verb};
use crate::page::Page;
use crate::shared::Memory;

/// Sources of a page where a caller names no number.
const PAGE_DEFAULT: usize = 100;
/// The most sources of a page.
const PAGE_MAX: usize = 1_000;
/// Bytes of text where a caller names no number.
const TEXT_DEFAULT: usize = 1 << 20;
/// The most bytes of text of one answer.
const TEXT_MAX: usize = 2 << 20;

/// Lists a page of sources, by scope, then key.
///
/// # Errors
/// What the caller may not, a bad page size or token, or what the store says.
pub fn list(memory: &Memory, caller: &Caller, request: v1::ListSourcesRequest) -> Result<v1::ListSourcesResponse> {
    let scopes = caller.reads(Verb::Read, &request.scope)?;
    let size = page_size(request.page_size)?;
    // All that must stay the same from page to page; the page's size may change.
    let same = format!("sources|{}|{}", caller.actor(), names(scopes.scopes()));
    let (snapshot, row) = if request.page_token.is_empty() {
        (memory.at_least(request.min_manifest_version)?, 0)
    } else {
        let page = memory.seal().open(&request.page_token, &same)?;
        let snapshot = memory
            .recent(page.version)
            .ok_or(Error::Page { reason: "the listing is too old; start again without it" })?;
        (snapshot, page.row)
    };
    let addresses = snapshot.sources(&scopes);
    let start = usize::try_from(row).unwrap_or(usize::MAX).min(addresses.len());
    let end = start.saturating_add(size).min(addresses.len());
    let next = Page { version: snapshot.version(), row: end as u64 };
    let more = end < addresses.len();
    Ok(v1::ListSourcesResponse {
        manifest_version: snapshot.version(),
        sources: addresses[start..end].iter().map(|&address| convert::source(snapshot.source_at(address))).collect(),
        next_page_token: if more { memory.seal().seal(next, &same) } else { String::new() },
        total_size: addresses.len() as u64,
    })
}

/// Answers one source, with a range of its text where asked for.
///
/// # Errors
/// What the caller may not, no such source for this caller, or what the store says.
pub fn get(memory: &Memory, caller: &Caller, request: v1::GetSourceRequest) -> Result<v1::GetSourceResponse> {
    let scopes = caller.reads(Verb::Read, &request.scope)?;
    let limit = match request.limit_bytes as usize {
        0 => TEXT_DEFAULT,
        more if more > TEXT_MAX => {
            return Err(Error::argument("limit_bytes", format!("is above {TEXT_MAX}")));
        }
        limit => limit,
    };
    let snapshot = memory.at_least(request.min_manifest_version)?;
    let id = one(&snapshot, &scopes, &request.source)?;
    let address = address_of(&snapshot, &scopes, &id, &request.source)?;
    let mut answer = v1::GetSourceResponse {
        manifest_version: snapshot.version(),
        source: Some(convert::source(snapshot.source_at(address))),
        ..Default::default()
    };
    match v1::SourceView::try_from(request.view) {
        Ok(v1::SourceView::Unspecified | v1::SourceView::Basic) => {}
        Ok(v1::SourceView::Full) => add_text(&mut answer, &snapshot, address, request.offset_bytes, limit)?,
        Err(_) => {
            return Err(Error::argument("view", format!("{} is not known", request.view)));
        }
    }
    Ok(answer)
}

/// The one source that `name` (a key or an id) means to this caller.
///
/// # Errors
/// No such source for this caller, or a key that several of their sources have.
pub fn one(snapshot: &Snapshot, scopes: &ScopeSet, name: &str) -> Result<SourceId> {
    let ids = index::search::resolve_sources(snapshot, scopes, &[name.to_owned()])?;
    match ids.as_slice() {
        [id] => Ok(*id),
        [] => Err(absent(name)),
        several => {
            let ids: Vec<String> = several.iter().take(8).map(SourceId::to_string).collect();
            let reason = format!("{name} means {} sources; name one by its id: {}", several.len(), ids.join(", "));
            Err(Error::argument("source", reason))
        }
    }
}

/// Where the newest version of a source stands, where the caller may see it.
///
/// # Errors
/// As for a name that means nothing.
pub fn address_of(snapshot: &Snapshot, scopes: &ScopeSet, id: &SourceId, name: &str) -> Result<Address> {
    snapshot.source(scopes, id).ok_or_else(|| absent(name))
}

fn absent(name: &str) -> Error {
    Error::Index(index::Error::NotFound { noun: "source", given: name.to_owned() })
}

fn page_size(asked: i32) -> Result<usize> {
    match usize::try_from(asked) {
        Ok(0) => Ok(PAGE_DEFAULT),
        Ok(size) => Ok(size.min(PAGE_MAX)),
        Err(_) => Err(Error::argument("page_size", "is negative")),
    }
}

fn names(scopes: &[Scope]) -> String {
    scopes.iter().map(Scope::as_str).collect::<Vec<_>>().join(",")
}

fn add_text(
    answer: &mut v1::GetSourceResponse,
    snapshot: &Snapshot,
    address: Address,
    offset: u64,
    limit: usize,
) -> Result<()> {
    let segment = &snapshot.segments()[address.segment as usize];
    let text = segment.text(address.row)?;
    let start = floor(&text, usize::try_from(offset).unwrap_or(usize::MAX));
    let mut end = floor(&text, start.saturating_add(limit));
    if end == start && start < text.len() {
        // A limit inside one character would stand still for ever.
        end = start + text[start..].chars().next().map_or(0, char::len_utf8);
    }
    let turns = segment.turns_of(address.row).map(|row| &segment.turns()[row as usize]);
    let touches = |span: index::model::Span| span.start < end as u64 && span.end > start as u64;
    answer.turns = turns.filter(|turn| touches(turn.span)).map(convert::turn).collect();
    answer.text = text[start..end].to_owned();
    answer.offset_bytes = start as u64;
    answer.total_bytes = text.len() as u64;
    Ok(())
}

/// The last character border at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
