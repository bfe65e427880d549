//! Reads Discord channels as DiscordChatExporter writes them to JSON, whole or in parts.
//!
//! A source is a channel or thread; its parts and later exports are told to be one by the channel's id.

use std::collections::BTreeMap;

use model::Role;

use super::records::{self, Stop};
use super::said::{Conversation, Said, written};
use super::{Emit, Event, Head, Input, Reader, file_name};
use crate::decode::Trouble;
use crate::json::{Kind, Pull, Value, array, field, parse, text};
use crate::seam::Result;

/// The reader of DiscordChatExporter's JSON.
pub(super) struct Discord;

impl Reader for Discord {
    fn name(&self) -> &'static str {
        "discord"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        let is_channel = shape.has_all(1, &["guild", "channel"]) && shape.has(2, "id");
        if is_channel && !shape.has_lines { 95 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let mut chat = Conversation::default();
        let read = records::pull(input).and_then(|mut pull| export(&mut pull, &mut chat, emit));
        chat.is_cut |= read.is_err();
        if !chat.is_empty() {
            emit(chat.finish(file_name(input.name), input.source_bytes_max))?;
        } else if read.is_ok() {
            emit(Event::Trouble(Trouble::new("", "no message in it", "export the channel again")))?;
        }
        records::settle(read, emit)
    }
}

fn export(pull: &mut Pull<'_>, chat: &mut Conversation, emit: &mut Emit<'_>) -> std::result::Result<(), Stop> {
    pull.enter()?;
    let mut guild = None;
    while let Some(name) = pull.next_name()? {
        match name.as_str() {
            "guild" => {
                let (_, bytes) = pull.bounded()?;
                guild = parse(bytes, &mut 0, |value| text(field(value, "name")).map(str::to_owned)).ok().flatten();
            }
            "channel" => {
                let (_, bytes) = pull.bounded()?;
                // A damaged header leaves the file's name for a title and the messages as they are.
                let _ = parse(bytes, &mut 0, |value| channel(value, guild.as_deref(), chat));
            }
            "exportedAt" => {
                let (_, bytes) = pull.bounded()?;
                let at = parse(bytes, &mut 0, |value| text(value).and_then(written));
                chat.exported_at = at.ok().flatten().map(|(at, _)| at);
            }
            "messages" if pull.kind()? == Some(Kind::Array) => chat.messages(pull, emit, say)?,
            _ => pull.skip()?,
        }
    }
    Ok(pull.ended()?)
}

fn channel(channel: &Value<'_>, guild: Option<&str>, chat: &mut Conversation) {
    chat.key = text(field(channel, "id")).map(str::to_owned);
    let name = text(field(channel, "name"));
    chat.title = match (guild, name) {
        (Some(guild), Some(name)) => Some(format!("{guild}: {name}")),
        (guild, name) => name.or(guild).map(str::to_owned),
    };
    for key in ["type", "category", "topic"] {
        chat.metadata.extend(text(field(channel, key)).map(|value| (key.to_owned(), value.to_owned())));
    }
}

fn say(message: &Value<'_>, chat: &mut Conversation) {
    let author = field(message, "author");
    let kind = text(field(message, "type")).unwrap_or("Default");
    let is_event =
        !matches!(kind, "Default" | "Reply" | "ChatInputCommand" | "ContextMenuCommand" | "ThreadStarterMessage");
    let mut metadata = BTreeMap::new();
    let mut note = |name: &str, value: Option<&str>| {
        metadata.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    };
    note("edited", text(field(message, "timestampEdited")));
    note("action", is_event.then_some(kind));
    note("bot", (*field(author, "isBot") == Value::Bool(true)).then_some("true"));
    note("pinned", (*field(message, "isPinned") == Value::Bool(true)).then_some("true"));
    note("user", text(field(author, "id")));
    let mut attached: Vec<&str> = Vec::new();
    attached.extend(array(field(message, "attachments")).iter().filter_map(|file| text(field(file, "fileName"))));
    attached.extend(array(field(message, "stickers")).iter().filter_map(|file| text(field(file, "name"))));
    note("attachments", (!attached.is_empty()).then(|| attached.join("\n")).as_deref());
    let at = text(field(message, "timestamp")).and_then(written);
    chat.say(Said {
        id: text(field(message, "id")),
        author: ["nickname", "name"].into_iter().find_map(|name| text(field(author, name))).unwrap_or_default(),
        role: Some(if is_event { Role::System } else { Role::Unknown }),
        at: at.map(|(at, _)| at),
        is_inferred: at.is_some_and(|(_, is_inferred)| is_inferred),
        reply_to: text(field(field(message, "reference"), "messageId")).map(str::to_owned),
        text: &words(message),
        metadata,
    });
}

/// The words of a message; a bot's stand in what it embeds.
fn words(message: &Value<'_>) -> String {
    if let Some(words) = text(field(message, "content")) {
        return words.to_owned();
    }
    let mut words: Vec<&str> = Vec::new();
    for embed in array(field(message, "embeds")) {
        words.extend(["title", "description"].into_iter().filter_map(|name| text(field(embed, name))));
        for entry in array(field(embed, "fields")) {
            words.extend(["name", "value"].into_iter().filter_map(|name| text(field(entry, name))));
        }
    }
    words.join("\n")
}
