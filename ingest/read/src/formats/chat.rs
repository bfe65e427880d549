//! Reads chat JSONL: one message a line, one source a conversation (docs/chat-jsonl.md).
//!
//! Two passes: the first notes where each conversation's lines lie, the second reads one conversation
//! at a time by seeking. So conversations may interleave and only the largest one is ever in memory.
//! Lines end in `\n` only; U+2028 and U+0085 are characters of a text.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use model::{SourceKind, TimeOrigin, Timestamp};
use serde_json::Value;

use super::chat_line::{self, text_of};
use super::{DerivedIds, Draft, DraftBody, DraftTurn, Emit, Event, Head, Input, Reader};
use super::{extension, file_name, role_named, too_large};
use crate::decode::Trouble;
use crate::files::unreadable;
use crate::json::{Line, Lines};
use crate::seam::Result;

/// The reader of chat JSONL.
pub(super) struct Chat;

/// What a bad line's report says to do.
const HINT: &str = "see docs/chat-jsonl.md; mend the line and import again";
/// So many bad lines are named where they stand before the first message.
const HELD_MAX: usize = 1000;
/// A title is at most so many characters of the first message.
const TITLE_CHARS_MAX: usize = 80;

impl Reader for Chat {
    fn name(&self) -> &'static str {
        "chat"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let is_jsonl = matches!(extension(head.name).as_str(), "jsonl" | "ndjson");
        let bytes = head.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head.bytes);
        // The first lines that parse decide: a bad first line must not lose the others.
        for line in bytes.split(|&byte| byte == b'\n').take(20) {
            let Ok(Value::Object(object)) = serde_json::from_slice::<Value>(line) else { continue };
            if object.contains_key("strata_chat") {
                return 100;
            }
            let is_message = object.get("text").is_some_and(Value::is_string)
                && ["conversation", "author", "role"].iter().any(|key| object.contains_key(*key));
            if is_message {
                return if is_jsonl { 95 } else { 60 };
            }
        }
        if is_jsonl { 10 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        // Read twice, and out of order: an entry of an archive is copied to a file first.
        let opened = input.backing().and_then(|backing| Ok((backing.open()?, backing)));
        let (file, _backing) = match opened {
            Ok(opened) => opened,
            Err(error) => return emit(Event::Trouble(unreadable(&error))),
        };
        let mut lines = Lines::new(&file, input.source_bytes_max);
        let mut places = Places::default();
        let mut is_complete = true;
        // Lines before the first message wait: where there is none, the file is something else, in one line.
        let mut held: Vec<Trouble> = Vec::new();
        let mut n_bad = 0_u64;
        loop {
            match lines.next() {
                Err(error) => return emit(Event::Trouble(unreadable(&error))),
                Ok(None) => break,
                Ok(Some(line)) => {
                    if let Err(trouble) = places.note(&line, input.source_bytes_max) {
                        // A bad line does not say whose it is: no conversation of this file is complete.
                        is_complete = false;
                        n_bad += 1;
                        if places.conversations.is_empty() && held.len() < HELD_MAX {
                            held.push(trouble);
                        } else if !places.conversations.is_empty() {
                            emit(Event::Trouble(trouble))?;
                        }
                    } else if !places.conversations.is_empty() {
                        held.drain(..).try_for_each(|trouble| emit(Event::Trouble(trouble)))?;
                    }
                }
            }
        }
        if places.conversations.is_empty() {
            // The whole file is named, not a line: a mirror must know that nothing of it was read.
            let first = held.first().map(|first| format!(": {}, {}", first.place, first.reason)).unwrap_or_default();
            let more = if n_bad > 1 { format!(", and {} more lines", n_bad - 1) } else { String::new() };
            let trouble = Trouble::new("", format!("no message in it{first}{more}"), HINT);
            return emit(Event::Trouble(trouble));
        }
        let mut file = &file;
        for (key, place) in &places.conversations {
            if place.n_bytes > input.source_bytes_max {
                let name = key.as_deref().unwrap_or(input.name);
                let at = format!("conversation {name}");
                emit(Event::Trouble(too_large(&at, place.n_bytes, input.source_bytes_max)))?;
                continue;
            }
            match conversation(&mut file, place) {
                Ok((turns, n_replaced)) => {
                    let exported_at = places.exported_at;
                    let draft = draft(input, key.clone(), turns);
                    emit(Event::Draft(Draft { exported_at, is_complete, n_replaced, ..draft }))?;
                }
                Err(error) => emit(Event::Trouble(unreadable(&error)))?,
            }
        }
        Ok(())
    }
}

fn draft(input: &Input<'_>, key: Option<String>, turns: Vec<DraftTurn>) -> Draft {
    let title = title(&turns, key.as_deref().unwrap_or(file_name(input.name)));
    Draft { key, ..Draft::new(title, SourceKind::Conversation, DraftBody::Turns(turns)) }
}

fn title(turns: &[DraftTurn], otherwise: &str) -> String {
    let first = turns.iter().map(|turn| turn.text.trim()).find(|text| !text.is_empty());
    let line = first.and_then(|text| text.lines().next()).unwrap_or(otherwise);
    match line.char_indices().nth(TITLE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line.to_owned(),
    }
}

