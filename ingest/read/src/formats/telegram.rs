//! Reads Telegram Desktop's JSON exports: one chat, or a whole account with all its chats.
//!
//! Pulled message by message, so that an account of gigabytes costs its largest chat's text. A turn is a
//! message or a service event; an event, a sticker or a picture without words has no text, and what it
//! is stands in its metadata.
//!
//! Format: Telegram Desktop, export as machine-readable JSON.

use std::collections::BTreeMap;

use model::Role;

use super::records::{self, Stop};
use super::said::{Conversation, Said, derived_key, seconds, written};
use super::{Emit, Event, Head, Input, Reader, file_name};
use crate::decode::Trouble;
use crate::json::{Kind, Pull, Value, array, field, number, parse, text, whole_number};
use crate::seam::Result;

/// The reader of Telegram exports.
pub(super) struct Telegram;

/// Fields that say what is attached, and under which name it is kept.
const ATTACHED: &[&str] = &["photo", "file", "thumbnail", "contact_vcard"];

impl Reader for Telegram {
    fn name(&self) -> &'static str {
        "telegram"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        if shape.kind != Some(Kind::Object) || shape.has_lines {
            return 0;
        }
        // A chat at the top, or one in the list of an account's chats.
        let is_chat = |depth: u8| {
            let is_message = shape.has(depth + 2, "from_id")
                || shape.has(depth + 2, "actor_id")
                || shape.has(depth + 2, "text_entities");
            shape.has_all(depth, &["type", "id", "messages"])
                && (is_message || (shape.has(depth + 2, "date") && shape.has(depth + 2, "from")))
        };
        let is_account = shape.has(1, "chats") && (shape.has(1, "about") || shape.has(1, "personal_information"));
        if is_chat(1) || is_chat(4) || is_account { 95 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let mut n_chats = 0;
        let read = records::pull(input).and_then(|mut pull| {
            object(&mut pull, input, emit, &mut n_chats)?;
            Ok(pull.ended()?)
        });
        let is_whole = read.is_ok();
        records::settle(read, emit)?;
        if n_chats == 0 && is_whole {
            let reason = "no chat in it";
            emit(Event::Trouble(Trouble::new("", reason, "export with the chats chosen, as machine-readable JSON")))?;
        }
        Ok(())
    }
}

/// Reads the object that comes next: a chat, or something that holds chats.
fn object(
    pull: &mut Pull<'_>,
    input: &Input<'_>,
    emit: &mut Emit<'_>,
    n_chats: &mut u64,
) -> std::result::Result<(), Stop> {
    let mut chat = Conversation::default();
    let (mut is_chat, mut id, mut kind) = (false, None, None);
    pull.enter()?;
    while let Some(name) = pull.next_name()? {
        let next = pull.kind()?;
        match name.as_str() {
            "messages" if next == Some(Kind::Array) => {
                is_chat = true;
                // What was read of a chat before the damage goes in, with the archive's id if it was met.
                if let Err(stop) = chat.messages(pull, emit, say) {
                    chat.is_cut = true;
                    done(chat, id.as_deref(), kind.as_deref(), input, emit)?;
                    return Err(stop);
                }
            }
            "name" | "type" | "id" if next == Some(Kind::Other) => {
                let (_, bytes) = pull.bounded()?;
                let given = parse(bytes, &mut chat.n_replaced, |value| {
                    text(value).map(str::to_owned).or_else(|| whole_number(value).map(|number| number.to_string()))
                });
                match (name.as_str(), given.ok().flatten()) {
                    ("name", given) => chat.title = given,
                    ("id", given) => id = given,
                    (_, given) => kind = given,
                }
            }
            "chats" | "left_chats" if next == Some(Kind::Object) => object(pull, input, emit, n_chats)?,
            "list" if next == Some(Kind::Array) => {
                pull.enter()?;
                while pull.next_element()? {
                    match pull.kind()? {
                        Some(Kind::Object) => object(pull, input, emit, n_chats)?,
                        _ => pull.skip()?,
                    }
                }
            }
            _ => pull.skip()?,
        }
    }
    if is_chat {
        *n_chats += 1;
        done(chat, id.as_deref(), kind.as_deref(), input, emit)?;
    }
    Ok(())
}

fn done(
    mut chat: Conversation,
    id: Option<&str>,
    kind: Option<&str>,
    input: &Input<'_>,
    emit: &mut Emit<'_>,
) -> Result<()> {
    chat.key = Some(id.map_or_else(
        || derived_key(&["telegram", chat.title.as_deref().unwrap_or_default(), kind.unwrap_or_default()]),
        str::to_owned,
    ));
    chat.metadata.extend(kind.map(|kind| ("type".to_owned(), kind.to_owned())));
    emit(chat.finish(file_name(input.name), input.source_bytes_max))
}

fn say(message: &Value<'_>, chat: &mut Conversation) {
    let given = |name: &str| text(field(message, name));
    let is_service = given("type") == Some("service");
    let author = ["from", "actor", "from_id", "actor_id"].into_iter().find_map(given).unwrap_or_default();
    let (at, is_inferred) = match number(field(message, "date_unixtime")).and_then(seconds) {
        Some(at) => (Some(at), false),
        None => given("date").and_then(written).map_or((None, false), |(at, is_inferred)| (Some(at), is_inferred)),
    };
    let mut metadata = BTreeMap::new();
    for name in ["media_type", "action", "forwarded_from", "sticker_emoji", "via_bot", "edited", "title", "place_name"]
    {
        metadata.extend(given(name).map(|value| (name.to_owned(), value.to_owned())));
    }
    let attached: Vec<&str> = ATTACHED.iter().filter_map(|name| given(name)).collect();
    if !attached.is_empty() {
        metadata.insert("attachments".to_owned(), attached.join("\n"));
    }
    let id = whole_number(field(message, "id")).map(|id| id.to_string());
    let reply_to = whole_number(field(message, "reply_to_message_id")).map(|id| id.to_string());
    chat.say(Said {
        id: id.as_deref(),
        author,
        role: Some(if is_service { Role::System } else { Role::Unknown }),
        at,
        is_inferred,
        reply_to,
        text: &words(message),
        metadata,
    });
}

/// The words of a message: plain, in pieces of different looks, or the question of a poll.
fn words(message: &Value<'_>) -> String {
    let content = field(message, "text");
    let pieces: String =
        array(content).iter().filter_map(|piece| text(piece).or_else(|| text(field(piece, "text")))).collect();
    let words = text(content).map_or(pieces, str::to_owned);
    let poll = field(message, "poll");
    match text(field(poll, "question")) {
        Some(question) if words.is_empty() => {
            let answers = array(field(poll, "answers")).iter().filter_map(|answer| text(field(answer, "text")));
            [question].into_iter().chain(answers).collect::<Vec<_>>().join("\n")
        }
        _ => words,
    }
}
