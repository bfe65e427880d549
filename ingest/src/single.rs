//! The second door: one source, or some more turns of one, by the same corridor into a live segment.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use index::Store;
use index::model::{Role, Scope, SourceId, SourceKind, SourceState, TimeOrigin, Timestamp};

use crate::error::{Error, Result};
use crate::prepare::prepare;
use crate::progress::Silent;
use crate::report::Seconds;
use crate::settings::{ChunkSettings, Tools};
use crate::store::{self, Write};
use crate::version::{Origin, Outcome, Rights, against};
use read::{DerivedIds, Draft, DraftBody, DraftTurn};

/// A source as a caller gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSource {
    /// The one exact scope it is written to.
    pub scope: Scope,
    /// Part of the identity; `api` unless the caller stands for an archive.
    pub reader: String,
    /// The caller's own id of it.
    pub key: String,
    /// For people.
    pub title: String,
    /// Document or conversation; it must suit the body.
    pub kind: SourceKind,
    /// What it says.
    pub body: Body,
    /// The label it is kept under; empty for none.
    pub collection: String,
    /// When it was exported: an older export of a known source adds and never hides.
    pub exported_at: Option<Timestamp>,
    /// What else there is to say of it.
    pub metadata: BTreeMap<String, String>,
}

/// What a source says.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A document's text.
    Text(String),
    /// A conversation's turns, in order.
    Turns(Vec<NewTurn>),
}

/// A turn as a caller gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTurn {
    /// The caller's own id of it; `None` derives one from what it says.
    pub id: Option<String>,
    /// Who says it, as they are called; empty where unknown.
    pub author: String,
    /// Who speaks.
    pub role: Role,
    /// When it was said; never the time of the call.
    pub said_at: Option<Timestamp>,
    /// The turn it answers.
    pub reply_to: Option<String>,
    /// The body.
    pub text: String,
    /// What else there is to say of it.
    pub metadata: BTreeMap<String, String>,
}

/// What became of a source that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Its id.
    pub id: SourceId,
    /// Its key.
    pub key: String,
    /// Its version now.
    pub version: u32,
    /// The store's version that holds it.
    pub manifest_version: u64,
    /// Whether anything was written.
    pub changed: bool,
    /// Its sentences; 0 where nothing was written.
    pub n_sentences: u32,
    /// Its chunks; 0 where nothing was written.
    pub n_chunks: u32,
}

/// Adds one source; it is found as soon as this returns. Adding the same twice changes nothing.
///
/// # Errors
/// [`Error::Deleted`] for a deleted source without `undelete`; [`Error::Invalid`] for an empty key or
/// text; [`index::Error::Embedder`]; the store's, the model's and the device's own.
pub fn add_source(store: &Store, tools: &Tools<'_>, source: NewSource, actor: &str, undelete: bool) -> Result<Added> {
    let NewSource { scope, reader, key, title, kind, body, collection, exported_at, metadata } = source;
    if key.trim().is_empty() {
        return Err(invalid("key", "a source needs a key of its own"));
    }
    let (body, n_replaced) = draft_body(kind, body)?;
    let draft = Draft { key: Some(key.clone()), exported_at, metadata, n_replaced, ..Draft::new(title, kind, body) };
    let origin = Origin { file: String::new(), scope, reader, key, collection, path: String::new() };
    let rights = Rights { mirror: false, undelete };
    put(store, tools, origin, draft, rights, actor, "add")
}

/// Adds turns to a conversation, by id: a known id takes the new words, others come after what is there.
///
/// # Errors
/// [`index::Error::NotFound`] for a source that is not in this exact scope or is deleted; otherwise as
/// [`add_source`].
pub fn append_turns(
    store: &Store,
    tools: &Tools<'_>,
    scope: &Scope,
    id: SourceId,
    turns: Vec<NewTurn>,
    actor: &str,
) -> Result<Added> {
    let not_found = || index::Error::NotFound { noun: "source", given: id.to_string() };
    let snapshot = store.snapshot()?;
    let address = snapshot.newest(&id).ok_or_else(not_found)?;
    let source = snapshot.source_at(address).clone();
    if source.scope != *scope || source.state != SourceState::Live {
        return Err(not_found().into());
    }
    let (body, n_replaced) = draft_body(source.kind, Body::Turns(turns))?;
    let newest = match &body {
        DraftBody::Turns(turns) => turns.iter().filter_map(|turn| turn.said_at).max(),
        DraftBody::Text(_) => None,
    };
    let draft = Draft {
        key: Some(source.key.clone()),
        // What is appended is the newest word, whenever it was said.
        exported_at: newest.max(source.exported_at),
        metadata: source.metadata,
        n_replaced,
        ..Draft::new(source.title, source.kind, body)
    };
    let origin = Origin {
        file: String::new(),
        scope: source.scope,
        reader: source.reader,
        key: source.key,
        collection: source.collection,
        path: source.path,
    };
    put(store, tools, origin, draft, Rights::default(), actor, "append")
}

