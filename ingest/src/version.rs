//! A draft against what the store holds: unchanged, refused, or the next version.
//!
//! A document's new text replaces the old. A conversation becomes the union by message id: of a
//! message in both, the newer export decides; an older export adds and never hides. An export's time
//! is what it says, else its newest message; where neither is known the order of imports decides.
//! A mirrored import is the whole truth: what is missing in it goes, from drafts that are complete.

use std::collections::{HashMap, HashSet};

use index::Snapshot;
use index::model::{IdHasher, Scope, Source, SourceId, SourceState, Span, TextDigest, TimeOrigin, Timestamp, Turn};

use crate::error::{Error, Result};
use crate::session;
use read::{Draft, DraftBody, DraftTurn};

/// Where a draft goes to and comes from: what the reader does not know.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The file, for the report.
    pub file: String,
    /// The exact scope.
    pub scope: Scope,
    /// The reader's name.
    pub reader: String,
    /// The source's key.
    pub key: String,
    /// The collection's label.
    pub collection: String,
    /// The path within the import.
    pub path: String,
}

impl Origin {
    /// The source's identity.
    pub fn id(&self) -> SourceId {
        SourceId::of(self.scope.as_str(), &self.reader, &self.key)
    }
}

/// What an import may do to what is there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rights {
    /// What is missing in a complete draft goes.
    pub mirror: bool,
    /// A deleted source may come back.
    pub undelete: bool,
}

/// What becomes of a draft.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The store holds it as it is.
    Unchanged(Box<Source>),
    /// It was deleted and stays so.
    Refused,
    /// The next version, without anything derived.
    Next(Box<State>),
}

/// One state of a source: what it says, before anything is derived.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The version itself; its token counts are not yet known.
    pub source: Source,
    /// The retained text.
    pub text: String,
    /// The turns with their spans.
    pub turns: Vec<Turn>,
}

/// Decides what becomes of `draft`.
///
/// # Errors
/// The store's.
pub(crate) fn against(
    snapshot: &Snapshot,
    origin: &Origin,
    draft: &Draft,
    rights: Rights,
    now: Timestamp,
) -> Result<Outcome> {
    let id = origin.id();
    let Some(address) = snapshot.newest(&id) else {
        return Ok(Outcome::Next(Box::new(state(origin, draft, draft_turns(draft), 1, now)?)));
    };
    let previous = snapshot.source_at(address);
    let version = previous.version.saturating_add(1);
    if previous.state == SourceState::Deleted {
        if !rights.undelete {
            return Ok(Outcome::Refused);
        }
        return Ok(Outcome::Next(Box::new(state(origin, draft, draft_turns(draft), version, now)?)));
    }
    let alone = state(origin, draft, draft_turns(draft), version, now)?;
    if alone.source.digest == previous.digest || is_older_document(draft, previous) {
        return Ok(Outcome::Unchanged(Box::new(previous.clone())));
    }
    let is_mirror = rights.mirror && draft.is_complete;
    if is_mirror || previous.kind != draft.kind || matches!(draft.body, DraftBody::Text(_)) {
        return Ok(Outcome::Next(Box::new(alone)));
    }
    let (text, turns) = snapshot.said(address)?;
    let older = is_older(alone.source.exported_at, previous.exported_at);
    let stored = stored_turns(turns, &text, has_sessions(draft, turns));
    let union = if older { union(stored, draft_turns(draft)) } else { union(draft_turns(draft), stored) };
    let mut next = state(origin, draft, union, version, now)?;
    next.source.exported_at = if older { previous.exported_at } else { alone.source.exported_at };
    if older {
        next.source.title.clone_from(&previous.title);
    }
    next.source.n_replaced = draft.n_replaced.max(previous.n_replaced);
    if next.source.digest == previous.digest {
        return Ok(Outcome::Unchanged(Box::new(previous.clone())));
    }
    Ok(Outcome::Next(Box::new(next)))
}

