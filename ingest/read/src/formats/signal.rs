//! Reads Signal: its own plaintext export, and what signal-export and sigtop make of Signal Desktop.
//!
//! Signal's export is its backup as lines of JSON: an account, recipients, chats, then items that name
//! them. signal-export writes a chat a folder, a line a message, without ids; sigtop an array of messages.
//! Times of signal-export are local and name no zone.
//!
//! Format: Signal's `Backup.proto` as JSON (`main.jsonl`); signal-export's `data.json`; sigtop's JSON.

use std::collections::{BTreeMap, HashMap};

use model::Role;

use super::records;
use super::said::{Conversation, Said, epoch, written};
use super::{Emit, Event, Head, Input, Reader, file_name};
use crate::decode::Trouble;
use crate::json::{Kind, Value, array, field, number, object, text, whole_number};
use crate::seam::Result;

/// The reader of Signal's exports.
pub(super) struct Signal;

impl Reader for Signal {
    fn name(&self) -> &'static str {
        "signal"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        let depth = shape.record_depth();
        let is_backup = shape.has_lines
            && ["backupTimeMs", "mediaRootBackupKey", "recipient", "chatItem"].iter().any(|name| shape.has(1, name))
            && (shape.has_all(1, &["recipient"]) || shape.has_all(2, &["chatId", "authorId", "dateSent"]));
        let is_export = depth == 1 && shape.has_all(1, &["date", "sender", "body", "quote", "sticker", "reactions"]);
        let is_array = shape.kind == Some(Kind::Array)
            && shape.has_all(2, &["conversationId", "sent_at", "type"])
            && ["serverGuid", "sourceServiceId", "sourceUuid", "readStatus"].iter().any(|name| shape.has(2, name));
        if is_backup || is_export || is_array { 94 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let mut account = Account::default();
        let mut n_records = 0_u64;
        records::each_with(input, emit, &mut |record, emit| {
            n_records += 1;
            if account.take(record) {
                return Ok(());
            }
            let trouble =
                Trouble::new(format!("record {n_records}"), "no message of Signal's", "see --format messages");
            emit(Event::Trouble(trouble))
        })?;
        let is_empty = account.chats.is_empty();
        for (id, mut chat) in account.chats {
            if id.is_empty() {
                chat.title = folder(input.name);
            } else {
                chat.title = chat.title.or_else(|| account.titles.get(&id).cloned());
                chat.key = Some(id);
            }
            chat.sort_by_time();
            emit(chat.finish(file_name(input.name), input.source_bytes_max))?;
        }
        if is_empty && n_records > 0 {
            emit(Event::Trouble(Trouble::new("", "no message in it", "export it again")))?;
        }
        Ok(())
    }
}

/// signal-export calls the folder of a chat as the chat.
fn folder(name: &str) -> Option<String> {
    let (folder, _) = name.rsplit_once('/')?;
    Some(file_name(folder).to_owned()).filter(|name| !name.is_empty())
}

/// What is known of an account, and its chats by id.
#[derive(Default)]
struct Account {
    /// Recipients' names.
    names: HashMap<String, String>,
    /// What a recipient is called outside of this export, whose own ids are new each time.
    identities: HashMap<String, String>,
    /// The identity of the recipient that a chat is with.
    with: HashMap<String, String>,
    titles: HashMap<String, String>,
    chats: BTreeMap<String, Conversation>,
}

