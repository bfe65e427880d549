//! What a mirrored import may remove: only what every file it should have seen would have shown.
//!
//! A mirror compares the whole import with the store, never one file with it. So a conversation that
//! lies in several drafts of the import is gathered first ([`Parts`]): its union, in which the newest
//! export decides, replaces what is stored, and the same import again finds just that union there.
//! The drafts are counted by reading the archive once beforehand; held are only conversations that
//! are still to be met again, and never more than a bound.

use std::collections::{HashMap, HashSet};

use index::Snapshot;
use index::model::{Scope, Source, SourceId, SourceState};

use crate::version::{Origin, merge};
use read::Trouble;
use read::{Draft, DraftBody, DraftTurn};

/// Conversations that wait for their other drafts hold at most so many bytes.
const HELD_BYTES_MAX: u64 = 256 << 20;

/// What becomes of a draft that was handed to [`Parts`].
#[derive(Debug)]
pub(crate) enum Part {
    /// More of it comes later in the import.
    Held,
    /// All that the import has of it.
    Whole(Box<(Origin, Draft)>),
    /// Held no longer, for want of room: it is not all that the import has.
    Crowded(Box<(Origin, Draft)>),
}

/// The conversations that lie in several drafts of one import.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Drafts that are still to come.
    n_left: HashMap<SourceId, u32>,
    held: HashMap<SourceId, (Origin, Draft)>,
    n_bytes: u64,
    n_bytes_max: u64,
}

impl Default for Parts {
    fn default() -> Self {
        Self { n_left: HashMap::new(), held: HashMap::new(), n_bytes: 0, n_bytes_max: HELD_BYTES_MAX }
    }
}

impl Parts {
    /// Counts one draft, before any is taken.
    pub fn count(&mut self, id: SourceId) {
        *self.n_left.entry(id).or_insert(0) += 1;
    }

    /// Everything was counted: what has one draft needs no place here.
    pub fn counted(&mut self) {
        self.n_left.retain(|_, n| *n > 1);
        self.n_left.shrink_to_fit();
    }

    /// Takes a draft together with what is held of it.
    pub fn take(&mut self, origin: Origin, draft: Draft) -> Part {
        let id = origin.id();
        let Some(n_left) = self.n_left.get_mut(&id) else {
            return Part::Whole(Box::new((origin, draft)));
        };
        *n_left -= 1;
        let is_last = *n_left == 0;
        let (origin, mut draft) = match self.held.remove(&id) {
            Some((held_origin, held)) => {
                self.n_bytes -= n_bytes(&held);
                merge(held_origin, held, origin, draft)
            }
            None => (origin, draft),
        };
        if is_last {
            self.n_left.remove(&id);
            return Part::Whole(Box::new((origin, draft)));
        }
        let n_bytes = n_bytes(&draft);
        if self.n_bytes + n_bytes > self.n_bytes_max {
            self.n_left.remove(&id);
            draft.is_complete = false;
            return Part::Crowded(Box::new((origin, draft)));
        }
        self.n_bytes += n_bytes;
        self.held.insert(id, (origin, draft));
        Part::Held
    }

    /// What still waits at the end: files changed between counting and reading, so nothing of it is all.
    pub fn rest(&mut self) -> Vec<(Origin, Draft)> {
        self.n_left.clear();
        self.n_bytes = 0;
        let mut rest: Vec<(Origin, Draft)> = std::mem::take(&mut self.held).into_values().collect();
        rest.sort_by(|(a, _), (b, _)| (&a.reader, &a.key).cmp(&(&b.reader, &b.key)));
        rest.iter_mut().for_each(|(_, draft)| draft.is_complete = false);
        rest
    }
}

/// What a draft takes in memory, roughly.
fn n_bytes(draft: &Draft) -> u64 {
    let n_bytes = match &draft.body {
        DraftBody::Text(text) => text.len(),
        DraftBody::Turns(turns) => {
            turns.iter().map(|turn| turn.text.len() + turn.id.len() + size_of::<DraftTurn>()).sum()
        }
    };
    n_bytes as u64
}

