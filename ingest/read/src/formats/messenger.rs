//! Reads Messenger's and Instagram's exports: a chat in `message_1.json`, `message_2.json`, …
//!
//! The numbered files of a folder are one chat, the newest message first in the first of them. Meta
//! writes UTF-8 bytes as if they were Latin-1 characters; a text is repaired only where it is so.
//!
//! Format: "Download your information" as JSON, and the export of encrypted chats (`threadName`).

use std::collections::{BTreeMap, BTreeSet};

use super::records::{self, Stop};
use super::said::{Conversation, Said, derived_key, epoch};
use super::{Emit, Event, Head, Input, Reader, file_name};
use crate::archive::Part;
use crate::decode::Trouble;
use crate::json::{Bad, Kind, Pull, Value, array, field, number, parse, text};
use crate::seam::Result;

/// The reader of Messenger and Instagram.
pub(super) struct Messenger;

/// Fields that hold attachments.
const ATTACHED: &[&str] = &["photos", "videos", "audio_files", "files", "gifs", "media"];

/// Folders of attachments beside the messages.
const FOLDERS: &[&str] = &["photos", "videos", "audio", "files", "gifs", "media", "stickers_used"];

impl Reader for Messenger {
    fn name(&self) -> &'static str {
        "messenger"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        if shape.has_lines || !shape.has_all(1, &["participants", "messages"]) {
            return 0;
        }
        let is_known = shape.has(3, "sender_name") || shape.has(3, "senderName") || shape.has(1, "thread_path");
        if is_known { 95 } else { 0 }
    }

    fn claims(&self, names: &[&str]) -> Vec<String> {
        let first = names.iter().filter_map(|name| Some((name.strip_suffix("message_1.json")?, name)));
        let folders = first.filter(|(folder, _)| folder.is_empty() || folder.ends_with('/'));
        folders.map(|(folder, _)| folder.trim_end_matches('/').to_owned()).collect()
    }

    fn takes(&self, name: &str) -> bool {
        name.split_once('/').map_or_else(|| number_of(name).is_some(), |(folder, _)| FOLDERS.contains(&folder))
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let mut parts: Vec<(u32, &Part)> =
            input.parts.iter().filter_map(|part| Some((number_of(&part.name)?, part))).collect();
        if parts.is_empty() {
            // One file of another name.
            parts.extend(input.parts.first().map(|part| (1, part)));
        }
        parts.sort_by_key(|(number, _)| *number);
        // The other files are what the messages have attached.
        (parts.len()..input.parts.len()).try_for_each(|_| emit(Event::Aside))?;
        let mut thread = Thread::default();
        thread.chat.is_told_by_moment = true;
        for (_, part) in parts {
            let reader = part.open().map_err(|error| Stop::Bad(Bad::Io(error)));
            let read = reader.and_then(|reader| thread.file(&mut Pull::new(reader, input.source_bytes_max), emit));
            thread.chat.is_cut |= read.is_err();
            records::settle(read, &mut |event| emit(in_part(event, part, input)))?;
        }
        thread.finish(input, emit)
    }
}

/// Says in which file of several a trouble is.
fn in_part(event: Event, part: &Part, input: &Input<'_>) -> Event {
    match event {
        Event::Trouble(trouble) if input.parts.len() > 1 => {
            Event::Trouble(Trouble { place: format!("{}, {}", part.name, trouble.place), ..trouble })
        }
        event => event,
    }
}

/// `2` of `message_2.json`.
fn number_of(name: &str) -> Option<u32> {
    name.strip_prefix("message_")?.strip_suffix(".json")?.parse().ok()
}

#[derive(Default)]
struct Thread {
    chat: Conversation,
    participants: BTreeSet<String>,
    path: Option<String>,
    /// Whether the newest message came first; known once two have times.
    first_at: Option<f64>,
    last_at: Option<f64>,
}

