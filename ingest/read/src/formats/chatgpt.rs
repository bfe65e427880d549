//! Reads ChatGPT exports: `conversations.json`, its numbered shards, single conversations.
//!
//! A conversation is a tree of messages; the branch that ends at `current_node` is the one the person
//! last saw. A turn is a message with words or an attachment of its own. What the model thinks and what
//! a person's settings add to every conversation are no turns; how many were left out is noted.
//!
//! Format: the account's data export, as of 2023 to 2026 (`mapping`, `current_node`).

use std::collections::BTreeMap;

use model::{Role, Timestamp};

use super::said::{Conversation, Said, derived_key, seconds};
use super::tree::{self, Node};
use super::{Emit, Event, Head, Input, Reader, records};
use super::{file_name, role_named};
use crate::json::{Value, array, field, number, object, text};
use crate::seam::Result;

/// The reader of ChatGPT exports.
pub(super) struct ChatGpt;

/// Kinds of content that are not said in the conversation.
const UNSAID: &[&str] = &["thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"];

impl Reader for ChatGpt {
    fn name(&self) -> &'static str {
        "chatgpt"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        let depth = shape.record_depth();
        let is_tree =
            shape.has(depth + 2, "parent") || shape.has(depth + 2, "children") || shape.has(depth + 2, "message");
        let names = ["current_node", "conversation_id", "create_time", "update_time"];
        let is_named = names.iter().any(|name| shape.has(depth, name));
        if shape.has(depth, "mapping") && (is_tree || is_named) { 95 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let bytes_max = input.source_bytes_max;
        records::each(input, emit, &mut |record| conversation(record, file_name(input.name), bytes_max))
    }
}

fn conversation(record: &Value<'_>, name: &str, bytes_max: u64) -> Event {
    let messages: Vec<Message<'_>> = object(field(record, "mapping")).map(|(id, node)| Message::of(id, node)).collect();
    let nodes: Vec<Node<'_>> = in_order(record, &messages);
    let by_id: BTreeMap<&str, &Message<'_>> = messages.iter().map(|message| (message.node, message)).collect();
    let mut chat = Conversation {
        title: text(field(record, "title")).map(str::trim).filter(|title| !title.is_empty()).map(str::to_owned),
        exported_at: moment(field(record, "update_time")),
        ..Conversation::default()
    };
    let (mut n_unsaid, mut first_id) = (0, None);
    // The id of the turn at a node, or of the nearest one above it.
    let mut said: Vec<Option<String>> = vec![None; nodes.len()];
    for place in tree::order(&nodes, text(field(record, "current_node"))) {
        let above = place.parent.and_then(|parent| said[parent].clone());
        let Some(message) = by_id.get(nodes[place.idx].id) else { continue };
        let branch = place.branch.map(|branch| nodes[branch].id);
        said[place.idx] = match message.say(&mut chat, above.clone(), branch) {
            Ok(Some(id)) => {
                first_id.get_or_insert_with(|| id.clone());
                Some(id)
            }
            Ok(None) => above,
            Err(Unsaid) => {
                n_unsaid += 1;
                above
            }
        };
    }
    if n_unsaid > 0 {
        chat.metadata.insert("left_out".to_owned(), format!("{n_unsaid} messages that were not said"));
    }
    let id = text(field(record, "conversation_id")).or_else(|| text(field(record, "id")));
    let created = number(field(record, "create_time")).map(|at| at.to_string()).unwrap_or_default();
    chat.key = Some(id.map_or_else(
        || {
            derived_key(&[
                "chatgpt",
                chat.title.as_deref().unwrap_or_default(),
                &created,
                &first_id.unwrap_or_default(),
            ])
        },
        str::to_owned,
    ));
    if let Some(model) = text(field(record, "default_model_slug")) {
        chat.metadata.insert("model".to_owned(), model.to_owned());
    }
    chat.finish(name, bytes_max)
}

