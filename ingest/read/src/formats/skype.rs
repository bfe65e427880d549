//! Reads the export that Skype and the personal Microsoft Teams give: `messages.json` of an account.
//!
//! A source is a conversation, its messages pulled one by one, oldest first. A message is a snippet of
//! HTML; what it quotes is not its author's, and stands in the metadata. Calls, changes of a topic or of
//! members are events of the conversation.
//!
//! Format: Microsoft's account export, `conversations[].MessageList[]`.

use std::collections::BTreeMap;

use model::Role;

use super::records::{self, Stop};
use super::said::{Conversation, Said, written};
use super::snippet::{Piece, Plain, attribute, pieces, tag_name};
use super::{Emit, Event, Head, Input, Reader, file_name};
use crate::decode::Trouble;
use crate::json::{Kind, Pull, Value, field, parse, text};
use crate::seam::Result;

/// The reader of Skype's and Teams' export.
pub(super) struct Skype;

impl Reader for Skype {
    fn name(&self) -> &'static str {
        "skype"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        let is_account = shape.has(1, "conversations") && shape.has(3, "MessageList");
        let is_empty = shape.has_all(1, &["userId", "exportDate", "conversations"]);
        if (is_account || is_empty) && !shape.has_lines { 95 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let mut n_chats = 0;
        let read = records::pull(input).and_then(|mut pull| account(&mut pull, input, emit, &mut n_chats));
        let is_whole = read.is_ok();
        records::settle(read, emit)?;
        if n_chats == 0 && is_whole {
            emit(Event::Trouble(Trouble::new("", "no conversation in it", "export again with the chats chosen")))?;
        }
        Ok(())
    }
}

fn account(
    pull: &mut Pull<'_>,
    input: &Input<'_>,
    emit: &mut Emit<'_>,
    n_chats: &mut u64,
) -> std::result::Result<(), Stop> {
    let mut exported_at = None;
    pull.enter()?;
    while let Some(name) = pull.next_name()? {
        match name.as_str() {
            "exportDate" if pull.kind()? == Some(Kind::Other) => {
                let (_, bytes) = pull.bounded()?;
                exported_at = parse(bytes, &mut 0, |value| text(value).and_then(written)).ok().flatten();
            }
            "conversations" if pull.kind()? == Some(Kind::Array) => {
                pull.enter()?;
                while pull.next_element()? {
                    if pull.kind()? != Some(Kind::Object) {
                        pull.skip()?;
                        continue;
                    }
                    *n_chats += 1;
                    let mut chat =
                        Conversation { exported_at: exported_at.map(|(at, _)| at), ..Conversation::default() };
                    let read = conversation(pull, &mut chat, emit);
                    chat.is_cut |= read.is_err();
                    // Microsoft writes the newest first.
                    if chat.turns.first().map(|turn| turn.said_at) > chat.turns.last().map(|turn| turn.said_at) {
                        chat.reverse();
                    }
                    chat.sort_by_time();
                    emit(chat.finish(file_name(input.name), input.source_bytes_max))?;
                    read?;
                }
            }
            _ => pull.skip()?,
        }
    }
    Ok(())
}

fn conversation(pull: &mut Pull<'_>, chat: &mut Conversation, emit: &mut Emit<'_>) -> std::result::Result<(), Stop> {
    pull.enter()?;
    let mut topic = None;
    while let Some(name) = pull.next_name()? {
        let next = pull.kind()?;
        match name.as_str() {
            "id" | "displayName" if next == Some(Kind::Other) => {
                let (_, bytes) = pull.bounded()?;
                let given = parse(bytes, &mut chat.n_replaced, |value| text(value).map(str::to_owned)).ok().flatten();
                if name == "id" { chat.key = given } else { chat.title = given }
            }
            "threadProperties" if next == Some(Kind::Object) => {
                let (_, bytes) = pull.bounded()?;
                let given = |value: &Value<'_>| text(field(value, "topic")).map(str::to_owned);
                topic = parse(bytes, &mut chat.n_replaced, given).ok().flatten();
            }
            "MessageList" if next == Some(Kind::Array) => chat.messages(pull, emit, say)?,
            _ => pull.skip()?,
        }
    }
    let named = topic.or_else(|| chat.key.as_deref().map(|key| bare(key).to_owned()));
    chat.title = chat.title.take().or(named);
    Ok(())
}

/// An account's name without the mark of the network it is on: `ana` of `8:ana`.
fn bare(id: &str) -> &str {
    match id.split_once(':') {
        Some((mark, name)) if mark.len() <= 2 && mark.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => id,
    }
}

