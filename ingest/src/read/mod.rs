//! Files to drafts: what an archive says of its sources, before anything is derived from it.
//!
//! | reader | takes | a source is | key |
//! |---|---|---|---|
//! | `chat` | our chat JSONL (docs/chat-jsonl.md) | a conversation | `conversation` |
//! | `chatgpt` | ChatGPT's `conversations.json`, also in shards | a conversation | `conversation_id` |
//! | `claude` | Claude's `conversations.json` and projects | a conversation, a document | `uuid` |
//! | `claude-code` | Claude Code's session logs | a session, an agent's part of one | `sessionId` |
//! | `codex` | Codex's session logs | a session | its id |
//! | `discord` | DiscordChatExporter's JSON | a channel | its id |
//! | `companion` | what stands beside the conversations of an account's export | nothing | |
//! | `irc` | IRC logs | a file | label/path |
//! | `locomo` | LoCoMo's JSON array of samples | a sample | `sample_id` |
//! | `markdown` | `.md`, `.markdown` | a file | label/path |
//! | `messages` | JSON or JSONL of messages, by the usual names | a conversation | its id, else label/path |
//! | `messenger` | Messenger and Instagram, numbered files joined | a chat | `thread_path` |
//! | `slack` | a workspace's export as a folder or ZIP, slackdump's files | a channel | its id |
//! | `telegram` | Telegram Desktop's JSON, a chat or an account | a chat | its id |
//! | `transcript` | text with `User:`-like prefixes | a file | label/path |
//! | `whatsapp` | WhatsApp's `_chat.txt` | a chat | digest of its first message |
//! | `text` | `.txt`, `.rst`, `.log`, …, anything when forced | a file | label/path |
//!
//! To add one: a file here, a line in [`READERS`], an example with its `.expected` twin in `tests/data`.

mod chat;
mod chat_line;
mod chatgpt;
mod claude;
mod claude_code;
mod codex;
mod companion;
mod discord;
mod irc;
mod locomo;
mod markdown;
mod messages;
mod messenger;
mod records;
mod said;
mod slack;
mod slack_message;
mod telegram;
mod text;
mod transcript;
mod tree;
mod whatsapp;
mod whatsapp_line;
mod whatsapp_text;

pub(crate) use markdown::options as markdown_options;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::sync::Arc;

use index::model::{IdHasher, Role, SourceKind, TimeOrigin, Timestamp};

use crate::archive::{Backing, Part};
use crate::decode::{self, Decoded, Trouble};
use crate::error::Result;
use crate::files::unreadable;
use crate::json::Shape;

/// One message as an archive gives it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DraftTurn {
    /// The archive's message id, or one derived from what the message says.
    pub id: String,
    /// The author as the archive names them; empty where it does not.
    pub author: String,
    /// Who speaks.
    pub role: Role,
    /// When it was said.
    pub said_at: Option<Timestamp>,
    /// Where that time comes from.
    pub origin: TimeOrigin,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// The session, where the archive has sessions.
    pub session: Option<u32>,
    /// The body.
    pub text: String,
    /// What else the archive says of it.
    pub metadata: BTreeMap<String, String>,
}

/// The body of a draft.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DraftBody {
    /// A document's retained text.
    Text(String),
    /// A conversation's messages in the archive's order.
    Turns(Vec<DraftTurn>),
}

/// How a text is marked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Lines and paragraphs.
    Plain,
    /// CommonMark with tables.
    Markdown,
}

/// One source as an archive gives it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    /// The archive's own id; `None` takes the file's key.
    pub key: Option<String>,
    /// For people.
    pub title: String,
    /// Document or conversation.
    pub kind: SourceKind,
    /// How its text is marked up.
    pub form: Form,
    /// When the archive was exported, where it says so.
    pub exported_at: Option<Timestamp>,
    /// What else the archive says of it.
    pub metadata: BTreeMap<String, String>,
    /// Characters replaced while decoding.
    pub n_replaced: u64,
    /// Nothing of it was left out: a mirrored import may remove what it lacks.
    pub is_complete: bool,
    /// Where it lies in a folder that its reader claimed, for a source without a key of its own.
    pub part: Option<String>,
    /// Its text or turns.
    pub body: DraftBody,
}