/// Two drafts of one conversation, the first met first, as the one draft that is their union.
pub(crate) fn merge(first: Origin, held: Draft, second: Origin, draft: Draft) -> (Origin, Draft) {
    let (at_first, at_second) = (exported_at(&held), exported_at(&draft));
    let is_complete = held.is_complete && draft.is_complete;
    let n_replaced = held.n_replaced.max(draft.n_replaced);
    let is_second_older = is_older(at_second, at_first);
    let (origin, newer, older) = if is_second_older { (first, held, draft) } else { (second, draft, held) };
    let exported_at = if is_second_older { at_first } else { at_second.or(at_first) };
    let body = match (&newer.body, &older.body) {
        (DraftBody::Turns(_), DraftBody::Turns(_)) => DraftBody::Turns(union(draft_turns(&newer), draft_turns(&older))),
        _ => newer.body.clone(),
    };
    (origin, Draft { exported_at, is_complete, n_replaced, body, ..newer })
}

/// When a draft was exported: what it says, else its newest message.
fn exported_at(draft: &Draft) -> Option<Timestamp> {
    draft.exported_at.or_else(|| match &draft.body {
        DraftBody::Text(_) => None,
        DraftBody::Turns(turns) => turns.iter().filter_map(|turn| turn.said_at).max(),
    })
}

fn is_older(export: Option<Timestamp>, previous: Option<Timestamp>) -> bool {
    matches!((export, previous), (Some(export), Some(previous)) if export < previous)
}

fn is_older_document(draft: &Draft, previous: &Source) -> bool {
    matches!(draft.body, DraftBody::Text(_)) && is_older(draft.exported_at, previous.exported_at)
}

fn draft_turns(draft: &Draft) -> Vec<DraftTurn> {
    match &draft.body {
        DraftBody::Text(_) => Vec::new(),
        DraftBody::Turns(turns) => unique(turns),
    }
}

/// One turn an id: the last one's words at the first one's place.
fn unique(turns: &[DraftTurn]) -> Vec<DraftTurn> {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(turns.len());
    let mut out: Vec<DraftTurn> = Vec::with_capacity(turns.len());
    for turn in turns {
        match places.get(turn.id.as_str()) {
            Some(&place) => out[place] = turn.clone(),
            None => {
                places.insert(&turn.id, out.len());
                out.push(turn.clone());
            }
        }
    }
    out
}

/// Whether a conversation has the archive's own sessions: the draft names them, or those in the store
/// are not the ones that silences would make.
fn has_sessions(draft: &Draft, stored: &[Turn]) -> bool {
    if let DraftBody::Turns(turns) = &draft.body
        && turns.iter().any(|turn| turn.session.is_some())
    {
        return true;
    }
    let sessions = session::assign(&stored_turns(stored, "", false));
    stored.iter().zip(sessions).any(|(turn, session)| turn.session != session)
}

/// Reads turns back from the store as an archive would give them.
fn stored_turns(turns: &[Turn], text: &str, keeps_sessions: bool) -> Vec<DraftTurn> {
    turns
        .iter()
        .map(|turn| DraftTurn {
            id: turn.id.clone(),
            author: turn.author.clone(),
            role: turn.role,
            said_at: turn.said_at,
            origin: turn.said_at_origin,
            reply_to: turn.reply_to.clone(),
            session: keeps_sessions.then_some(turn.session),
            text: turn.span.slice(text).unwrap_or_default().to_owned(),
            metadata: turn.metadata.clone(),
        })
        .collect()
}

/// All of `main` in its order; what only `other` has stands after its predecessor there.
fn union(main: Vec<DraftTurn>, other: Vec<DraftTurn>) -> Vec<DraftTurn> {
    let known: HashSet<String> = main.iter().map(|turn| turn.id.clone()).collect();
    let mut followers: HashMap<Option<String>, Vec<DraftTurn>> = HashMap::new();
    let mut anchor = None;
    for turn in other {
        if known.contains(&turn.id) {
            anchor = Some(turn.id);
        } else {
            followers.entry(anchor.clone()).or_default().push(turn);
        }
    }
    let mut out = followers.remove(&None).unwrap_or_default();
    for turn in main {
        let id = Some(turn.id.clone());
        out.push(turn);
        out.extend(followers.remove(&id).unwrap_or_default());
    }
    out
}

