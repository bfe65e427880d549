//! Reads JSON and JSONL of messages that no other reader knows, by the names that most exports use.
//!
//! Two shapes: records that are conversations (they hold a list of messages) and records that are
//! messages (grouped by the conversation they name, else the file is one). A record without words is
//! named in the report. Surer readers come first; this one takes what is plainly a conversation.

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
        let mut file = File { input, n_records: 0, groups: HashMap::new(), order: Vec::new() };
        records::each_with(input, emit, &mut |record, emit| file.record(record, emit))?;
        let File { mut groups, order, .. } = file;
        for key in order {
            if let Some(chat) = groups.remove(&key) {
                emit(chat.finish(file_name(input.name), input.source_bytes_max))?;
            }
        }
        Ok(())
    }
}

struct File<'a> {
    input: &'a Input<'a>,
    n_records: u64,
    /// Conversations of messages that stand alone, by the key they name.
    groups: HashMap<Option<String>, Conversation>,
    order: Vec<Option<String>>,
}

impl File<'_> {
    fn record(&mut self, record: &Value<'_>, emit: &mut Emit<'_>) -> Result<()> {
        self.n_records += 1;
        let place = format!("record {}", self.n_records);
        let list = LISTS.iter().map(|list| field(record, list)).find(|list| !array(list).is_empty());
        let Some(list) = list else {
            let key = KEYS.iter().chain(&["conversation"]).find_map(|name| id(field(record, name)));
            if !self.groups.contains_key(&key) {
                self.order.push(key.clone());
            }
            let chat =
                self.groups.entry(key.clone()).or_insert_with(|| Conversation { key, ..Conversation::default() });
            return if say(record, chat) { Ok(()) } else { emit(Event::Trouble(no_message(place))) };
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