fn put(
    store: &Store,
    tools: &Tools<'_>,
    origin: Origin,
    draft: Draft,
    rights: Rights,
    actor: &str,
    action: &str,
) -> Result<Added> {
    let snapshot = store.snapshot()?;
    store::check_embedder(&snapshot, tools.embedder.id())?;
    let (id, key) = (origin.id(), origin.key.clone());
    let state = match against(&snapshot, &origin, &draft, rights, (tools.now)())? {
        Outcome::Next(state) => *state,
        Outcome::Refused => return Err(Error::Deleted { key }),
        Outcome::Unchanged(source) => {
            return Ok(unchanged(id, key, source.version, snapshot.version()));
        }
    };
    let cancel = AtomicBool::new(false);
    let write = Write {
        store,
        tools,
        chunk: &ChunkSettings::STANDARD,
        rights,
        actor,
        action,
        live: true,
        progress: &Silent,
        cancel: &cancel,
    };
    let batch = vec![prepare(origin, draft, state, tools.embedder)];
    let written = store::write(&write, &snapshot, batch, &mut Seconds::default())?;
    let Some(prepared) = written.batch.first() else {
        // Another writer put the same there first, or deleted it meanwhile.
        let snapshot = store.snapshot()?;
        let source = snapshot.newest(&id).map(|address| snapshot.source_at(address));
        return match source {
            Some(source) if source.state == SourceState::Live => {
                Ok(unchanged(id, key, source.version, snapshot.version()))
            }
            _ => Err(Error::Deleted { key }),
        };
    };
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Ok(Added {
        id,
        key,
        version: prepared.entry.source.version,
        manifest_version: written.manifest_version,
        changed: true,
        n_sentences: count(prepared.entry.sentences.len()),
        n_chunks: count(prepared.entry.chunks.len()),
    })
}

fn unchanged(id: SourceId, key: String, version: u32, manifest_version: u64) -> Added {
    Added { id, key, version, manifest_version, changed: false, n_sentences: 0, n_chunks: 0 }
}

fn invalid(what: &'static str, reason: &str) -> Error {
    Error::Invalid { what, reason: reason.to_owned() }
}

/// A caller's body as a draft's, with what cannot be kept replaced and counted.
fn draft_body(kind: SourceKind, body: Body) -> Result<(DraftBody, u64)> {
    let mut n_replaced = 0;
    let mut mend = |text: String| {
        n_replaced += text.matches('\0').count() as u64;
        if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
    };
    let body = match (kind, body) {
        (SourceKind::Document, Body::Text(text)) if text.trim().is_empty() => {
            return Err(invalid("text", "there is nothing to remember in it"));
        }
        (SourceKind::Document, Body::Text(text)) => DraftBody::Text(mend(text)),
        (SourceKind::Conversation, Body::Turns(turns)) if turns.is_empty() => {
            return Err(invalid("turns", "there is none"));
        }
        (SourceKind::Conversation, Body::Turns(turns)) => {
            let mut ids = DerivedIds::default();
            DraftBody::Turns(turns.into_iter().map(|turn| draft_turn(turn, &mut ids, &mut mend)).collect())
        }
        (SourceKind::Document, Body::Turns(_)) => return Err(invalid("turns", "a document has a text, no turns")),
        (SourceKind::Conversation, Body::Text(_)) => return Err(invalid("text", "a conversation has turns, no text")),
    };
    Ok((body, n_replaced))
}

fn draft_turn(turn: NewTurn, ids: &mut DerivedIds, mend: &mut impl FnMut(String) -> String) -> DraftTurn {
    let NewTurn { id, author, role, said_at, reply_to, text, metadata } = turn;
    let text = mend(text);
    DraftTurn {
        id: id.filter(|id| !id.is_empty()).unwrap_or_else(|| ids.next(&author, role, said_at, &text)),
        author,
        role,
        said_at,
        origin: if said_at.is_some() { TimeOrigin::Given } else { TimeOrigin::Unknown },
        reply_to,
        session: None,
        text,
        metadata,
    }
}
