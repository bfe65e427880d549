//! Reads Google Chat out of Google's Takeout: a folder for each group beside lists of who is in it.
//!
//! The reader claims the folder that holds `Groups`, so that a source has its group's name and members.
//! Attachments are counted. A reply names the message it quotes, else the one that began its thread.
//!
//! Format: Takeout, `Groups/*/messages.json` and `group_info.json`. Dates are written out, in English and UTC.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::NaiveDateTime;
use model::{Role, Timestamp};

use super::records::{self, Stop};
use super::said::{Conversation, Said, written};
use super::{Emit, Event, Head, Input, Reader, file_name};
use crate::archive::Part;
use crate::decode::Trouble;
use crate::json::{Bad, Kind, Pull, Value, array, field, parse, text};
use crate::seam::Result;

/// The reader of Google Chat.
pub(super) struct GoogleChat;

const MESSAGES: &str = "messages.json";
const INFO: &str = "group_info.json";

impl Reader for GoogleChat {
    fn name(&self) -> &'static str {
        "google-chat"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        let is_messages = shape.has(1, "messages")
            && shape.has(3, "creator")
            && ["created_date", "topic_id"].iter().any(|name| shape.has(3, name));
        if is_messages && !shape.has_lines { 94 } else { 0 }
    }

    fn claims(&self, names: &[&str]) -> Vec<String> {
        let mut folders = BTreeSet::new();
        for name in names.iter().filter(|name| file_name(name) == MESSAGES) {
            let mut path = name.rsplitn(4, '/').skip(2);
            if path.next() == Some("Groups") {
                folders.insert(path.next().unwrap_or_default().to_owned());
            }
        }
        folders.into_iter().collect()
    }

    fn takes(&self, name: &str) -> bool {
        name.starts_with("Groups/") || name.starts_with("Users/")
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
        for part in input.parts {
            match part.name.strip_prefix("Groups/").and_then(|path| path.rsplit_once('/')) {
                Some((group, MESSAGES)) => groups.entry(group).or_default().messages = Some(part),
                Some((group, INFO)) => groups.entry(group).or_default().info = Some(part),
                // One file by itself, not in its folder.
                None if input.parts.len() == 1 => groups.entry("").or_default().messages = Some(part),
                _ => emit(Event::Aside)?,
            }
        }
        for (folder, group) in groups {
            let Some(part) = group.messages else { continue };
            let mut chat = Conversation { part: Some(folder.to_owned()), ..Conversation::default() };
            chat.key = Some(folder.to_owned()).filter(|folder| !folder.is_empty());
            if let Some(info) = group.info {
                about(info, input, &mut chat, emit)?;
            }
            let read = pulled(part, input).and_then(|mut pull| messages(&mut pull, &mut chat, emit));
            chat.is_cut |= read.is_err();
            chat.sort_by_time();
            let place = &part.name;
            records::settle(read, &mut |event| emit(in_part(event, place)))?;
            emit(chat.finish(file_name(input.name), input.source_bytes_max))?;
        }
        Ok(())
    }
}

/// The files of a group.
#[derive(Default)]
struct Group<'p> {
    messages: Option<&'p Part>,
    info: Option<&'p Part>,
}

fn pulled<'p>(part: &Part, input: &Input<'_>) -> std::result::Result<Pull<'p>, Stop> {
    Ok(Pull::new(part.open().map_err(Bad::Io)?, input.source_bytes_max))
}

/// Says in which file of the folder a trouble is.
fn in_part(event: Event, name: &str) -> Event {
    match event {
        Event::Trouble(trouble) => Event::Trouble(Trouble { place: format!("{name}, {}", trouble.place), ..trouble }),
        event => event,
    }
}

/// Takes the name of a group and its members.
fn about(part: &Part, input: &Input<'_>, chat: &mut Conversation, emit: &mut Emit<'_>) -> Result<()> {
    let read = pulled(part, input).and_then(|mut pull| {
        let record = pull.value()?;
        let place = record.place();
        let read = parse(record.bytes.unwrap_or_default(), &mut chat.n_replaced, |info| {
            let members: Vec<&str> = array(field(info, "members")).iter().filter_map(called).collect();
            let members = members.join(", ");
            (text(field(info, "name")).map(str::to_owned), members)
        });
        match read {
            Ok((name, members)) => {
                chat.title = name.or_else(|| Some(members.clone()).filter(|members| !members.is_empty()));
                if !members.is_empty() {
                    chat.metadata.insert("members".to_owned(), members);
                }
            }
            Err(reason) => emit(Event::Trouble(Trouble::new(
                format!("{}, {place}", part.name),
                reason,
                "the group's messages went in without its name",
            )))?,
        }
        Ok(())
    });
    records::settle(read, &mut |event| emit(in_part(event, &part.name)))
}