fn state(origin: &Origin, draft: &Draft, turns: Vec<DraftTurn>, version: u32, now: Timestamp) -> Result<State> {
    let (text, turns) = match &draft.body {
        DraftBody::Text(text) => (text.clone(), Vec::new()),
        DraftBody::Turns(_) => lay_out(turns),
    };
    let newest = turns.iter().filter_map(|turn| turn.said_at).max();
    if u32::try_from(turns.len()).is_err() {
        return Err(Error::Invalid { what: "source", reason: "more than 2^32 turns".to_owned() });
    }
    Ok(State {
        source: Source {
            id: origin.id(),
            scope: origin.scope.clone(),
            reader: origin.reader.clone(),
            key: origin.key.clone(),
            title: draft.title.clone(),
            kind: draft.kind,
            version,
            state: SourceState::Live,
            digest: digest(&text, &turns, draft),
            collection: origin.collection.clone(),
            path: origin.path.clone(),
            exported_at: draft.exported_at.or(newest),
            recorded_at: now,
            n_tokens: 0,
            n_unknown: 0,
            n_replaced: draft.n_replaced,
            metadata: draft.metadata.clone(),
        },
        text,
        turns,
    })
}

/// Joins the bodies by one newline and says where each lies.
fn lay_out(drafts: Vec<DraftTurn>) -> (String, Vec<Turn>) {
    let sessions = session::assign(&drafts);
    let mut text = String::new();
    let mut turns = Vec::with_capacity(drafts.len());
    for (draft, session) in drafts.into_iter().zip(sessions) {
        if !turns.is_empty() {
            text.push('\n');
        }
        let start = text.len() as u64;
        text.push_str(&draft.text);
        turns.push(Turn {
            id: draft.id,
            author: draft.author,
            role: draft.role,
            said_at: draft.said_at,
            said_at_origin: if draft.said_at.is_some() { draft.origin } else { TimeOrigin::Unknown },
            reply_to: draft.reply_to,
            session,
            span: Span::new(start, text.len() as u64),
            metadata: draft.metadata,
        });
    }
    (text, turns)
}

/// What a version says, as one digest: equal ones need no new version.
fn digest(text: &str, turns: &[Turn], draft: &Draft) -> TextDigest {
    let mut hasher = IdHasher::new("strata source version v1").field(text.as_bytes());
    for (name, value) in &draft.metadata {
        hasher = hasher.field(name.as_bytes()).field(value.as_bytes());
    }
    for turn in turns {
        let time = turn.said_at.map_or([0; 8], |at| at.as_micros().to_le_bytes());
        hasher = hasher
            .field(turn.id.as_bytes())
            .field(turn.author.as_bytes())
            .field(turn.role.as_str().as_bytes())
            .field(turn.said_at_origin.as_str().as_bytes())
            .field(&time)
            .field(&turn.span.end.to_le_bytes())
            .field(turn.reply_to.as_deref().unwrap_or_default().as_bytes())
            .field(&(turn.metadata.len() as u64).to_le_bytes());
        for (name, value) in &turn.metadata {
            hasher = hasher.field(name.as_bytes()).field(value.as_bytes());
        }
    }
    TextDigest::from_bytes(hasher.finish())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use index::model::Role;

    use super::*;

    fn turns(ids: &str) -> Vec<DraftTurn> {
        ids.split_whitespace()
            .map(|id| DraftTurn {
                id: id.trim_end_matches('*').to_owned(),
                author: String::new(),
                role: Role::User,
                said_at: None,
                origin: TimeOrigin::Unknown,
                reply_to: None,
                session: None,
                text: id.to_owned(),
                metadata: BTreeMap::new(),
            })
            .collect()
    }

    fn check(main: &str, other: &str, expected: &str) {
        let texts: Vec<String> = union(turns(main), turns(other)).into_iter().map(|turn| turn.text).collect();
        assert_eq!(texts.join(" "), expected);
    }

    #[test]
    fn a_union_keeps_the_main_words_and_places_the_rest_after_their_predecessor() {
        check("a b* d", "a b c d e", "a b* c d e");
        check("c d", "a b", "a b c d");
        check("a b c", "x b y", "x a b y c");
        check("a", "", "a");
    }

    #[test]
    fn a_repeated_id_is_one_turn_with_the_last_words() {
        let texts: Vec<String> = unique(&turns("a b a*")).into_iter().map(|turn| turn.text).collect();
        assert_eq!(texts, ["a*", "b"]);
    }
}