impl Account {
    /// Takes a record; whether it was one of Signal's.
    fn take(&mut self, record: &Value<'_>) -> bool {
        let has = |name: &str| *field(record, name) != Value::Null;
        if has("recipient") {
            let recipient = field(record, "recipient");
            self.names.extend(id(field(recipient, "id")).zip(called(recipient)));
            self.identities.extend(id(field(recipient, "id")).zip(identity(recipient)));
        } else if has("chat") {
            let chat = field(record, "chat");
            if let (Some(id), Some(recipient)) = (id(field(chat, "id")), id(field(chat, "recipientId"))) {
                let known = self.identities.get(&recipient).unwrap_or(&id).clone();
                self.titles.extend(self.names.get(&recipient).map(|name| (known.clone(), name.clone())));
                self.with.insert(id, known);
            }
        } else if has("chatItem") {
            self.item(field(record, "chatItem"));
        } else if has("sender") && has("date") {
            exported(record, self.chats.entry(String::new()).or_default());
        } else if has("conversationId") && has("type") {
            let Some(key) = text(field(record, "conversationId")) else { return false };
            stored(record, self.chats.entry(key.to_owned()).or_default());
        } else {
            // Lines about the account, folders, stickers, calls.
            return object(record).all(|(_, value)| matches!(value, Value::Object(_))) || has("backupTimeMs");
        }
        true
    }

    /// An item of Signal's own export.
    fn item(&mut self, item: &Value<'_>) {
        let Some(chat_id) = id(field(item, "chatId")) else { return };
        let chat_id = self.with.get(&chat_id).cloned().unwrap_or(chat_id);
        let author_id = id(field(item, "authorId")).unwrap_or_default();
        let author = self.names.get(&author_id).cloned().unwrap_or_else(|| author_id.clone());
        let message = field(item, "standardMessage");
        let is_deleted = *field(item, "remoteDeletedMessage") != Value::Null;
        let is_said = *message != Value::Null || is_deleted;
        let quote = field(message, "quote");
        let attached = array(field(message, "attachments")).iter().filter_map(|attached| {
            let pointer = field(attached, "pointer");
            ["fileName", "contentType"].into_iter().find_map(|name| text(field(pointer, name)))
        });
        let attached: Vec<&str> = attached.collect();
        let sent = number(field(item, "dateSent"));
        let mut metadata = BTreeMap::new();
        let mut note = |name: &str, value: Option<String>| metadata.extend(value.map(|value| (name.to_owned(), value)));
        note("attachments", (!attached.is_empty()).then(|| attached.join("\n")));
        note("deleted", is_deleted.then(|| "true".to_owned()));
        note("edited", (!array(field(item, "revisions")).is_empty()).then(|| "true".to_owned()));
        note("quoted", text(field(field(quote, "text"), "body")).map(str::to_owned));
        let kind = object(item).map(|(name, _)| name).find(|name| name.ends_with("Message"));
        note("action", kind.filter(|_| !is_said).map(str::to_owned));
        // An item has no id: who sent it and when is how Signal itself names it.
        let named =
            |author: &str, sent: f64| format!("{}/{sent}", self.identities.get(author).map_or(author, String::as_str));
        let reply_to = number(field(quote, "targetSentTimestamp"))
            .zip(id(field(quote, "authorId")))
            .map(|(sent, author)| named(&author, sent));
        let own_id = sent.map(|sent| named(&author_id, sent));
        let title = self.titles.get(&chat_id).cloned();
        let chat = self.chats.entry(chat_id).or_default();
        chat.title = chat.title.take().or(title);
        chat.say(Said {
            id: own_id.as_deref(),
            author: &author,
            role: Some(if is_said { Role::Unknown } else { Role::System }),
            at: sent.and_then(epoch),
            reply_to,
            text: text(field(field(message, "text"), "body")).unwrap_or_default(),
            metadata,
            ..Said::default()
        });
    }
}

fn id(value: &Value<'_>) -> Option<String> {
    text(value).map(str::to_owned).or_else(|| whole_number(value).map(|number| number.to_string()))
}

/// What a recipient is in every export: an account, a number, a group.
fn identity(recipient: &Value<'_>) -> Option<String> {
    let contact = field(recipient, "contact");
    id(field(contact, "aci"))
        .or_else(|| id(field(contact, "e164")))
        // Of a group's key, which opens the group, no more than tells groups apart.
        .or_else(|| Some(id(field(field(recipient, "group"), "masterKey"))?.chars().take(8).collect()))
        .or_else(|| (*field(recipient, "self") != Value::Null).then(|| "self".to_owned()))
}

