//! Reads JSON and JSONL of messages that no other reader knows, by the names that most exports use.
//!
//! Two shapes: records that are conversations (they hold a list of messages) and records that are
//! messages (grouped by the conversation they name, else the file is one). A record without words is
//! named in the report. Of messages that stand alone no more are held than one source may have: the
//! conversation that was silent longest is handed on, and on again should it go on. Surer readers come first; this one takes what is plainly a conversation.

use std::collections::{BTreeMap, HashMap};

use model::{Role, Timestamp};

use super::said::{Conversation, Said, epoch, written};
use super::{Emit, Event, Head, Input, Reader, records};
use super::{file_name, role_named};
use crate::decode::Trouble;
use crate::json::{Kind, Value, array, field, number, object, text, whole_number};
use crate::seam::Result;

/// The reader of messages in JSON.
pub(super) struct Messages;

/// Names of the list of messages in a conversation.
const LISTS: &[&str] =
    &["messages", "conversation", "conversations", "turns", "chat", "dialog", "dialogue", "history", "steps"];
/// Names of who says something.
const AUTHORS: &[&str] = &["author", "sender", "from", "speaker", "user", "name", "username", "source"];
/// Names of what is said.
const WORDS: &[&str] = &["content", "text", "message", "body", "value"];
/// Names of when it was said.
const TIMES: &[&str] =
    &["timestamp", "time", "date", "created_at", "createdAt", "create_time", "created", "sent_at", "datetime", "ts"];
/// Names of a message's id.
const IDS: &[&str] = &["id", "message_id", "uuid", "msg_id"];
/// Names of a conversation's id.
const KEYS: &[&str] =
    &["conversation_id", "conversationId", "session_id", "sessionId", "thread_id", "chat_id", "channel_id"];
/// Names of the message that is answered.
const PARENTS: &[&str] = &["reply_to", "in_reply_to", "reply_to_id", "parent_id", "parent_message_id"];

impl Reader for Messages {
    fn name(&self) -> &'static str {
        "messages"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        if shape.kind.is_none() {
            return 0;
        }
        let depth = shape.record_depth();
        let is_message = |depth: u8| {
            let has = |names: &[&str]| names.iter().any(|name| shape.has(depth, name));
            has(WORDS) && (shape.has(depth, "role") || has(AUTHORS))
        };
        let is_list = LISTS.iter().any(|list| shape.has(depth, list)) && is_message(depth + 2);
        // One object alone is no list of messages.
        let is_many = shape.kind == Some(Kind::Array) || shape.has_lines;
        if is_list || (is_many && is_message(depth)) { 40 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let mut file = File { input, n_records: 0, groups: HashMap::new(), n_bytes: 0 };
        records::each_with(input, emit, &mut |record, emit| file.record(record, emit))?;
        let mut groups: Vec<Group> = file.groups.into_values().collect();
        groups.sort_unstable_by_key(|group| group.first);
        groups.into_iter().try_for_each(|group| emit(group.chat.finish(file_name(input.name), input.source_bytes_max)))
    }
}

struct File<'a> {
    input: &'a Input<'a>,
    n_records: u64,
    /// Conversations of messages that stand alone, by the key they name.
    groups: HashMap<Option<String>, Group>,
    /// Bytes of all of them.
    n_bytes: u64,
}

/// A conversation of messages that stand alone.
struct Group {
    chat: Conversation,
    /// The records of its first and of its last message.
    first: u64,
    last: u64,
}

impl File<'_> {
    fn record(&mut self, record: &Value<'_>, emit: &mut Emit<'_>) -> Result<()> {
        self.n_records += 1;
        let place = format!("record {}", self.n_records);
        let list = LISTS.iter().map(|list| field(record, list)).find(|list| !array(list).is_empty());
        let Some(list) = list else {
            let key = KEYS.iter().chain(&["conversation"]).find_map(|name| id(field(record, name)));
            let bytes_max = Some(self.input.source_bytes_max);
            let group = self.groups.entry(key.clone()).or_insert_with(|| Group {
                chat: Conversation { key, bytes_max, ..Conversation::default() },
                first: self.n_records,
                last: 0,
            });
            group.last = self.n_records;
            let n_before = group.n_held(self.input);
            if !say(record, &mut group.chat) {
                return emit(Event::Trouble(no_message(place)));
            }
            self.n_bytes = self.n_bytes - n_before + group.n_held(self.input);
            return self.hand_on(emit);
        };
        let key = KEYS.iter().chain(IDS).find_map(|name| id(field(record, name)));
        let mut chat = Conversation {
            part: key.is_none().then(|| self.n_records.to_string()),
            key,
            title: ["title", "name", "subject"]
                .into_iter()
                .find_map(|name| text(field(record, name)))
                .map(str::to_owned),
            exported_at: ["updated_at", "update_time"]
                .into_iter()
                .find_map(|name| time(field(record, name)))
                .map(|(at, _)| at),
            ..Conversation::default()
        };
        let n_bad = array(list).iter().filter(|message| !say(message, &mut chat)).count();
        if n_bad > 0 {
            chat.is_cut = true;
            let reason = format!("{n_bad} messages without words");
            emit(Event::Trouble(Trouble::new(&place, reason, "see docs/chat-jsonl.md for a format that says all")))?;
        }
        if chat.is_empty() {
            Ok(())
        } else {
            emit(chat.finish(file_name(self.input.name), self.input.source_bytes_max))
        }
    }
}

