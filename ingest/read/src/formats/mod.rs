//! The formats: which reader takes what, and what it makes of it.
//!
//! | reader | takes | a source is | key |
//! |---|---|---|---|
//! | `chat` | our chat JSONL (docs/chat-jsonl.md) | a conversation | `conversation` |
//! | `chatgpt` | ChatGPT's `conversations.json`, also in shards | a conversation | `conversation_id` |
//! | `claude` | Claude's `conversations.json` and projects | a conversation, a document | `uuid` |
//! | `claude-code` | Claude Code's session logs | a session, an agent's part of one | `sessionId` |
//! | `code` | source code and build files, by their names | a file | label/path |
//! | `codex` | Codex's session logs | a session | its id |
//! | `discord` | DiscordChatExporter's JSON | a channel | its id |
//! | `companion` | what stands beside the conversations of an account's export | nothing | |
//! | `html` | pages, their main text | a file | label/path |
//! | `irc` | IRC logs | a file | label/path |
//! | `locomo` | LoCoMo's JSON array of samples | a sample | `sample_id` |
//! | `markdown` | `.md`, `.markdown` | a file | label/path |
//! | `markup` | reStructuredText, AsciiDoc, Org, LaTeX | a file | label/path |
//! | `messages` | JSON or JSONL of messages, by the usual names | a conversation | its id, else label/path |
//! | `messenger` | Messenger and Instagram, numbered files joined | a chat | `thread_path` |
//! | `notebook` | Jupyter notebooks | a file | label/path |
//! | `slack` | a workspace's export as a folder or ZIP, slackdump's files | a channel | its id |
//! | `subtitles` | WebVTT, SubRip, SubViewer | a file | label/path |
//! | `table` | CSV, TSV | a file | label/path |
//! | `telegram` | Telegram Desktop's JSON, a chat or an account | a chat | its id |
//! | `transcript` | text with `User:`-like prefixes | a file | label/path |
//! | `whatsapp` | WhatsApp's `_chat.txt` | a chat | digest of its first message |
//! | `text` | `.txt`, `.log`, …, anything when forced | a file | label/path |
//!
//! To add one: a file here, a line in [`READERS`], an example with its `.expected` twin in `ingest/read/tests/data`.

mod chat;
mod chat_line;
mod chatgpt;
mod claude;
mod claude_code;
mod code;
mod codex;
mod companion;
mod discord;
mod html;
mod html_text;
mod irc;
mod locomo;
mod markdown;
mod markup;
mod messages;
mod messenger;
mod notebook;
mod records;
mod said;
mod slack;
mod slack_message;
mod subtitles;
mod table;
mod telegram;
mod text;
mod transcript;
mod tree;
mod whatsapp;
mod whatsapp_line;
mod whatsapp_text;

pub use markdown::options as markdown_options;

use std::io::Read;

use model::Role;

use crate::decode::{self, Decoded, Trouble, too_large};
use crate::files::unreadable;
use crate::seam::{DerivedIds, Draft, DraftBody, DraftTurn, Emit, Event, Form, Head, Input, Reader};

/// Every reader; among equally sure ones the first is taken.
pub(crate) const READERS: &[&dyn Reader] = &[
    &chat::Chat,
    &chatgpt::ChatGpt,
    &claude::Claude,
    &claude_code::ClaudeCode,
    &codex::Codex,
    &discord::Discord,
    &html::Html,
    &irc::Irc,
    &locomo::Locomo,
    &messenger::Messenger,
    &notebook::Notebook,
    &slack::Slack,
    &subtitles::Subtitles,
    &telegram::Telegram,
    &whatsapp::WhatsApp,
    &markdown::Markdown,
    &markup::Markup,
    &table::Table,
    &code::Code,
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
pub fn reader(name: &str) -> Option<&'static dyn Reader> {
    READERS.iter().copied().find(|reader| reader.name() == name)
}

/// Whether a file of this name may hold sources with keys of their own, whatever is in it now.
pub fn may_have_keys(name: &str) -> bool {
    matches!(extension(name).as_str(), "jsonl" | "ndjson" | "json" | "zip" | "gz" | "tgz" | "zst" | "tar")
}

/// The reader that is surest of a file, or why there is none.
pub(crate) fn choose(head: &Head<'_>) -> std::result::Result<&'static dyn Reader, Trouble> {
    if head.bytes.is_empty() {
        return Err(empty());
    }
    let bytes = decode::head(head.bytes)?;
    let head = &Head::new(&bytes, head.name);
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

/// Reads and decodes the whole of a file within the bound.
pub(crate) fn whole(input: &Input<'_>) -> std::result::Result<Decoded, Trouble> {
    let decoded = decode::decode(whole_bytes(input)?, None)?;
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
