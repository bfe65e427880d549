//! Reads Slack: a workspace's export (a folder or ZIP), and channels as slackdump writes them.
//!
//! An export is one file a channel and day beside lists of users and channels: its reader claims the
//! folder. A source is a channel; its days are read one by one. Attachments are counted; what is in the
//! folder and is no part of an export is read by itself.
//!
//! Format: Slack's standard export; slackdump's dump (`channel_id`) and archive (lines of `{"t":…}`).

use std::collections::{BTreeMap, BTreeSet};

use super::records::{self, Stop};
use super::said::Conversation;
use super::slack_message::{Users, say};
use super::{Emit, Event, Head, Input, Reader, file_name};
use crate::archive::{self, Part};
use crate::decode::Trouble;
use crate::json::{Bad, Kind, Pull, Record, Value, array, field, parse, text, whole_number};
use crate::seam::Result;

/// The reader of Slack.
pub(super) struct Slack;

/// The lists of conversations in an export.
const LISTS: &[&str] = &["channels.json", "groups.json", "dms.json", "mpims.json"];
/// Other files of an export, which hold nothing that is said.
const UNSAID: &[&str] = &[
    "users.json",
    "org_users.json",
    "integration_logs.json",
    "canvases.json",
    "file_conversations.json",
    "lists.json",
];

impl Reader for Slack {
    fn name(&self) -> &'static str {
        "slack"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        let depth = shape.record_depth();
        let is_dump = shape.has_all(1, &["channel_id", "messages"]) && shape.has(3, "ts");
        let is_chunk = !shape.has(1, "type")
            && shape.has_all(1, &["t", "ts"])
            && ["m", "ci", "u", "cu", "w"].iter().any(|name| shape.has(1, name));
        let is_message = shape.has_all(depth, &["type", "ts"])
            && ["user", "bot_id", "subtype", "text"].iter().any(|name| shape.has(depth, name));
        let is_day = depth == 2 && is_message && shape.says(2, "type", "message");
        if is_dump || is_chunk || is_day { 94 } else { 0 }
    }

    fn claims(&self, names: &[&str]) -> Vec<String> {
        let all: BTreeSet<&str> = names.iter().copied().collect();
        let mut folders = archives(&all);
        for name in names {
            let Some(folder) =
                name.strip_suffix("users.json").filter(|folder| folder.is_empty() || folder.ends_with('/'))
            else {
                continue;
            };
            if LISTS.iter().any(|list| all.contains(format!("{folder}{list}").as_str())) {
                folders.insert(folder.trim_end_matches('/').to_owned());
            }
        }
        folders.into_iter().collect()
    }

    fn takes(&self, name: &str) -> bool {
        match name.split_once('/') {
            None => LISTS.contains(&name) || UNSAID.contains(&name) || is_chunks(name) || ABOUT.contains(&bare(name)),
            Some((_, rest)) => is_day(rest) || is_upload(name) || is_upload(rest),
        }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        match input.parts {
            [part] if !LISTS.contains(&part.name.as_str()) => {
                let read = single(part, input, emit);
                records::settle(read, emit)
            }
            parts if parts.iter().any(|part| bare(&part.name) == WORKSPACE) => dumped(parts, input, emit),
            parts => export(parts, input, emit),
        }
    }
}

/// The file by which an archive of slackdump is known.
const WORKSPACE: &str = "workspace.json";
/// An archive's files that hold no messages.
const ABOUT: &[&str] = &[WORKSPACE, "users.json", "channels.json", "search.json"];

/// A name without the mark that the file is packed.
fn bare(name: &str) -> &str {
    name.strip_suffix(".gz").unwrap_or(name)
}

/// The folders that are archives of slackdump: they hold what the workspace is and who is in it.
fn archives(names: &BTreeSet<&str>) -> BTreeSet<String> {
    let folders = names.iter().filter_map(|name| bare(name).strip_suffix(WORKSPACE));
    folders
        .filter(|folder| folder.is_empty() || folder.ends_with('/'))
        .filter(|folder| ["", ".gz"].iter().any(|end| names.contains(format!("{folder}users.json{end}").as_str())))
        .map(|folder| folder.trim_end_matches('/').to_owned())
        .collect()
}

