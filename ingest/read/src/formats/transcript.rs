//! Reads transcripts: text whose turns begin with `User:`, `Assistant:` or a name.
//!
//! A turn runs to the next prefix. Where the first prefix is a role, only roles are prefixes, so that
//! an answer may hold `Note:`; otherwise every name that comes twice is one. A turn's id is the
//! digest of who says what for the n-th time, so that a longer copy of the text is a union with it.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use model::{Role, SourceKind, TimeOrigin};
use regex::Regex;

use super::{DerivedIds, Draft, DraftBody, DraftTurn, Emit, Event, Head, Input, Reader};
use super::{extension, file_name, role_named, whole};
use crate::decode::Trouble;
use crate::seam::Result;

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static PREFIX: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\*\*|__)?(\p{Lu}[\p{L}\p{N}.'’_-]*(?: [\p{L}\p{N}.'’_-]+){0,2})(?:\*\*|__)?:(?:\*\*|__)?(?:\s+|$)")
        .unwrap()
});

/// Words that stand before a colon without speaking.
const NO_SPEAKERS: &[&str] = &[
    "note",
    "warning",
    "tip",
    "todo",
    "example",
    "examples",
    "subject",
    "from",
    "to",
    "date",
    "cc",
    "re",
    "summary",
    "title",
    "author",
    "version",
    "name",
    "description",
    "usage",
    "see",
    "see also",
    "license",
    "source",
    "answer",
    "question",
    "step",
    "error",
    "info",
    "debug",
    "warn",
    "output",
    "input",
    "result",
];
/// A conversation has no more speakers than this, or it is something else.
const SPEAKERS_MAX: usize = 32;

/// The reader of transcripts.
pub(super) struct Transcript;

impl Reader for Transcript {
    fn name(&self) -> &'static str {
        "transcript"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        if !matches!(extension(head.name).as_str(), "txt" | "text" | "log" | "transcript" | "") {
            return 0;
        }
        let head = String::from_utf8_lossy(head.bytes);
        let speakers = speakers(&head);
        let n_turns: u32 = speakers.values().sum();
        let n_paragraphs = head.split("\n\n").filter(|p| !p.trim().is_empty()).count();
        let dense = u64::from(n_turns) * 2 >= n_paragraphs as u64;
        if speakers.len() >= 2 && n_turns >= 2 && dense { 70 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let decoded = match whole(input) {
            Ok(decoded) => decoded,
            Err(trouble) => return emit(Event::Trouble(trouble)),
        };
        let turns = turns(&decoded.text);
        if turns.is_empty() {
            return emit(Event::Trouble(Trouble::new(
                "line 1",
                "no turn begins with User:, Assistant: or a name",
                "import it as text with --format text",
            )));
        }
        emit(Event::Draft(Draft {
            n_replaced: decoded.n_replaced,
            metadata: decoded.metadata(),
            remarks: decoded.remarks(),
            ..Draft::new(file_name(input.name), SourceKind::Conversation, DraftBody::Turns(turns))
        }))
    }
}

/// The speakers of a text with how often each begins a line; empty where it is no transcript.
fn speakers(text: &str) -> HashMap<&str, u32> {
    let mut counts: HashMap<&str, u32> = HashMap::new();
    let mut first_is_role = None;
    for line in text.split('\n') {
        let Some(name) = prefix(line) else {
            // Prose before the first speaker: it is not a transcript from the start.
            if first_is_role.is_none() && !line.trim().is_empty() {
                return HashMap::new();
            }
            continue;
        };
        first_is_role.get_or_insert_with(|| role_named(name) != Role::Unknown);
        *counts.entry(name).or_insert(0) += 1;
    }
    if first_is_role == Some(true) {
        counts.retain(|name, _| role_named(name) != Role::Unknown);
    } else {
        counts.retain(|name, n| *n >= 2 && !NO_SPEAKERS.contains(&name.to_lowercase().as_str()));
    }
    if counts.len() > SPEAKERS_MAX {
        counts.clear();
    }
    counts
}

fn prefix(line: &str) -> Option<&str> {
    PREFIX.captures(line)?.get(1).map(|name| name.as_str())
}

fn turns(text: &str) -> Vec<DraftTurn> {
    let speakers = speakers(text);
    let mut ids = DerivedIds::default();
    let mut turns: Vec<DraftTurn> = Vec::new();
    let mut open: Option<(&str, String)> = None;
    for line in text.split('\n') {
        match prefix(line).filter(|name| speakers.contains_key(name)) {
            Some(name) => {
                close(open.take(), &mut ids, &mut turns);
                let body = PREFIX.find(line).map_or("", |found| &line[found.end()..]);
                open = Some((name, body.to_owned()));
            }
            None => {
                if let Some((_, body)) = &mut open {
                    body.push('\n');
                    body.push_str(line);
                }
            }
        }
    }
    close(open, &mut ids, &mut turns);
    turns
}

fn close(open: Option<(&str, String)>, ids: &mut DerivedIds, turns: &mut Vec<DraftTurn>) {
    let Some((name, body)) = open else { return };
    let text = body.trim().to_owned();
    if text.is_empty() {
        return;
    }
    let role = role_named(name);
    turns.push(DraftTurn {
        id: ids.next(name, role, None, &text),
        author: name.to_owned(),
        role,
        said_at: None,
        origin: TimeOrigin::Unknown,
        reply_to: None,
        session: None,
        text,
        metadata: BTreeMap::new(),
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_answer_may_hold_a_note() {
        let turns = turns("User: how?\nAssistant: so.\nNote: twice\nNote: twice\nUser: ok");
        assert_eq!(turns.len(), 3);
        assert_eq!(turns[1].text, "so.\nNote: twice\nNote: twice");
    }

    #[test]
    fn prose_with_a_colon_is_no_transcript() {
        let sure = |text: &str| Transcript.recognises(&Head::new(text.as_bytes(), "a.txt"));
        assert_eq!(sure("Ingredients: flour.\nThen bake.\n\nNote: hot.\nNote: hot."), 0);
        assert!(sure("Ana: hi\nBo: hi\nAna: bye\nBo: bye") > 0);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "(?s).{0,200}", names in "(Ana|Bo|User|AI): ?\\PC{0,10}\n") {
            let _ = turns(&text);
            let _ = turns(&format!("{names}{text}\n{names}"));
        }
    }
}