impl Group {
    /// Its bytes in memory: of one over the bound nothing is kept.
    fn n_held(&self, input: &Input<'_>) -> u64 {
        if self.chat.n_bytes > input.source_bytes_max { 0 } else { self.chat.n_bytes }
    }
}

impl File<'_> {
    /// Hands on the conversations that were silent longest while more is held than a source may have.
    fn hand_on(&mut self, emit: &mut Emit<'_>) -> Result<()> {
        if self.n_bytes <= self.input.source_bytes_max || self.groups.len() < 2 {
            return Ok(());
        }
        // Half of them at once: of many small ones each would be looked for anew.
        let mut keys: Vec<(u64, Option<String>)> =
            self.groups.iter().map(|(key, group)| (group.last, key.clone())).collect();
        keys.sort_unstable();
        keys.truncate(keys.len() / 2);
        for (_, key) in keys {
            if let Some(group) = self.groups.remove(&key) {
                self.n_bytes -= group.n_held(self.input);
                emit(group.chat.finish(file_name(self.input.name), self.input.source_bytes_max))?;
            }
        }
        Ok(())
    }
}

fn no_message(place: String) -> Trouble {
    Trouble::new(place, "no message: it has no words", "see docs/chat-jsonl.md for a format that says all")
}

/// Says a message; whether it was one. One with nothing in the place of its words, as where a tool is
/// called, is one without being a turn.
fn say(message: &Value<'_>, chat: &mut Conversation) -> bool {
    let Some(words) = WORDS.iter().find_map(|name| words(field(message, name))) else {
        return object(message).any(|(name, _)| WORDS.contains(&name));
    };
    let person = AUTHORS.iter().map(|name| field(message, name)).find(|person| **person != Value::Null);
    let person = person.unwrap_or(&Value::Null);
    let author = text(person).or_else(|| {
        ["display_name", "displayName", "name", "username", "id"].into_iter().find_map(|name| text(field(person, name)))
    });
    let given = text(field(message, "role")).or_else(|| text(field(person, "role"))).or(author).unwrap_or_default();
    let role = role_of(given);
    let at = TIMES.iter().find_map(|name| time(field(message, name)));
    chat.say(Said {
        id: IDS.iter().find_map(|name| id(field(message, name))).as_deref(),
        author: author.filter(|author| role_of(author) == Role::Unknown).unwrap_or_default(),
        role: Some(role),
        at: at.map(|(at, _)| at),
        is_inferred: at.is_some_and(|(_, is_inferred)| is_inferred),
        reply_to: PARENTS.iter().find_map(|name| id(field(message, name))),
        text: &words,
        metadata: BTreeMap::new(),
    });
    true
}

fn role_of(name: &str) -> Role {
    if name.eq_ignore_ascii_case("gpt") { Role::Assistant } else { role_named(name) }
}

/// The words of a content: a text, a list of texts or blocks, or an object that holds one.
fn words(content: &Value<'_>) -> Option<String> {
    if let Some(words) = text(content) {
        return Some(words.to_owned());
    }
    let list = if array(content).is_empty() { array(field(content, "parts")) } else { array(content) };
    let blocks: Vec<&str> =
        list.iter().filter_map(|block| text(block).or_else(|| text(field(block, "text")))).collect();
    if blocks.is_empty() {
        ["text", "content"].into_iter().find_map(|name| text(field(content, name))).map(str::to_owned)
    } else {
        Some(blocks.join("\n"))
    }
}

fn id(value: &Value<'_>) -> Option<String> {
    text(value).map(str::to_owned).or_else(|| whole_number(value).map(|number| number.to_string()))
}

fn time(value: &Value<'_>) -> Option<(Timestamp, bool)> {
    text(value).and_then(written).or_else(|| number(value).and_then(epoch).map(|at| (at, false)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::DraftBody;
    use super::*;
    use crate::archive::Part;

    /// The conversations of `messages` (key, words) as they are handed on: key and words.
    fn read(messages: &[(&str, &str)], bytes_max: u64) -> Vec<String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for (key, words) in messages {
            writeln!(file, r#"{{"chat_id":"{key}","role":"user","content":"{words}"}}"#).unwrap();
        }
        let parts = [Part::file("a.jsonl", file.path(), file.path().metadata().unwrap().len())];
        let input = Input::new(&parts, "a.jsonl", bytes_max);
        let mut out = Vec::new();
        let mut emit = |event| {
            out.push(match event {
                Event::Draft(draft) => {
                    let DraftBody::Turns(turns) = draft.body else { panic!() };
                    let words: Vec<String> = turns.into_iter().map(|turn| turn.text).collect();
                    format!("{}: {}", draft.key.unwrap_or_default(), words.join(" "))
                }
                Event::Trouble(trouble) => trouble.reason,
                Event::Aside => "aside".to_owned(),
            });
            Ok(())
        };
        Messages.read(&input, &mut emit).unwrap();
        out
    }

    #[test]
    fn no_more_is_held_than_a_source_may_have() {
        let messages = [("a", "one"), ("b", "two"), ("a", "three"), ("c", "four"), ("a", "five")];
        assert_eq!(read(&messages, 1 << 20), ["a: one three five", "b: two", "c: four"]);
        assert_eq!(read(&messages, 220), ["b: two", "c: four", "a: one three five"]);
    }

    #[test]
    fn a_conversation_over_the_bound_is_told_and_its_neighbours_go_in() {
        let long = "x".repeat(60);
        let messages = [("a", long.as_str()), ("a", &long), ("b", "one"), ("a", "two"), ("b", "three")];
        assert_eq!(read(&messages, 220), ["315 bytes, a source holds at most 220", "b: one three"]);
    }
}