/// Whether a file is called as an archive calls a channel or a thread of it: `C01AB.json.gz`, `C01AB-17.2.json.gz`.
fn is_chunks(name: &str) -> bool {
    let Some(stem) = bare(name).strip_suffix(".json") else { return false };
    let channel = stem.split('-').next().unwrap_or_default();
    channel.len() > 4
        && channel.starts_with(['C', 'D', 'G'])
        && channel.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Reads an archive of slackdump, channel by channel, with the names of its people.
fn dumped(parts: &[Part], input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
    let mut users = Users::default();
    let mut channels: BTreeMap<&str, Vec<&Part>> = BTreeMap::new();
    for part in parts {
        let name = bare(&part.name);
        match name {
            "users.json" => {
                let read =
                    pulled(part, input).and_then(|mut pull| values(&mut pull, &mut users, &mut BTreeMap::new(), emit));
                records::settle(read, &mut |event| emit(in_part(event, &part.name)))?;
                emit(Event::Aside)?;
            }
            _ if is_chunks(name) => {
                channels.entry(name.split(['-', '.']).next().unwrap_or(name)).or_default().push(part)
            }
            _ => emit(Event::Aside)?,
        }
    }
    for files in channels.values() {
        let mut chats = BTreeMap::new();
        let mut is_cut = false;
        for part in files {
            let read = pulled(part, input).and_then(|mut pull| values(&mut pull, &mut users, &mut chats, emit));
            is_cut |= read.is_err();
            records::settle(read, &mut |event| emit(in_part(event, &part.name)))?;
        }
        said(chats, is_cut, input, emit)?;
    }
    Ok(())
}

/// Hands on the channels of one file or group of files; how many there were.
fn said(chats: BTreeMap<String, Conversation>, is_cut: bool, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<usize> {
    let mut n_said = 0;
    for (id, mut chat) in chats {
        chat.is_cut |= is_cut;
        chat.key = Some(id).filter(|id| !id.is_empty());
        chat.sort_by_time();
        if !chat.is_empty() {
            n_said += 1;
            emit(chat.finish(file_name(input.name), input.source_bytes_max))?;
        }
    }
    Ok(n_said)
}

/// A channel as the lists know it.
struct Channel {
    id: Option<String>,
    title: String,
    about: BTreeMap<String, String>,
}

/// Reads a whole export, channel by channel.
fn export(parts: &[Part], input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
    let mut users = Users::default();
    let mut channels: BTreeMap<String, Channel> = BTreeMap::new();
    for part in parts.iter().filter(|part| matches!(part.name.as_str(), "users.json" | "org_users.json")) {
        in_list(part, input, emit, &mut |user| users.add(user))?;
    }
    for part in parts.iter().filter(|part| LISTS.contains(&part.name.as_str())) {
        in_list(part, input, emit, &mut |entry| listed(entry, &users, &mut channels))?;
    }
    let mut days: BTreeMap<&str, Vec<&Part>> = BTreeMap::new();
    for part in parts {
        match part.name.split_once('/') {
            Some((folder, day)) if is_day(day) => days.entry(folder).or_default().push(part),
            Some(_) => emit(Event::Aside)?,
            _ => {}
        }
    }
    if days.is_empty() {
        return emit(Event::Trouble(Trouble::new("", "a Slack export without messages", "export it again")));
    }
    for (folder, mut days) in days {
        days.sort_by(|a, b| a.name.cmp(&b.name));
        let mut chat = match channels.get(folder) {
            None => Conversation {
                part: Some(folder.to_owned()),
                title: Some(folder.to_owned()),
                ..Conversation::default()
            },
            Some(channel) => Conversation {
                key: channel.id.clone(),
                part: channel.id.is_none().then(|| folder.to_owned()),
                title: Some(channel.title.clone()),
                metadata: channel.about.clone(),
                ..Conversation::default()
            },
        };
        for day in days {
            let read = pulled(day, input).and_then(|mut pull| messages(&mut pull, &users, &mut chat, &day.name, emit));
            chat.is_cut |= read.is_err();
            records::settle(read, &mut |event| emit(in_part(event, &day.name)))?;
        }
        if !chat.is_empty() {
            chat.sort_by_time();
            emit(chat.finish(folder, input.source_bytes_max))?;
        }
    }
    Ok(())
}

fn pulled<'p>(part: &Part, input: &Input<'_>) -> std::result::Result<Pull<'p>, Stop> {
    // A file of a claimed folder may be packed by itself.
    let head = if part.name.ends_with(".gz") { part.head(512).map_err(Bad::Io)? } else { Vec::new() };
    let inner = archive::list(part, &head).and_then(|listed| listed.parts.into_iter().next());
    Ok(Pull::new(inner.as_ref().unwrap_or(part).open().map_err(Bad::Io)?, input.source_bytes_max))
}

/// Says in which file of the export a trouble is.
fn in_part(event: Event, name: &str) -> Event {
    match event {
        Event::Trouble(trouble) => Event::Trouble(Trouble { place: format!("{name}, {}", trouble.place), ..trouble }),
        event => event,
    }
}

/// Hands each entry of a list to `take`; a list that cannot be read is one line, and names stay ids.
fn in_list(part: &Part, input: &Input<'_>, emit: &mut Emit<'_>, take: &mut dyn FnMut(&Value<'_>)) -> Result<()> {
    let read = pulled(part, input).and_then(|mut pull| {
        if pull.kind()? != Some(Kind::Array) {
            return Ok(());
        }
        pull.enter()?;
        while pull.next_element()? {
            let record = pull.value()?;
            if let Err(trouble) = taken(&record, &mut 0, &mut *take) {
                emit(in_part(Event::Trouble(trouble), &part.name))?;
            }
        }
        Ok(pull.ended()?)
    });
    records::settle(read, &mut |event| emit(in_part(event, &part.name)))
}

fn taken(record: &Record<'_>, n_replaced: &mut u64, take: impl FnOnce(&Value<'_>)) -> std::result::Result<(), Trouble> {
    let read = match record.bytes {
        Some(bytes) => parse(bytes, n_replaced, take),
        None => Err(format!("{} bytes in one record", record.n_bytes)),
    };
    read.map_err(|reason| Trouble::new(record.place(), reason, "what stands beside it went in"))
}

