//! Reads Claude Code session logs: one JSON object a line.
//!
//! A source is a session, or one agent's part of it. A turn is a line of a person or the model, whether
//! it has words or uses a tool: what a tool was asked stands in its metadata, what it answered is said
//! by the tool. Thinking is not said. A line that comes twice is kept as it came first.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::Role;

use super::said::{Conversation, Said, written};
use super::{Emit, Event, Head, Input, Reader, records};
use super::{file_name, role_named};
use crate::decode::Trouble;
use crate::json::{Value, array, field, text};
use crate::seam::Result;

/// The reader of Claude Code session logs.
pub(super) struct ClaudeCode;

/// What a tool was asked is kept up to so many characters.
pub(super) const TOOL_INPUT_CHARS_MAX: usize = 2000;

impl Reader for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        if shape.record_depth() != 1 {
            return 0;
        }
        let is_session =
            shape.has_all(1, &["type", "sessionId"]) && (shape.has(1, "uuid") || shape.has(1, "timestamp"));
        let is_start = shape.has_all(1, &["type", "leafUuid"]) || shape.has_all(1, &["type", "snapshot", "messageId"]);
        if is_session || is_start { 95 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let mut sessions = Sessions::default();
        let (is_whole, n_replaced) = records::each_line(input, emit, &mut |line| sessions.line(line))?;
        if sessions.open.is_empty() {
            return emit(Event::Trouble(nothing_said()));
        }
        for (nth, mut chat) in sessions.open.into_iter().map(|session| session.chat).enumerate() {
            chat.is_cut = !is_whole;
            chat.title = chat.title.take().or_else(|| sessions.title.clone());
            chat.n_replaced += if nth == 0 { n_replaced } else { 0 };
            emit(chat.finish(file_name(input.name), input.source_bytes_max))?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct Session {
    chat: Conversation,
    seen: HashSet<String>,
    /// The id of the turn that each line belongs to: what answers a line without one answers that.
    said: HashMap<String, Option<String>>,
}

#[derive(Default)]
struct Sessions {
    places: HashMap<String, usize>,
    open: Vec<Session>,
    title: Option<String>,
}

impl Sessions {
    fn line(&mut self, line: &Value<'_>) {
        let kind = text(field(line, "type")).unwrap_or_default();
        if let ("summary", Some(title)) = (kind, text(field(line, "summary"))) {
            self.title = Some(title.to_owned());
            return;
        }
        let Some(id) = text(field(line, "sessionId")) else { return };
        if !matches!(kind, "user" | "assistant" | "system" | "summary") {
            return;
        }
        let key = match text(field(line, "agentId")) {
            Some(agent) => format!("{id}/{agent}"),
            None => id.to_owned(),
        };
        let next = self.open.len();
        let place = *self.places.entry(key.clone()).or_insert(next);
        if place == next {
            let chat = Conversation { key: Some(key), ..Conversation::default() };
            self.open.push(Session { chat, ..Session::default() });
        }
        self.open[place].say(kind, line);
    }
}

impl Session {
    fn say(&mut self, kind: &str, line: &Value<'_>) {
        let id = text(field(line, "uuid"));
        if id.is_some_and(|id| !self.seen.insert(id.to_owned())) {
            return;
        }
        let parent = text(field(line, "parentUuid"));
        let reply_to = parent.and_then(|parent| self.said.get(parent).cloned()).flatten();
        let message = field(line, "message");
        let blocks =
            Blocks::of(if message == &Value::Null { field(line, "content") } else { field(message, "content") });
        let words = blocks.words();
        if matches!(kind, "system" | "summary") && words.is_empty() {
            self.said.extend(id.map(|id| (id.to_owned(), reply_to)));
            return;
        }
        let role = match kind {
            "system" | "summary" => Role::System,
            _ if blocks.is_tool() => Role::Tool,
            kind => role_named(kind),
        };
        let mut metadata = blocks.metadata;
        let mut note = |name: &str, value: Option<&str>| {
            metadata.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        };
        note("model", text(field(message, "model")));
        note("meta", (*field(line, "isMeta") == Value::Bool(true)).then_some("true"));
        note("summary", (*field(line, "isCompactSummary") == Value::Bool(true)).then_some("true"));
        let at = text(field(line, "timestamp")).and_then(written);
        let said = self.chat.say(Said {
            id,
            author: if role == Role::Assistant { "Claude" } else { "" },
            role: Some(role),
            at: at.map(|(at, _)| at),
            is_inferred: at.is_some_and(|(_, is_inferred)| is_inferred),
            reply_to,
            text: &words,
            metadata,
        });
        self.said.extend(id.map(|id| (id.to_owned(), Some(said))));
        if self.chat.metadata.is_empty() {
            let about = [("cwd", "cwd"), ("gitBranch", "branch")];
            let noted =
                about.iter().filter_map(|(from, to)| Some(((*to).to_owned(), text(field(line, from))?.to_owned())));
            self.chat.metadata.extend(noted);
        }
    }
}

/// What the blocks of a message say.
#[derive(Default)]
struct Blocks {
    words: Vec<String>,
    answers: Vec<String>,
    metadata: BTreeMap<String, String>,
}

impl Blocks {
    fn of(content: &Value<'_>) -> Self {
        let mut blocks = Self::default();
        blocks.words.extend(text(content).map(str::to_owned));
        let (mut tools, mut n_images) = (Vec::new(), 0);
        for block in array(content) {
            match text(field(block, "type")).unwrap_or("text") {
                "text" => blocks.words.extend(text(field(block, "text")).map(str::to_owned)),
                "tool_use" => tools.push(asked(block)),
                "tool_result" => blocks.answers.push(answer(field(block, "content"))),
                "image" | "document" => n_images += 1,
                _ => {}
            }
        }
        if !tools.is_empty() {
            blocks.metadata.insert("tools".to_owned(), tools.join("\n"));
        }
        if n_images > 0 {
            blocks.metadata.insert("attachments".to_owned(), format!("{n_images} pictures or documents"));
        }
        blocks
    }

    fn is_tool(&self) -> bool {
        self.words.is_empty() && !self.answers.is_empty()
    }

    fn words(&self) -> String {
        let all: Vec<&str> = self.words.iter().chain(&self.answers).map(String::as_str).collect();
        all.join("\n\n")
    }
}

/// The trouble of a log in which nothing was said.
pub(super) fn nothing_said() -> Trouble {
    Trouble::new("", "no message in it", "leave it out, or copy the session's log again")
}

fn asked(block: &Value<'_>) -> String {
    let name = text(field(block, "name")).unwrap_or("tool");
    let input = field(block, "input");
    format!("{name} {}", short(&input.to_string()))
}

fn answer(content: &Value<'_>) -> String {
    let parts: Vec<&str> = array(content).iter().filter_map(|part| text(field(part, "text"))).collect();
    text(content).map_or_else(|| parts.join("\n"), str::to_owned)
}

/// A text up to the length that is kept of what a tool was asked.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(TOOL_INPUT_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
