//! Reads Codex session logs: one JSON object a line, current and older forms.
//!
//! A source is a session. A turn is a message, a call of a tool (its input stands in the metadata) or a
//! tool's answer. Reasoning and the client's own events, which repeat messages, are not said.

use std::collections::{BTreeMap, HashMap};

use model::Role;

use super::claude_code::{nothing_said, short};
use super::said::{Conversation, Said, written};
use super::{Emit, Event, Head, Input, Reader, records};
use super::{file_name, role_named};
use crate::json::{Value, array, field, text};
use crate::seam::Result;

/// The reader of Codex session logs.
pub(super) struct Codex;

impl Reader for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        if shape.record_depth() != 1 {
            return 0;
        }
        let kinds = ["session_meta", "response_item", "event_msg", "turn_context"];
        let is_current = shape.has(1, "payload") && kinds.iter().any(|kind| shape.says(1, "type", kind));
        let is_stream = shape.says(1, "type", "thread.started") && shape.has(1, "thread_id");
        let is_older = shape.says(1, "type", "message")
            && (shape.says(3, "type", "input_text") || shape.says(3, "type", "output_text"));
        if is_current || is_stream || is_older { 95 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let mut session = Session::default();
        let (is_whole, n_replaced) = records::each_line(input, emit, &mut |line| session.line(line))?;
        let mut chat = session.chat;
        if chat.is_empty() {
            return emit(Event::Trouble(nothing_said()));
        }
        chat.is_cut = !is_whole;
        chat.n_replaced += n_replaced;
        emit(chat.finish(file_name(input.name), input.source_bytes_max))
    }
}

#[derive(Default)]
struct Session {
    chat: Conversation,
    /// The names of the tools by call.
    calls: HashMap<String, String>,
    n_lines: u64,
}

impl Session {
    fn line(&mut self, line: &Value<'_>) {
        self.n_lines += 1;
        let payload = field(line, "payload");
        match text(field(line, "type")) {
            Some("session_meta") => self.begin(payload),
            Some("response_item") => self.item(payload, line),
            Some("thread.started") => self.chat.key = text(field(line, "thread_id")).map(str::to_owned),
            Some("item.completed") => self.item(field(line, "item"), line),
            // The first line of the older form says whose session it is and has no type.
            None if self.n_lines == 1 => self.begin(line),
            Some("message" | "function_call" | "function_call_output") => self.item(line, line),
            _ => {}
        }
    }

    fn begin(&mut self, about: &Value<'_>) {
        // A resumed session repeats the header of the one before it; the first one names the file.
        if self.chat.key.is_none() {
            self.chat.key = text(field(about, "id")).map(str::to_owned);
        }
        let git = field(about, "git");
        for (name, value) in [("cwd", field(about, "cwd")), ("branch", field(git, "branch"))] {
            self.chat.metadata.extend(text(value).map(|value| (name.to_owned(), value.to_owned())));
        }
    }

    fn item(&mut self, item: &Value<'_>, line: &Value<'_>) {
        let call = text(field(item, "call_id"));
        let mut metadata = BTreeMap::new();
        let (role, author, words) = match text(field(item, "type")).unwrap_or_default() {
            "message" => {
                let role = role_named(text(field(item, "role")).unwrap_or_default());
                (role, if role == Role::Assistant { "Codex" } else { "" }.to_owned(), words(field(item, "content")))
            }
            "agent_message" => (Role::Assistant, "Codex".to_owned(), words(field(item, "text"))),
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                let name = text(field(item, "name")).unwrap_or("shell");
                self.calls.extend(call.map(|call| (call.to_owned(), name.to_owned())));
                let asked = ["arguments", "input"].into_iter().find_map(|name| text(field(item, name)));
                let asked = asked.map_or_else(|| field(item, "action").to_string(), str::to_owned);
                metadata.insert("tools".to_owned(), format!("{name} {}", short(&asked)));
                (Role::Assistant, "Codex".to_owned(), String::new())
            }
            "function_call_output" | "custom_tool_call_output" => {
                let name = call.and_then(|call| self.calls.get(call).cloned()).unwrap_or_default();
                (Role::Tool, name, words(field(item, "output")))
            }
            _ => return,
        };
        let stamps = [field(line, "timestamp"), field(item, "timestamp")];
        let at = stamps.into_iter().find_map(|stamp| text(stamp).and_then(written));
        self.chat.say(Said {
            id: text(field(item, "id")),
            author: &author,
            role: Some(role),
            at: at.map(|(at, _)| at),
            is_inferred: at.is_some_and(|(_, is_inferred)| is_inferred),
            text: &words,
            metadata,
            ..Said::default()
        });
    }
}

/// The words of a content: a text, a list of blocks, or an object that holds one.
fn words(content: &Value<'_>) -> String {
    if let Some(content) = text(content) {
        return content.to_owned();
    }
    let blocks: Vec<&str> = array(content).iter().filter_map(|block| text(field(block, "text"))).collect();
    if blocks.is_empty() { text(field(content, "content")).unwrap_or_default().to_owned() } else { blocks.join("\n") }
}
