//! AddSource and AppendTurns: one source, or some more turns of one, durable before the answer.

use std::collections::{BTreeMap, HashSet};

use index::model::SourceKind;
use ingest::{Added, Body, NewSource, NewTurn, Tools};
use proto::v1;

use super::convert;
use super::sources::{address_of, one};
use crate::error::{Error, Result};
use crate::identity::{Caller, Verb};
use crate::shared::{Memory, now};

/// The reader of sources that come over this door: part of their identity.
const READER: &str = "api";
/// The collection of sources that name none.
const COLLECTION: &str = "added";
/// Bytes of the longest key, title, label, id or author.
const NAME_BYTES_MAX: usize = 1_024;
/// Entries of the largest metadata.
const METADATA_MAX: usize = 64;
/// Bytes of the longest metadata value.
const METADATA_BYTES_MAX: usize = 16 << 10;
/// Turns of one request.
const TURNS_MAX: usize = 10_000;

/// Takes in a document or a conversation.
///
/// # Errors
/// What the caller may not, a field outside its bounds, a deleted source without `undelete`, or what
/// the store or the model says.
pub fn add(memory: &Memory, caller: &Caller, request: v1::AddSourceRequest) -> Result<v1::AddSourceResponse> {
    let scope = caller.writes(Verb::Write, &request.scope)?;
    if request.undelete {
        caller.require(Verb::Delete)?;
    }
    check_name("key", &request.key)?;
    if request.key.trim().is_empty() {
        return Err(Error::argument("key", "is empty"));
    }
    check_name("title", &request.title)?;
    check_name("collection", &request.collection)?;
    let metadata = checked_metadata(request.metadata)?;
    let (kind, body) = match (request.text.is_empty(), request.turns.is_empty()) {
        (false, true) => (SourceKind::Document, Body::Text(request.text)),
        (true, false) => (SourceKind::Conversation, Body::Turns(turns(request.turns)?)),
        (true, true) => return Err(Error::argument("text", "is empty, and so are turns")),
        (false, false) => return Err(Error::argument("text", "and turns are both given")),
    };
    let collection = if request.collection.is_empty() { COLLECTION.to_owned() } else { request.collection };
    let source = NewSource {
        scope,
        reader: READER.to_owned(),
        key: request.key,
        title: request.title,
        kind,
        body,
        collection,
        exported_at: None,
        metadata,
    };
    let added = with_tools(memory, |tools| {
        ingest::add_source(memory.store(), tools, source, &caller.actor(), request.undelete)
    })?;
    Ok(v1::AddSourceResponse {
        manifest_version: added.manifest_version,
        source_id: added.id.to_string(),
        version: added.version,
        changed: added.changed,
        n_sentences: added.n_sentences.into(),
        n_chunks: added.n_chunks.into(),
    })
}

/// Adds turns to a conversation.
///
/// # Errors
/// What the caller may not, no such conversation for this caller, a field outside its bounds, or what
/// the store or the model says.
pub fn append(memory: &Memory, caller: &Caller, request: v1::AppendTurnsRequest) -> Result<v1::AppendTurnsResponse> {
    let scopes = caller.reads(Verb::Write, &request.scope)?;
    if request.turns.is_empty() {
        return Err(Error::argument("turns", "are none"));
    }
    let turns = turns(request.turns)?;
    let snapshot = memory.refresh()?;
    let id = one(&snapshot, &scopes, &request.source)?;
    let address = address_of(&snapshot, &scopes, &id, &request.source)?;
    let source = snapshot.source_at(address);
    if source.kind != SourceKind::Conversation {
        return Err(Error::argument("source", "is a document: it has no turns"));
    }
    let scope = source.scope.clone();
    let added =
        with_tools(memory, |tools| ingest::append_turns(memory.store(), tools, &scope, id, turns, &caller.actor()))?;
    Ok(v1::AppendTurnsResponse {
        manifest_version: added.manifest_version,
        source_id: added.id.to_string(),
        version: added.version,
        changed: added.changed,
        n_sentences: added.n_sentences.into(),
        n_chunks: added.n_chunks.into(),
    })
}

/// Writes with the memory's own tools, then shows the new version to readers.
fn with_tools(memory: &Memory, write: impl FnOnce(&Tools<'_>) -> ingest::Result<Added>) -> Result<Added> {
    let (embedder, backend) = memory.writing_tools()?;
    let tools = Tools { embedder: embedder.as_ref(), backend: backend.as_ref(), now: &now };
    let added = write(&tools)?;
    memory.refresh()?;
    Ok(added)
}

fn turns(given: Vec<v1::NewTurn>) -> Result<Vec<NewTurn>> {
    if given.len() > TURNS_MAX {
        return Err(Error::argument("turns", format!("are more than {TURNS_MAX}")));
    }
    let mut ids = HashSet::new();
    for turn in given.iter().filter(|turn| !turn.id.is_empty()) {
        if !ids.insert(turn.id.as_str()) {
            return Err(Error::argument("turns", format!("two have the id {}", turn.id)));
        }
    }
    given.into_iter().map(turn).collect()
}

fn turn(given: v1::NewTurn) -> Result<NewTurn> {
    check_name("turns.id", &given.id)?;
    check_name("turns.author", &given.author)?;
    check_name("turns.reply_to", &given.reply_to)?;
    if given.text.trim().is_empty() {
        return Err(Error::argument("turns.text", "is empty"));
    }
    let role = convert::said_role(given.role());
    let said_at = given.said_at.map(|at| convert::moment("turns.said_at", at)).transpose()?;
    let named = |name: String| (!name.is_empty()).then_some(name);
    Ok(NewTurn {
        id: named(given.id),
        author: given.author,
        role,
        said_at,
        reply_to: named(given.reply_to),
        text: given.text,
        metadata: checked_metadata(given.metadata)?,
    })
}

fn check_name(field: &'static str, name: &str) -> Result<()> {
    if name.len() > NAME_BYTES_MAX {
        return Err(Error::argument(field, format!("is longer than {NAME_BYTES_MAX} bytes")));
    }
    Ok(())
}

fn checked_metadata(given: BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    if given.len() > METADATA_MAX {
        return Err(Error::argument("metadata", format!("has more than {METADATA_MAX} entries")));
    }
    for (name, value) in &given {
        check_name("metadata", name)?;
        if value.len() > METADATA_BYTES_MAX {
            return Err(Error::argument("metadata", format!("{name} is longer than 16 KiB")));
        }
    }
    Ok(given)
}