impl Draft {
    /// A whole source of plain text that has no key of its own and of which no more is said.
    pub(crate) fn new(title: impl Into<String>, kind: SourceKind, body: DraftBody) -> Self {
        Self {
            key: None,
            title: title.into(),
            kind,
            form: Form::Plain,
            exported_at: None,
            metadata: BTreeMap::new(),
            n_replaced: 0,
            is_complete: true,
            part: None,
            body,
        }
    }
}

/// What a reader hands on: a source, or why something is none.
pub(crate) enum Event {
    /// A source.
    Draft(Draft),
    /// Something that was left out, with its place.
    Trouble(Trouble),
    /// Something that is not read and need not be: an attachment, an archive's index.
    Aside,
}

/// Takes a reader's events; an error from it ends the reading.
pub(crate) type Emit<'a> = dyn FnMut(Event) -> Result<()> + 'a;

/// What to read, and the bounds.
pub(crate) struct Input<'a> {
    /// Its files: one, or all of a folder that the reader claimed, named within it.
    pub parts: &'a [Part],
    /// Its name for people: the path within the import.
    pub name: &'a str,
    /// A source with more bytes is left out.
    pub source_bytes_max: u64,
}

impl Input<'_> {
    /// Its one file, or the first.
    fn part(&self) -> io::Result<&Part> {
        self.parts.first().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The bytes of its one file, from the beginning.
    pub fn open(&self) -> io::Result<Box<dyn Read>> {
        self.part()?.open()
    }

    /// Its one file as one that can be read out of order.
    pub fn backing(&self) -> io::Result<Arc<Backing>> {
        self.part()?.backing()
    }
}

/// The first bytes of a file, which say whose it is.
pub(crate) struct Head<'a> {
    /// At most [`decode::HEAD_BYTES`] of them.
    pub bytes: &'a [u8],
    /// The file's path within the import or its archive.
    pub name: &'a str,
    shape: OnceCell<Shape>,
}

impl<'a> Head<'a> {
    /// The head of the file `name`.
    pub fn new(bytes: &'a [u8], name: &'a str) -> Self {
        Self { bytes, name, shape: OnceCell::new() }
    }

    /// The names in it, where it is JSON.
    pub fn shape(&self) -> &Shape {
        self.shape.get_or_init(|| Shape::of(self.bytes))
    }
}

/// SEAM: a source format.
pub(crate) trait Reader: Sync {
    /// Its name: part of a source's identity.
    fn name(&self) -> &'static str;
    /// How sure it is, 0 to 100, that a file is its own.
    fn recognises(&self, head: &Head<'_>) -> u8;
    /// The folders it reads as one archive each, given the paths of all files that are listed together;
    /// the empty path is the outermost one.
    fn claims(&self, _names: &[&str]) -> Vec<String> {
        Vec::new()
    }
    /// Whether a file below a folder it claimed is its own, by the path within the folder; any other is read
    /// by itself.
    fn takes(&self, _name: &str) -> bool {
        true
    }
    /// Whether its sources have keys of their own, so that several files may hold parts of one.
    fn has_keys(&self) -> bool {
        false
    }
    /// Reads a file, or a folder it claimed, source by source; memory is bounded by the largest source.
    ///
    /// # Errors
    /// Only what `emit` returns: what is wrong with the file goes through `emit`.
    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()>;
}

/// Every reader; among equally sure ones the first is taken.
pub(crate) const READERS: &[&dyn Reader] = &[
    &chat::Chat,
    &chatgpt::ChatGpt,
    &claude::Claude,
    &claude_code::ClaudeCode,
    &codex::Codex,
    &discord::Discord,
    &irc::Irc,
    &locomo::Locomo,
    &messenger::Messenger,
    &slack::Slack,
    &telegram::Telegram,
    &whatsapp::WhatsApp,
    &markdown::Markdown,
    &transcript::Transcript,
    &text::Text,
    &messages::Messages,
    &companion::Companion,
];

/// The names of the readers, for `--format`.
pub fn names() -> Vec<&'static str> {
    READERS.iter().map(|reader| reader.name()).collect()
}

/// The reader called `name`.
pub(crate) fn reader(name: &str) -> Option<&'static dyn Reader> {
    READERS.iter().copied().find(|reader| reader.name() == name)
}