fn listed(entry: &Value<'_>, users: &Users, channels: &mut BTreeMap<String, Channel>) {
    let id = text(field(entry, "id"));
    let name = text(field(entry, "name"));
    let members = || array(field(entry, "members")).iter().filter_map(text).map(|user| users.name(user));
    let title = match name {
        Some(name) if !name.starts_with("mpdm-") => format!("#{name}"),
        _ => members().collect::<Vec<_>>().join(", "),
    };
    let mut about = BTreeMap::new();
    for topic in ["topic", "purpose"] {
        let given = text(field(field(entry, topic), "value"));
        about.extend(given.map(|value| (topic.to_owned(), value.to_owned())));
    }
    // Folders are called by name, those of two people by id.
    for folder in [name, id].into_iter().flatten() {
        let channel = Channel { id: id.map(str::to_owned), title: title.clone(), about: about.clone() };
        channels.entry(folder.to_owned()).or_insert(channel);
    }
}

/// Whether a file is called as a day is: `2024-05-01.json`.
fn is_day(name: &str) -> bool {
    let digits = "0000-00-00.json";
    let is_alike = |(a, b): (char, char)| if b == '0' { a.is_ascii_digit() } else { a == b };
    name.len() == digits.len() && name.chars().zip(digits.chars()).all(is_alike)
}

fn is_upload(name: &str) -> bool {
    ["attachments/", "__uploads/", "__avatars/", "files/"].iter().any(|folder| name.starts_with(folder))
}

/// Reads the array of messages that comes next.
fn messages(
    pull: &mut Pull<'_>,
    users: &Users,
    chat: &mut Conversation,
    name: &str,
    emit: &mut Emit<'_>,
) -> std::result::Result<(), Stop> {
    chat.bytes_max = Some(pull.bytes_max());
    pull.enter()?;
    while pull.next_element()? {
        let record = pull.value()?;
        let mut n_replaced = 0;
        let read = taken(&record, &mut n_replaced, |message| say(message, users, chat));
        chat.n_replaced += n_replaced;
        if let Err(trouble) = read {
            chat.is_cut = true;
            emit(if name.is_empty() { Event::Trouble(trouble) } else { in_part(Event::Trouble(trouble), name) })?;
        }
    }
    Ok(pull.ended()?)
}

/// Reads one file: a day, a dumped channel, or an archive's chunks.
fn single(part: &Part, input: &Input<'_>, emit: &mut Emit<'_>) -> std::result::Result<(), Stop> {
    let mut pull = pulled(part, input)?;
    let mut chats: BTreeMap<String, Conversation> = BTreeMap::new();
    let mut users = Users::default();
    let read = match pull.kind()? {
        Some(Kind::Array) => {
            let chat = chats.entry(String::new()).or_default();
            messages(&mut pull, &users, chat, "", emit)
        }
        _ => values(&mut pull, &mut users, &mut chats, emit),
    };
    let n_said = said(chats, read.is_err(), input, emit)?;
    if n_said == 0 && read.is_ok() {
        // A list of people, or of what a workspace is.
        emit(Event::Aside)?;
    }
    read
}

/// Reads the values that stand one after the other: a dumped channel, or the chunks of an archive.
fn values(
    pull: &mut Pull<'_>,
    users: &mut Users,
    chats: &mut BTreeMap<String, Conversation>,
    emit: &mut Emit<'_>,
) -> std::result::Result<(), Stop> {
    while pull.kind()?.is_some() {
        let record = pull.value()?;
        let mut n_replaced = 0;
        let read = taken(&record, &mut n_replaced, |value| chunk(value, users, chats));
        if let Some(chat) = chats.values_mut().next() {
            chat.n_replaced += n_replaced;
        }
        if let Err(trouble) = read {
            chats.values_mut().for_each(|chat| chat.is_cut = true);
            emit(Event::Trouble(trouble))?;
        }
    }
    Ok(())
}

fn chunk(value: &Value<'_>, users: &mut Users, chats: &mut BTreeMap<String, Conversation>) {
    array(field(value, "u")).iter().for_each(|user| users.add(user));
    let id = text(field(value, "channel_id")).or_else(|| text(field(value, "id")));
    let about = if *field(value, "ci") == Value::Null { value } else { field(value, "ci") };
    let Some(id) = id.or_else(|| text(field(about, "id"))) else { return };
    let chat = chats.entry(id.to_owned()).or_default();
    if let Some(name) = text(field(about, "name")) {
        chat.title = Some(format!("#{name}"));
    }
    if whole_number(field(value, "t")) == Some(1) {
        say(field(value, "p"), users, chat);
    }
    for message in array(field(value, "messages")).iter().chain(array(field(value, "m"))) {
        say(message, users, chat);
        array(field(message, "slackdump_thread_replies")).iter().for_each(|reply| say(reply, users, chat));
    }
}
