//! The formats: which reader takes what, and what it makes of it.
//!
//! | reader | takes | a source is | key |
//! |---|---|---|---|
//! | `activity` | Google Takeout's activities: My Activity, YouTube, Chrome | a month | label/path#month |
//! | `chat` | our chat JSONL (docs/chat-jsonl.md) | a conversation | `conversation` |
//! | `chatgpt` | ChatGPT's `conversations.json`, also in shards | a conversation | `conversation_id` |
//! | `claude` | Claude's `conversations.json` and projects | a conversation, a document | `uuid` |
//! | `claude-code` | Claude Code's session logs | a session, an agent's part of one | `sessionId` |
//! | `code` | source code and build files, by their names | a file | label/path |
//! | `codex` | Codex's session logs | a session | its id |
//! | `discord` | DiscordChatExporter's JSON | a channel | its id |
//! | `docx` | DOCX | a file | label/path |
//! | `epub` | EPUB | a book | label/path |
//! | `odt` | ODT, the words of ODS and ODP | a file | label/path |
//! | `companion` | what stands beside the conversations of an account's export | nothing | |
//! | `google-chat` | Google Chat in Takeout, its folder as one | a group | the group's folder |
//! | `html` | pages, their main text | a file | label/path |
//! | `irc` | IRC logs | a file | label/path |
//! | `keep` | Keep's notes in Takeout | a note | label/path |
//! | `locomo` | LoCoMo's JSON array of samples | a sample | `sample_id` |
//! | `mail` | mbox, `.eml`, Maildir | a thread | the id that began it |
//! | `mapped` | JSON by a mapping, only where one is given | a conversation | as it says, else label/path |
//! | `markdown` | `.md`, `.markdown` | a file | label/path |
//! | `memories` | dumps of mem0, Zep, Letta, LangGraph, swafra, memora | an owner's memories | the owner's ids |
//! | `messages` | JSON or JSONL of messages, by the usual names | a conversation | its id, else label/path |
//! | `messenger` | Messenger and Instagram, numbered files joined | a chat | `thread_path` |
//! | `signal` | Signal's plaintext export, signal-export's and sigtop's JSON | a chat | its id, else label/path |
//! | `skype` | Skype's and personal Teams' export | a conversation | its id |
//! | `pdf` | PDF | a file | label/path |
//! | `pptx` | PPTX | a file | label/path |
//! | `rtf` | RTF | a file | label/path |
//! | `markup` | reStructuredText, AsciiDoc, Org, LaTeX | a file | label/path |
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

mod activity;
mod activity_page;
mod chat;
mod chat_line;
mod chatgpt;
mod claude;
mod claude_code;
mod code;
mod codex;
mod companion;
mod discord;
mod docx;
mod docx_body;
mod docx_styles;
mod epub;
mod google_chat;
mod html;
mod html_text;
mod irc;
mod keep;
mod locomo;
mod mail;
mod mail_box;
mod mail_message;
mod mail_quoted;
mod mail_threads;
mod mapped;
mod markdown;
mod markup;
mod memories;
mod memory;
mod messages;
mod messenger;
mod notebook;
mod odt;
mod odt_body;
mod office_meta;
mod package;
mod pdf;
mod pdf_guard;
mod pdf_layout;
mod pdf_pages;
mod pptx;
mod records;
mod rtf;
mod rtf_codes;
mod rtf_text;
mod rtf_tokens;
mod said;
mod signal;
mod skype;
mod slack;
mod slack_message;
mod snippet;
mod subtitles;
mod table;
mod telegram;
mod text;
mod transcript;
mod tree;
mod whatsapp;
mod whatsapp_line;
mod whatsapp_text;
mod xml;

pub use markdown::options as markdown_options;

use std::borrow::Cow;
use std::io::Read;

use model::Role;

use crate::archive::Listed;
use crate::decode::{self, Decoded, Trouble, too_large};
use crate::files::unreadable;
use crate::seam::{DerivedIds, Draft, DraftBody, DraftTurn, Emit, Event, Form, Head, Input, Reader, Result};

/// Every reader; among equally sure ones the first is taken.
pub(crate) const READERS: &[&dyn Reader] = &[
    &activity::Activity,
    &chat::Chat,
    &chatgpt::ChatGpt,
    &claude::Claude,
    &claude_code::ClaudeCode,
    &codex::Codex,
    &discord::Discord,
    &google_chat::GoogleChat,
    &docx::Docx,
    &epub::Epub,
    &html::Html,
    &irc::Irc,
    &keep::Keep,
    &locomo::Locomo,
    &mail::Letters,
    &messenger::Messenger,
    &signal::Signal,
    &skype::Skype,
    &odt::Odt,
    &pdf::Pdf,
    &pptx::Pptx,
    &rtf::Rtf,
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
    &memories::Memories,
    &messages::Messages,
    &companion::Companion,
];

