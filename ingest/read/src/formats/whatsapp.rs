//! Reads WhatsApp's text exports, of iOS and Android, in any date order and many languages.
//!
//! A message begins with its date and time; what follows on further lines belongs to it. Neither the
//! order of day and month nor the time zone is written: the order is inferred from all dates of the
//! file, times are taken as UTC and marked as inferred. A line without an author is an event of the chat.
//! The marks that set the writing direction around a text are not part of it.
//!
//! An export has no id: its key is made of its first message, which longer exports share.

use std::collections::{BTreeMap, BTreeSet};

use model::Role;

use super::said::{Conversation, Said, derived_key};
use super::whatsapp_line::{Header, Order, header, order, strip_marks};
use super::whatsapp_text::{Content, content};
use super::{Emit, Event, Head, Input, Reader, extension, file_name, whole};
use crate::decode::Trouble;
use crate::seam::Result;

/// The reader of WhatsApp's exports.
pub(super) struct WhatsApp;

/// So many lines are looked at to know a file.
const LINES_LOOKED_AT: usize = 40;
/// A name is not longer than this.
const AUTHOR_CHARS_MAX: usize = 80;

impl Reader for WhatsApp {
    fn name(&self) -> &'static str {
        "whatsapp"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        if !matches!(extension(head.name).as_str(), "txt" | "") {
            return 0;
        }
        let text = String::from_utf8_lossy(head.bytes);
        let mut lines = text.lines().filter(|line| !line.trim().is_empty()).take(LINES_LOOKED_AT);
        let Some(first) = lines.next().and_then(header) else { return 0 };
        let is_said = |found: &Header<'_>| author(found.rest).is_some();
        let more = lines.filter_map(header).filter(|found| found.is_bracketed == first.is_bracketed && is_said(found));
        if is_said(&first) || more.count() > 0 { 92 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let decoded = match whole(input) {
            Ok(decoded) => decoded,
            Err(trouble) => return emit(Event::Trouble(trouble)),
        };
        let (messages, n_before) = messages(&decoded.text);
        if n_before > 0 {
            let reason = format!("{n_before} lines before the first message");
            emit(Event::Trouble(Trouble::new("line 1", reason, "export the chat again")))?;
        }
        if messages.is_empty() {
            let hint = "export the chat as text; for another format use --format";
            return emit(Event::Trouble(Trouble::new("", "no message in it", hint)));
        }
        let mut chat = conversation(&messages);
        chat.n_replaced += decoded.n_replaced;
        chat.metadata.extend(decoded.metadata());
        chat.remarks.extend(decoded.remarks());
        chat.title = title(input.name).or(chat.title);
        emit(chat.finish(file_name(input.name), input.source_bytes_max))
    }
}

/// A message as it stands in the file.
struct Message<'t> {
    header: Header<'t>,
    /// Further lines, joined.
    more: String,
}

/// The messages of a text, and how many lines stand before the first.
fn messages(text: &str) -> (Vec<Message<'_>>, usize) {
    let mut messages: Vec<Message<'_>> = Vec::new();
    let mut n_before = 0;
    for line in text.trim_end_matches(['\n', '\r']).split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        // A chat that was pasted into a message is in another style as often as not.
        let is_same =
            |found: &Header<'_>| messages.first().is_none_or(|first| first.header.is_bracketed == found.is_bracketed);
        match header(line).filter(is_same) {
            Some(header) => messages.push(Message { header, more: String::new() }),
            None => match messages.last_mut() {
                Some(last) => {
                    last.more.push('\n');
                    last.more.push_str(line);
                }
                None => n_before += usize::from(!line.trim().is_empty()),
            },
        }
    }
    (messages, n_before)
}