fn called<'v>(user: &'v Value<'v>) -> Option<&'v str> {
    ["name", "email"].into_iter().find_map(|name| text(field(user, name)))
}

fn messages(pull: &mut Pull<'_>, chat: &mut Conversation, emit: &mut Emit<'_>) -> std::result::Result<(), Stop> {
    // The first message of each thread.
    let mut topics: HashMap<String, String> = HashMap::new();
    let mut n_undated = 0_u64;
    pull.enter()?;
    while let Some(name) = pull.next_name()? {
        if name == "messages" && pull.kind()? == Some(Kind::Array) {
            chat.messages(pull, emit, |message, chat| say(message, chat, &mut topics, &mut n_undated))?;
        } else {
            pull.skip()?;
        }
    }
    if n_undated > 0 {
        chat.remarks.push(format!("{n_undated} dates are not written in English: their messages have no time"));
    }
    Ok(())
}

fn say(message: &Value<'_>, chat: &mut Conversation, topics: &mut HashMap<String, String>, n_undated: &mut u64) {
    let given = |name: &str| text(field(message, name));
    let creator = field(message, "creator");
    let is_deleted = given("message_state") == Some("DELETED") || *field(message, "deletion_metadata") != Value::Null;
    let attached: Vec<&str> = array(field(message, "attached_files"))
        .iter()
        .filter_map(|file| text(field(file, "original_name")).or_else(|| text(field(file, "export_name"))))
        .collect();
    let quoted = field(message, "quoted_message_metadata");
    let mut metadata = BTreeMap::new();
    let mut note = |name: &str, value: Option<&str>| {
        metadata.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    };
    note("user", text(field(creator, "email")));
    note("bot", (text(field(creator, "user_type")) == Some("Bot")).then_some("true"));
    note("thread", given("topic_id"));
    note("attachments", (!attached.is_empty()).then(|| attached.join("\n")).as_deref());
    note("quoted", text(field(quoted, "text")));
    note("edited", given("updated_date"));
    note("deleted", is_deleted.then_some("true"));
    let at = given("created_date").and_then(moment);
    *n_undated += u64::from(at.is_none() && given("created_date").is_some());
    let first = given("topic_id").and_then(|topic| topics.get(topic).cloned());
    let id = chat.say(Said {
        id: given("message_id"),
        author: called(creator).unwrap_or_default(),
        role: Some(Role::Unknown),
        at: at.map(|(at, _)| at),
        is_inferred: at.is_some_and(|(_, is_inferred)| is_inferred),
        reply_to: text(field(quoted, "message_id")).map(str::to_owned).or(first),
        text: if is_deleted { "" } else { given("text").unwrap_or_default() },
        metadata,
    });
    if let Some(topic) = given("topic_id") {
        topics.entry(topic.to_owned()).or_insert(id);
    }
}

/// A moment as Takeout writes it: `Tuesday, March 5, 2024 at 3:04:05 PM UTC`; whether it named no zone.
fn moment(given: &str) -> Option<(Timestamp, bool)> {
    // Newer exports have a narrow space before AM and PM.
    let given = given.replace(['\u{202f}', '\u{a0}'], " ");
    let plain = given.strip_suffix(" UTC").unwrap_or(&given);
    let (_, date) = plain.split_once(", ")?;
    let formats = ["%B %d, %Y at %I:%M:%S %p", "%B %d, %Y at %H:%M:%S", "%d %B %Y at %H:%M:%S"];
    let at = [date, plain]
        .into_iter()
        .find_map(|date| formats.iter().find_map(|format| NaiveDateTime::parse_from_str(date, format).ok()));
    match at {
        Some(at) => Some((Timestamp::from(at.and_utc()), plain.len() == given.len())),
        None => written(&given),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_takeout_writes_them() {
        let at = |text| moment(text).map(|(at, is_inferred)| (at.to_string(), is_inferred));
        let expected = Some(("2024-03-05T15:04:05Z".to_owned(), false));
        assert_eq!(at("Tuesday, March 5, 2024 at 3:04:05 PM UTC"), expected);
        assert_eq!(at("Tuesday, March 5, 2024 at 3:04:05\u{202f}PM UTC"), expected);
        assert_eq!(at("Tuesday, 5 March 2024 at 15:04:05 UTC"), expected);
        assert_eq!(at("Dienstag, 5. März 2024 um 15:04:05 UTC"), None);
    }

    #[test]
    fn the_folder_that_holds_the_groups_is_claimed() {
        let names = ["Takeout/Google Chat/Groups/DM a/messages.json", "Takeout/Mail/messages.json"];
        assert_eq!(GoogleChat.claims(&names), ["Takeout/Google Chat"]);
        assert_eq!(GoogleChat.claims(&["Groups/DM a/messages.json"]), [""]);
        assert_eq!(GoogleChat.claims(&["x/messages.json"]), [""; 0]);
    }
}