/// Whether a file of this name may hold sources with keys of their own, whatever is in it now.
pub(crate) fn may_have_keys(name: &str) -> bool {
    matches!(extension(name).as_str(), "jsonl" | "ndjson" | "json" | "zip" | "gz" | "tgz" | "zst" | "tar")
}

/// The reader that is surest of a file, or why there is none.
pub(crate) fn choose(head: &Head<'_>) -> std::result::Result<&'static dyn Reader, Trouble> {
    if head.bytes.is_empty() {
        return Err(empty());
    }
    if let Some(trouble) = decode::not_a_text(head.bytes) {
        return Err(trouble);
    }
    let mut best: Option<(u8, &'static dyn Reader)> = None;
    for reader in READERS.iter().copied() {
        let sure = reader.recognises(head);
        if sure > best.map_or(0, |(sure, _)| sure) {
            best = Some((sure, reader));
        }
    }
    best.map(|(_, reader)| reader).ok_or_else(|| {
        Trouble::new("", "no reader knows this format", "name one with --format, for example --format text")
    })
}

/// The trouble of a file without text.
pub(crate) fn empty() -> Trouble {
    Trouble::new("", "empty", "nothing to do: there is nothing to remember in it")
}

/// The trouble of a source that is over the bound.
pub(crate) fn too_large(place: &str, n_bytes: u64, bytes_max: u64) -> Trouble {
    Trouble::new(
        place,
        format!("{n_bytes} bytes, a source holds at most {bytes_max}"),
        "split it into smaller files, or convert it to chat JSONL with several conversations (docs/chat-jsonl.md)",
    )
}

/// Reads and decodes the whole of a file within the bound.
pub(crate) fn whole(input: &Input<'_>) -> std::result::Result<Decoded, Trouble> {
    let decoded = decode::decode(whole_bytes(input)?)?;
    if decoded.text.trim().is_empty() {
        return Err(empty());
    }
    Ok(decoded)
}

/// Reads the whole of a file within the bound.
fn whole_bytes(input: &Input<'_>) -> std::result::Result<Vec<u8>, Trouble> {
    let bytes_max = input.source_bytes_max;
    let part = input.part().map_err(|error| unreadable(&error))?;
    if let Some(n_bytes) = part.n_bytes.filter(|n_bytes| *n_bytes > bytes_max) {
        return Err(too_large("", n_bytes, bytes_max));
    }
    let mut bytes = Vec::new();
    // A file that grows while it is read, or that says nothing of its length, stays within the bound too.
    let reader = part.open().map_err(|error| unreadable(&error))?;
    reader.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > bytes_max {
        return Err(too_large("", bytes.len() as u64, bytes_max));
    }
    Ok(bytes)
}

/// Reads a name of a role as archives write it.
pub(crate) fn role_named(name: &str) -> Role {
    match name.to_lowercase().as_str() {
        "user" | "human" | "me" => Role::User,
        "assistant" | "ai" | "bot" | "model" | "chatgpt" | "claude" => Role::Assistant,
        "system" | "developer" => Role::System,
        "tool" | "function" => Role::Tool,
        _ => Role::Unknown,
    }
}

/// Gives turns without an id one that says what they are: digest of (author, role, time, text, n-th of these).
///
/// Two exports of one conversation then agree on it, which is what their union goes by.
#[derive(Debug, Default)]
pub(crate) struct DerivedIds {
    seen: HashMap<[u8; 16], u32>,
}

impl DerivedIds {
    /// The id of the next turn by `author` that says `text`.
    pub fn next(&mut self, author: &str, role: Role, said_at: Option<Timestamp>, text: &str) -> String {
        let base = IdHasher::new("strata turn v1")
            .field(author.as_bytes())
            .field(role.as_str().as_bytes())
            .field(&said_at.map_or([0; 8], |at| at.as_micros().to_le_bytes()))
            .field(text.as_bytes());
        let nth = self.seen.entry(base.finish()).or_insert(0);
        let id = base.field(&nth.to_le_bytes()).finish();
        *nth += 1;
        id.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The end of a path without folders: `c.md` of `a/b/c.md`.
pub(crate) fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The ending of a file name in lower case, empty where there is none.
pub(crate) fn extension(name: &str) -> String {
    match file_name(name).rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension.to_lowercase(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod damage;
#[cfg(test)]
mod real;

#[cfg(test)]
mod tests;