fn conversation(messages: &[Message<'_>]) -> Conversation {
    let headers: Vec<&Header<'_>> = messages.iter().map(|message| &message.header).collect();
    let (order, is_sure) = order(&headers);
    let mut chat = Conversation { is_told_by_moment: true, ..Conversation::default() };
    let mut authors = BTreeSet::new();
    let mut key = None;
    for Message { header, more } in messages {
        let at = header.at(order);
        let (author, text) = author(header.rest).unwrap_or(("", header.rest));
        let whole = format!("{}{more}", strip_marks(text));
        let content = content(&whole, !author.is_empty());
        if content.is_event {
            say(&mut chat, "", Role::System, at, &content);
        } else {
            authors.insert(author.to_owned());
            say(&mut chat, author, Role::Unknown, at, &content);
        }
        if !author.is_empty() {
            let written = at.map(|at| at.as_micros().to_string()).unwrap_or_default();
            key.get_or_insert_with(|| derived_key(&["whatsapp", &written, author, &whole]));
        }
    }
    chat.key = key;
    chat.title = Some(authors.iter().cloned().collect::<Vec<_>>().join(", ")).filter(|names| !names.is_empty());
    let order = match order {
        Order::Dmy => "day, month, year",
        Order::Mdy => "month, day, year",
        Order::Ymd => "year, month, day",
    };
    let how = if is_sure { "inferred" } else { "assumed" };
    chat.metadata.insert("dates".to_owned(), format!("{order} ({how})"));
    chat.metadata.insert("time_zone".to_owned(), "not in the file; read as UTC".to_owned());
    chat
}

fn say(chat: &mut Conversation, author: &str, role: Role, at: Option<model::Timestamp>, content: &Content) {
    let mut metadata = BTreeMap::new();
    if let Some(attachment) = &content.attachment {
        metadata.insert("attachments".to_owned(), attachment.clone());
    }
    for (name, is) in [("deleted", content.is_deleted), ("edited", content.is_edited)] {
        if is {
            metadata.insert(name.to_owned(), "true".to_owned());
        }
    }
    chat.say(Said {
        author,
        role: Some(role),
        at,
        is_inferred: true,
        text: &content.words,
        metadata,
        ..Said::default()
    });
}

/// Who says the rest of a line, and what; `None` where no one does.
fn author(rest: &str) -> Option<(&str, &str)> {
    let (author, text) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    let author = strip_marks(author);
    // A quoted name before the colon is a group's, in a line about the group.
    let is_quoting = author.contains(['"', '“', '”', '„', '«', '»']);
    let is_name = !author.is_empty() && author.chars().count() <= AUTHOR_CHARS_MAX && !is_quoting;
    is_name.then_some((author, text))
}

/// The chat's name, of the file's or its archive's: `WhatsApp Chat with Ana.txt`, `WhatsApp Chat - Ana.zip!/_chat.txt`.
fn title(name: &str) -> Option<String> {
    let part = name.split(['/', '!']).rev().find(|part| part.contains("WhatsApp"))?;
    let stem = part.rsplit_once('.').map_or(part, |(stem, _)| stem);
    let words = [" with ", " mit ", " con ", " com ", " avec ", " met ", " med ", " z ", " с ", " - "];
    let found = words.iter().find_map(|word| stem.split_once(word));
    found.map(|(_, title)| title.trim().to_owned()).filter(|title| !title.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_quotes_before_a_colon_is_no_author() {
        assert_eq!(author("Ana: hi: there"), Some(("Ana", "hi: there")));
        assert_eq!(author("Ana changed the subject to “Sea: 2024”"), None);
        assert_eq!(author("+12 345 67 left"), None);
        assert_eq!(author("\u{200e}Ana:"), Some(("Ana", "")));
    }

    #[test]
    fn a_chat_is_called_as_its_file_or_archive() {
        assert_eq!(title("x/WhatsApp Chat with Ana Lu.txt").as_deref(), Some("Ana Lu"));
        assert_eq!(title("WhatsApp Chat - Crew.zip!/_chat.txt").as_deref(), Some("Crew"));
        assert_eq!(title("WhatsApp-Chat mit Ana.txt").as_deref(), Some("Ana"));
        assert_eq!(title("_chat.txt"), None);
    }
}