impl Thread {
    fn file(&mut self, pull: &mut Pull<'_>, emit: &mut Emit<'_>) -> std::result::Result<(), Stop> {
        pull.enter()?;
        while let Some(name) = pull.next_name()? {
            match name.as_str() {
                "messages" if pull.kind()? == Some(Kind::Array) => {
                    let Self { chat, first_at, last_at, .. } = self;
                    chat.messages(pull, emit, |message, chat| {
                        if let Some(at) = say(message, chat) {
                            first_at.get_or_insert(at);
                            *last_at = Some(at);
                        }
                    })?;
                }
                "participants" | "title" | "threadName" | "thread_path" => {
                    let (_, bytes) = pull.bounded()?;
                    // A damaged header leaves the messages as they are.
                    let _ = parse(bytes, &mut 0, |value| self.about(&name, value));
                }
                _ => pull.skip()?,
            }
        }
        Ok(pull.ended()?)
    }

    fn about(&mut self, name: &str, value: &Value<'_>) {
        match name {
            "participants" => {
                let names = array(value).iter().filter_map(|one| text(one).or_else(|| text(field(one, "name"))));
                self.participants.extend(names.map(repaired));
            }
            "thread_path" => self.path = text(value).map(repaired),
            _ => self.chat.title = text(value).map(repaired),
        }
    }

    fn finish(mut self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        if self.chat.is_empty() {
            return if self.chat.is_cut { Ok(()) } else { emit(Event::Trouble(super::empty())) };
        }
        if self.first_at.zip(self.last_at).is_none_or(|(first, last)| first >= last) {
            self.chat.reverse();
        }
        self.chat.sort_by_time();
        let names: Vec<&str> = self.participants.iter().map(String::as_str).collect();
        let title = self.chat.title.clone().unwrap_or_default();
        self.chat.key = Some(self.path.unwrap_or_else(|| derived_key(&["messenger", &title, &names.join("\n")])));
        if !names.is_empty() {
            self.chat.metadata.insert("participants".to_owned(), names.join("\n"));
        }
        emit(self.chat.finish(file_name(input.name), input.source_bytes_max))
    }
}

/// Takes a message; its time as it is written.
fn say(message: &Value<'_>, chat: &mut Conversation) -> Option<f64> {
    let given = |names: [&str; 2]| names.into_iter().find_map(|name| text(field(message, name)));
    let at = ["timestamp_ms", "timestamp"].into_iter().find_map(|name| number(field(message, name)));
    let is_true = |name: &str| *field(message, name) == Value::Bool(true);
    let is_unsent = is_true("is_unsent") || is_true("isUnsent");
    let share = field(message, "share");
    let mut words: Vec<String> = Vec::new();
    if !is_unsent {
        words.extend(given(["content", "text"]).map(repaired));
        words.extend(["share_text", "link"].into_iter().filter_map(|name| text(field(share, name)).map(repaired)));
    }
    let mut attached: Vec<String> = Vec::new();
    for list in ATTACHED {
        attached.extend(array(field(message, list)).iter().filter_map(|file| text(field(file, "uri")).map(repaired)));
    }
    attached.extend(text(field(field(message, "sticker"), "uri")).map(repaired));
    let mut metadata = BTreeMap::new();
    if !attached.is_empty() {
        metadata.insert("attachments".to_owned(), attached.join("\n"));
    }
    if is_unsent {
        metadata.insert("deleted".to_owned(), "true".to_owned());
    }
    chat.say(Said {
        author: &given(["sender_name", "senderName"]).map(repaired).unwrap_or_default(),
        at: at.and_then(epoch),
        text: &words.join("\n"),
        metadata,
        ..Said::default()
    });
    at
}

/// A text whose UTF-8 bytes were written as Latin-1 characters, put right; any other as it is.
fn repaired(given: &str) -> String {
    let is_ascii = given.is_ascii();
    let bytes: Option<Vec<u8>> = given.chars().map(|char| u8::try_from(u32::from(char)).ok()).collect();
    match bytes.map(String::from_utf8) {
        Some(Ok(repaired)) if !is_ascii => repaired,
        _ => given.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_repaired_only_where_it_is_broken() {
        assert_eq!(repaired("Zo\u{c3}\u{ab}"), "Zoë");
        assert_eq!(repaired("\u{f0}\u{9f}\u{98}\u{a0}"), "😠");
        for whole in ["Zoë", "“quotes” and é", "plain", "naïve café", "没有啊", "Ã"] {
            assert_eq!(repaired(whole), whole);
        }
    }
}