/// The trouble of a conversation that did not fit beside the others.
pub(crate) fn crowded(key: &str) -> Trouble {
    Trouble::new(
        format!("conversation {key}"),
        "in several files of this import, and too much waits to be compared: nothing of it was removed",
        "import fewer files at once with --mirror, for example one folder at a time",
    )
}

/// The trouble of an argument under which no file was found.
pub(crate) fn nothing_found(label: &str) -> Trouble {
    Trouble::new(
        "",
        format!("no file in it: nothing of collection {label} was removed"),
        "check that its disk is mounted; to remove sources on purpose: strata delete",
    )
}

/// The trouble of an argument that is not there.
pub(crate) fn missing(is_mirror: bool, collection: Option<&str>) -> Trouble {
    match collection {
        Some(label) if is_mirror => Trouble::new(
            "",
            format!("does not exist: nothing of collection {label} was removed"),
            "check the path and that its disk is mounted",
        ),
        _ => Trouble::new("", "does not exist", "check the path and that its disk is mounted"),
    }
}

/// The live sources under `labels` that an import did not meet, but for those of what it could not read.
pub(crate) fn gone(
    snapshot: &Snapshot,
    scope: &Scope,
    labels: &[String],
    seen: &HashSet<SourceId>,
    unread: &[String],
) -> Vec<Source> {
    let is_unread = |source: &Source| {
        unread.iter().any(|path| {
            let below = source.path.strip_prefix(path.as_str());
            path.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '!']))
        })
    };
    let mut gone = Vec::new();
    for (number, segment) in (0..).zip(snapshot.segments()) {
        for (row, source) in (0..).zip(segment.sources()) {
            let is_gone = source.scope == *scope
                && source.state == SourceState::Live
                && labels.contains(&source.collection)
                && !seen.contains(&source.id)
                && snapshot.is_current(number, row);
            if is_gone && !is_unread(source) {
                gone.push(source.clone());
            }
        }
    }
    gone
}

#[cfg(test)]
mod tests {

    use index::model::SourceKind;

    use super::*;

    fn draft(key: &str) -> (Origin, Draft) {
        let origin = Origin {
            file: String::new(),
            scope: Scope::local(),
            reader: "chat".to_owned(),
            key: key.to_owned(),
            collection: String::new(),
            path: String::new(),
        };
        let body = DraftBody::Turns(Vec::new());
        let draft = Draft { key: Some(key.to_owned()), ..Draft::new("", SourceKind::Conversation, body) };
        (origin, draft)
    }

    fn take(parts: &mut Parts, key: &str) -> Part {
        let (origin, draft) = draft(key);
        parts.take(origin, draft)
    }

    fn counted(keys: &[&str]) -> Parts {
        let mut parts = Parts::default();
        keys.iter().for_each(|key| parts.count(draft(key).0.id()));
        parts.counted();
        parts
    }

    #[test]
    fn only_what_is_met_again_waits() {
        let mut parts = counted(&["a", "b", "a"]);
        assert!(matches!(take(&mut parts, "a"), Part::Held));
        assert!(matches!(take(&mut parts, "b"), Part::Whole(_)));
        let Part::Whole(whole) = take(&mut parts, "a") else { panic!() };
        assert!(whole.1.is_complete && parts.rest().is_empty());
    }

    #[test]
    fn what_never_comes_or_finds_no_room_is_not_complete() {
        let mut parts = counted(&["a", "a"]);
        take(&mut parts, "a");
        let rest = parts.rest();
        assert!(rest.len() == 1 && !rest[0].1.is_complete);
        let mut parts = counted(&["a", "a"]);
        let (origin, mut big) = draft("a");
        parts.n_bytes_max = 10;
        big.body = DraftBody::Text("more than ten bytes".to_owned());
        let Part::Crowded(part) = parts.take(origin, big) else { panic!() };
        assert!(!part.1.is_complete);
    }
}