/// The nodes in the order of their parents' lists of children, those in no list in the archive's order.
fn in_order<'v>(record: &'v Value<'v>, messages: &[Message<'v>]) -> Vec<Node<'v>> {
    let mut ranks: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, node) in object(field(record, "mapping")) {
        for (rank, child) in array(field(node, "children")).iter().enumerate() {
            if let Some(child) = text(child) {
                ranks.entry(child).or_insert(rank);
            }
        }
    }
    let mut nodes: Vec<Node<'v>> = messages
        .iter()
        .map(|message| Node { id: message.node, parent: message.parent, at: message.at.unwrap_or(0.0) })
        .collect();
    nodes.sort_by_key(|node| ranks.get(node.id).copied().unwrap_or(0));
    nodes
}

/// A message that is no part of what was said.
struct Unsaid;

/// A node with its message.
struct Message<'v> {
    node: &'v str,
    parent: Option<&'v str>,
    at: Option<f64>,
    message: &'v Value<'v>,
}

impl<'v> Message<'v> {
    fn of(id: &'v str, node: &'v Value<'v>) -> Self {
        let message = field(node, "message");
        let at = number(field(message, "create_time"));
        Self { node: text(field(node, "id")).unwrap_or(id), parent: text(field(node, "parent")), at, message }
    }

    /// Says the message; the id of its turn, or `None` where it has neither words nor attachments.
    fn say(
        &self,
        chat: &mut Conversation,
        reply_to: Option<String>,
        branch: Option<&str>,
    ) -> std::result::Result<Option<String>, Unsaid> {
        let content = field(self.message, "content");
        if UNSAID.contains(&text(field(content, "content_type")).unwrap_or_default()) {
            return Err(Unsaid);
        }
        let (words, attachments) = self.words(content);
        if words.trim().is_empty() && attachments.is_empty() {
            return Ok(None);
        }
        let author = field(self.message, "author");
        let role = role_named(text(field(author, "role")).unwrap_or_default());
        let name = text(field(author, "name")).unwrap_or(if role == Role::Assistant { "ChatGPT" } else { "" });
        let mut metadata = BTreeMap::new();
        let mut note = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                metadata.insert(name.to_owned(), value.to_owned());
            }
        };
        let about = field(self.message, "metadata");
        note("model", text(field(about, "model_slug")));
        note("branch", branch);
        note("to", text(field(self.message, "recipient")).filter(|to| *to != "all"));
        note("attachments", Some(attachments.join("\n")).filter(|names| !names.is_empty()).as_deref());
        if *field(about, "is_visually_hidden_from_conversation") == Value::Bool(true) {
            note("hidden", Some("true"));
        }
        Ok(Some(chat.say(Said {
            id: Some(text(field(self.message, "id")).unwrap_or(self.node)),
            author: name,
            role: Some(role),
            at: self.at.and_then(seconds),
            reply_to,
            text: &words,
            metadata,
            ..Said::default()
        })))
    }

    /// The words of a content, and the names of what is attached.
    fn words(&self, content: &Value<'_>) -> (String, Vec<String>) {
        let mut words: Vec<&str> = Vec::new();
        let mut attachments: Vec<String> = Vec::new();
        for part in array(field(content, "parts")) {
            let pointer = text(field(part, "asset_pointer"));
            words.extend(text(part).or_else(|| text(field(part, "text"))));
            attachments.extend(pointer.map(str::to_owned));
        }
        if words.is_empty() {
            let other = ["text", "result", "content"].into_iter().find_map(|name| text(field(content, name)));
            words.extend(other);
        }
        for attachment in array(field(field(self.message, "metadata"), "attachments")) {
            let name = text(field(attachment, "name")).or_else(|| text(field(attachment, "id")));
            attachments.extend(name.map(str::to_owned));
        }
        (words.join("\n"), attachments)
    }
}

fn moment(value: &Value<'_>) -> Option<Timestamp> {
    number(value).and_then(seconds)
}