/// Where one conversation's lines lie.
#[derive(Default)]
struct Place {
    lines: Vec<(u64, u32)>,
    n_bytes: u64,
}

/// Where every conversation's lines lie, in the order of their first lines.
#[derive(Default)]
struct Places {
    exported_at: Option<Timestamp>,
    by_key: HashMap<Option<String>, usize>,
    conversations: Vec<(Option<String>, Place)>,
}

impl Places {
    fn note(&mut self, line: &Line, bytes_max: u64) -> std::result::Result<(), Trouble> {
        let at = format!("line {}", line.n);
        if line.n_bytes > bytes_max {
            return Err(too_large(&at, line.n_bytes, bytes_max));
        }
        let json = text_of(&line.bytes).map_err(|reason| Trouble::new(&at, reason, HINT))?;
        if json.trim().is_empty() {
            return Ok(());
        }
        let header = if line.n == 1 { chat_line::header(&json) } else { None };
        if let Some(header) = header {
            self.exported_at = header.map_err(|reason| Trouble::new(&at, reason, HINT))?.exported_at;
            return Ok(());
        }
        let message = chat_line::message(&json).map_err(|reason| Trouble::new(&at, reason, HINT))?;
        let key = message.conversation;
        let n_bytes = u32::try_from(line.bytes.len()).map_err(|_| too_large(&at, line.n_bytes, u64::from(u32::MAX)))?;
        let next = self.conversations.len();
        let idx = *self.by_key.entry(key.clone()).or_insert(next);
        if idx == next {
            self.conversations.push((key, Place::default()));
        }
        let place = &mut self.conversations[idx].1;
        place.lines.push((line.offset, n_bytes));
        place.n_bytes += u64::from(n_bytes);
        Ok(())
    }
}

/// Reads one conversation's lines again. Lines that are bad were reported by the first pass.
fn conversation(file: &mut &File, place: &Place) -> io::Result<(Vec<DraftTurn>, u64)> {
    let mut turns = Vec::with_capacity(place.lines.len());
    let mut ids = DerivedIds::default();
    let mut n_replaced = 0;
    let mut bytes = Vec::new();
    for &(offset, n_bytes) in &place.lines {
        file.seek(SeekFrom::Start(offset))?;
        bytes.resize(n_bytes as usize, 0);
        file.read_exact(&mut bytes)?;
        let Ok(message) = text_of(&bytes).and_then(|json| chat_line::message(&json)) else { continue };
        n_replaced += message.n_replaced;
        turns.push(turn(message, &mut ids));
    }
    Ok((turns, n_replaced))
}

fn turn(message: chat_line::Message, ids: &mut DerivedIds) -> DraftTurn {
    let author = message.author.unwrap_or_default();
    let role = role_named(message.role.as_deref().unwrap_or_default());
    let said_at = message.time;
    DraftTurn {
        id: message.id.unwrap_or_else(|| ids.next(&author, role, said_at, &message.text)),
        author,
        role,
        said_at,
        origin: if said_at.is_some() { TimeOrigin::Given } else { TimeOrigin::Unknown },
        reply_to: message.reply_to,
        session: None,
        text: message.text,
        metadata: message.metadata,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::archive::Part;

    fn read(bytes: &[u8]) -> (Vec<Draft>, Vec<Trouble>) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let (mut drafts, mut troubles) = (Vec::new(), Vec::new());
        let parts = [Part::file("a.jsonl", file.path(), bytes.len() as u64)];
        let input = Input::new(&parts, "a.jsonl", 1000);
        let mut emit = |event| {
            match event {
                Event::Draft(draft) => drafts.push(draft),
                Event::Trouble(trouble) => troubles.push(trouble),
                Event::Aside => {}
            }
            Ok(())
        };
        Chat.read(&input, &mut emit).unwrap();
        (drafts, troubles)
    }

    #[test]
    fn a_line_over_the_bound_is_skipped_and_the_next_is_read() {
        let long = format!("{{\"text\":\"{}\"}}\n{{\"text\":\"ok\"}}", "x".repeat(2000));
        let (drafts, troubles) = read(long.as_bytes());
        assert_eq!((drafts.len(), troubles.len()), (1, 1));
        assert_eq!(troubles[0].place, "line 1");
    }

    #[test]
    fn line_separators_belong_to_texts() {
        let (drafts, troubles) = read("{\"conversation\":1,\"text\":\"a\u{2028}b\u{85}c\"}\r\n".as_bytes());
        assert!(troubles.is_empty());
        let DraftBody::Turns(turns) = &drafts[0].body else { panic!() };
        assert_eq!(turns[0].text, "a\u{2028}b\u{85}c");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
        }

        #[test]
        fn any_json_like_lines_are_read_without_panic(
            lines in proptest::collection::vec(r#"\{"(text|id|time)":("[a-z\\]{0,5}"|[0-9]|\{\}|null)[,}]{0,2}"#, 0..8)
        ) {
            let _ = read(lines.join("\n").as_bytes());
        }
    }
}