/// The names of the readers, for `--format`.
pub fn names() -> Vec<&'static str> {
    READERS.iter().map(|reader| reader.name()).collect()
}

/// The reader that is taken only where a mapping is given, and then for every file: no name of `--format`.
const MAPPED: &dyn Reader = &mapped::Mapped;

/// The reader called `name`.
pub fn reader(name: &str) -> Option<&'static dyn Reader> {
    READERS.iter().chain([&MAPPED]).copied().find(|reader| reader.name() == name)
}

/// Whether a file of this name may hold sources with keys of their own, whatever is in it now.
pub fn may_have_keys(name: &str) -> bool {
    matches!(
        extension(name).as_str(),
        "" | "mbox" | "eml" | "jsonl" | "ndjson" | "json" | "zip" | "gz" | "tgz" | "zst" | "tar"
    )
}

/// The reader that is surest of a file, or why there is none.
pub(crate) fn choose(head: &Head<'_>) -> std::result::Result<&'static dyn Reader, Trouble> {
    if head.bytes.is_empty() {
        return Err(empty());
    }
    let no_text = decode::not_a_text(head.bytes);
    let bytes = match no_text {
        Some(_) => Cow::Borrowed(head.bytes),
        None => decode::head(head.bytes)?,
    };
    let head = &Head::new(&bytes, head.name);
    let mut best: Option<(u8, &'static dyn Reader)> = None;
    for reader in READERS.iter().copied().filter(|reader| no_text.is_none() || reader.reads_binary()) {
        let sure = reader.recognises(head);
        if sure > best.map_or(0, |(sure, _)| sure) {
            best = Some((sure, reader));
        }
    }
    best.map(|(_, reader)| reader).ok_or_else(|| {
        no_text.unwrap_or_else(|| {
            Trouble::new("", "no reader knows this format", "name one with --format, for example --format text")
        })
    })
}

/// Entries by which a document that is packed as a ZIP archive is known.
const DOCUMENT_NAMES: &[&str] = &["[Content_Types].xml", "mimetype", "META-INF/container.xml"];

/// Who reads the archive `listed` as one document, `format` being forced; `None` where it is an archive of files.
pub(crate) fn packed(
    listed: &Listed,
    format: Option<&'static dyn Reader>,
) -> Option<std::result::Result<&'static dyn Reader, Trouble>> {
    // What is damaged or too dense names the document too.
    let parts = listed.parts.iter().map(|part| part.name.as_str());
    let names: Vec<&str> = parts.chain(listed.troubles.iter().map(|(name, _)| name.as_str())).collect();
    let mimetype = listed.parts.iter().find(|part| part.name == "mimetype").and_then(|part| part.head(128).ok());
    let mimetype = String::from_utf8_lossy(mimetype.as_deref().unwrap_or_default()).trim().to_owned();
    let reader = READERS.iter().copied().find(|reader| reader.packs(&names, &mimetype));
    match (reader, format) {
        (_, Some(format)) if format.packs(&names, &mimetype) => Some(Ok(format)),
        (Some(reader), None) => Some(Ok(reader)),
        (Some(reader), Some(_)) => {
            let reason = format!("a document that the reader {} knows, not the one that is forced", reader.name());
            Some(Err(Trouble::new("", reason, "leave out --format")))
        }
        (None, _) => names.iter().any(|name| DOCUMENT_NAMES.contains(name)).then(|| {
            let reason = "a binary file (a document of an office program, or a book)";
            Err(Trouble::new("", reason, "convert it to text first"))
        }),
    }
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

/// Reads the whole of a file within the bound on a source.
fn whole_bytes(input: &Input<'_>) -> std::result::Result<Vec<u8>, Trouble> {
    bytes_within(input, input.source_bytes_max)
}

/// Reads the whole of a file of at most so many bytes.
fn bytes_within(input: &Input<'_>, bytes_max: u64) -> std::result::Result<Vec<u8>, Trouble> {
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

/// What a document is read to: its draft, unless nothing is left of it, and what was left out; or why it is none.
type Document = std::result::Result<(Option<Draft>, Vec<Trouble>), Trouble>;

/// Hands on what a document was read to, the troubles first.
fn hand_on(read: Document, emit: &mut Emit<'_>) -> Result<()> {
    let (draft, troubles) = read.unwrap_or_else(|trouble| (None, vec![trouble]));
    troubles.into_iter().try_for_each(|trouble| emit(Event::Trouble(trouble)))?;
    draft.map_or(Ok(()), |draft| emit(Event::Draft(draft)))
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
mod book_tests;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod docx_tests;
#[cfg(test)]
mod mail_real;
#[cfg(test)]
mod office_tests;
#[cfg(test)]
mod real;

#[cfg(test)]
mod tests;