fn say(message: &Value<'_>, chat: &mut Conversation) {
    let given = |name: &str| text(field(message, name));
    let kind = given("messagetype").unwrap_or("Text");
    let from = given("from").map(bare);
    let is_said = kind.starts_with("RichText") || matches!(kind, "Text" | "Poll" | "");
    let content = given("content").unwrap_or_default();
    let mut words = if kind == "Text" {
        // The one kind that is no HTML: only its characters are marked.
        Words { text: super::snippet::entities(content), ..Words::default() }
    } else {
        words(content)
    };
    let properties = field(message, "properties");
    let is_deleted = *field(properties, "isserversidedeleted") == Value::Bool(true)
        || text(field(properties, "deletetime")).is_some();
    let mut metadata = BTreeMap::new();
    let mut note = |name: &str, value: Option<&str>| {
        metadata.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value.to_owned())));
    };
    note("user", from);
    note("action", (!is_said).then_some(kind));
    note("attachments", Some(&words.attached.join("\n")));
    note("quoted", Some(&words.quoted));
    note("deleted", is_deleted.then_some("true"));
    note("edited", (words.is_edited || text(field(properties, "edittime")).is_some()).then_some("true"));
    if !is_said || is_deleted {
        // What Microsoft's own programs make of an event is a line of marks, not of words.
        words.text.clear();
    }
    let at = given("originalarrivaltime").and_then(written);
    chat.say(Said {
        id: given("id"),
        author: given("displayName").or(from).unwrap_or_default(),
        role: Some(if is_said { Role::Unknown } else { Role::System }),
        at: at.map(|(at, _)| at),
        is_inferred: at.is_some_and(|(_, is_inferred)| is_inferred),
        reply_to: words.reply_to,
        text: &words.text,
        metadata,
    });
}

/// What a message says, and what else stands in its HTML.
#[derive(Default)]
struct Words {
    text: String,
    quoted: String,
    reply_to: Option<String>,
    attached: Vec<String>,
    is_edited: bool,
}

fn words(html: &str) -> Words {
    let mut words = Words::default();
    let (mut own, mut quoted) = (Plain::default(), Plain::default());
    let (mut n_quotes, mut n_legacy, mut n_objects) = (0_u32, 0_u32, 0_u32);
    for piece in pieces(html) {
        match piece {
            Piece::Open(tag) => match tag_name(tag).as_str() {
                "quote" => {
                    n_quotes += 1;
                    words.reply_to = words.reply_to.take().or_else(|| attribute(tag, "messageid"));
                }
                "legacyquote" => n_legacy += 1,
                "uriobject" => n_objects += u32::from(!tag.ends_with('/')),
                "originalname" => words.attached.extend(attribute(tag, "v")),
                "e_m" => words.is_edited |= attribute(tag, "ts").is_some(),
                _ if n_objects > 0 || n_legacy > 0 => {}
                _ if n_quotes > 0 => quoted.take(piece),
                _ => own.take(piece),
            },
            Piece::Close(name) => match name.to_ascii_lowercase().as_str() {
                "quote" => n_quotes = n_quotes.saturating_sub(1),
                "legacyquote" => n_legacy = n_legacy.saturating_sub(1),
                "uriobject" => n_objects = n_objects.saturating_sub(1),
                _ if n_objects > 0 || n_legacy > 0 => {}
                _ if n_quotes > 0 => quoted.take(piece),
                _ => own.take(piece),
            },
            Piece::Text(_) if n_objects > 0 || n_legacy > 0 => {}
            Piece::Text(_) if n_quotes > 0 => quoted.take(piece),
            Piece::Text(_) => own.take(piece),
        }
    }
    words.text = own.done();
    words.quoted = quoted.done();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_not_the_authors() {
        let html = "<quote author=\"bo\" messageid=\"17\"><legacyquote>[10:02] Bo: </legacyquote>Where is the key?\
                    <legacyquote>\n\n&lt;&lt;&lt; </legacyquote></quote>Under the <b>stone</b>.";
        let words = words(html);
        assert_eq!((words.text.as_str(), words.quoted.as_str()), ("Under the stone.", "Where is the key?"));
        assert_eq!(words.reply_to.as_deref(), Some("17"));
    }

    #[test]
    fn an_object_is_an_attachment() {
        let html = "<URIObject type=\"File.1\">To view this file, go to <a href=\"https://x\">https://x</a>\
                    <OriginalName v=\"plan.pdf\"></OriginalName></URIObject>";
        let words = words(html);
        assert_eq!((words.text.as_str(), words.attached.as_slice()), ("", &["plan.pdf".to_owned()][..]));
    }
}