/// The name of a recipient: a person, a group, or oneself.
fn called(recipient: &Value<'_>) -> Option<String> {
    let (contact, group) = (field(recipient, "contact"), field(recipient, "group"));
    let joined = |given: &str, family: &str| {
        let names = [given, family].into_iter().filter_map(|name| text(field(contact, name)));
        Some(names.collect::<Vec<_>>().join(" ")).filter(|name| !name.is_empty())
    };
    joined("nicknameGivenName", "nicknameFamilyName")
        .or_else(|| joined("systemGivenName", "systemFamilyName"))
        .or_else(|| joined("profileGivenName", "profileFamilyName"))
        .or_else(|| id(field(contact, "e164")))
        .or_else(|| text(field(field(field(group, "snapshot"), "title"), "title")).map(str::to_owned))
        .or_else(|| (*field(recipient, "self") != Value::Null).then(|| "Me".to_owned()))
}

/// A line of signal-export.
fn exported(message: &Value<'_>, chat: &mut Conversation) {
    let given = |name: &str| text(field(message, name));
    let is_true = |name: &str| *field(message, name) == Value::Bool(true);
    let attached: Vec<&str> =
        array(field(message, "attachments")).iter().filter_map(|attached| text(field(attached, "name"))).collect();
    let mut metadata = BTreeMap::new();
    let mut note = |name: &str, value: Option<String>| metadata.extend(value.map(|value| (name.to_owned(), value)));
    note("attachments", (!attached.is_empty()).then(|| attached.join("\n")));
    note("quoted", given("quote").map(|quote| quote.trim().trim_start_matches("> ").to_owned()));
    note("sticker", text(field(field(message, "sticker"), "emoji")).map(str::to_owned));
    note("deleted", is_true("deleted").then(|| "true".to_owned()));
    note("action", is_true("call").then(|| "call".to_owned()));
    let at = given("date").and_then(written);
    chat.is_told_by_moment = true;
    chat.say(Said {
        author: given("sender").unwrap_or_default(),
        role: Some(if is_true("call") { Role::System } else { Role::Unknown }),
        at: at.map(|(at, _)| at),
        is_inferred: at.is_some_and(|(_, is_inferred)| is_inferred),
        text: if is_true("deleted") { "" } else { given("body").unwrap_or_default() },
        metadata,
        ..Said::default()
    });
}

/// A message as Signal Desktop stores it, which sigtop writes out.
fn stored(message: &Value<'_>, chat: &mut Conversation) {
    let given = |name: &str| text(field(message, name));
    let kind = given("type").unwrap_or_default();
    let is_said = matches!(kind, "incoming" | "outgoing");
    let attached: Vec<&str> = array(field(message, "attachments"))
        .iter()
        .filter_map(|file| ["fileName", "contentType"].into_iter().find_map(|name| text(field(file, name))))
        .collect();
    let is_deleted = *field(message, "deletedForEveryone") == Value::Bool(true);
    let mut metadata = BTreeMap::new();
    let mut note = |name: &str, value: Option<String>| metadata.extend(value.map(|value| (name.to_owned(), value)));
    note("attachments", (!attached.is_empty()).then(|| attached.join("\n")));
    note("deleted", is_deleted.then(|| "true".to_owned()));
    note("action", (!is_said).then(|| kind.to_owned()));
    let quoted = field(message, "quote");
    note("quoted", text(field(quoted, "text")).map(str::to_owned));
    let from = ["source", "sourceServiceId", "sourceUuid"].into_iter().find_map(given);
    chat.say(Said {
        id: given("id"),
        author: if kind == "outgoing" { "Me" } else { from.unwrap_or_default() },
        role: Some(if is_said { Role::Unknown } else { Role::System }),
        at: number(field(message, "sent_at")).or_else(|| number(field(message, "timestamp"))).and_then(epoch),
        text: given("body").unwrap_or_default(),
        metadata,
        ..Said::default()
    });
}
