//! Reads Claude exports: `conversations.json` of the account's data, and projects' documents.
//!
//! A turn is a message with words or an attachment. Its words are its text blocks; thinking and the
//! use of tools are not said, and are counted. Text that was pasted as an attachment is kept as a
//! document of its own beside the conversation.
//!
//! Format: the account's data export, as of 2024 to 2026 (`chat_messages`).

use std::collections::BTreeMap;

use model::{Role, SourceKind, Timestamp};

use super::said::{Conversation, Said, derived_key, written};
use super::tree::{self, Node};
use super::{Draft, DraftBody, Emit, Event, Form, Head, Input, Reader, records};
use super::{file_name, role_named};
use crate::json::{Value, array, clean, field, text};
use crate::seam::Result;

/// The reader of Claude exports.
pub(super) struct Claude;

impl Reader for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        let depth = shape.record_depth();
        let is_chat = shape.has(depth, "chat_messages") || (shape.has(depth, "uuid") && shape.has(depth + 2, "sender"));
        let is_project = shape.has_all(depth, &["uuid", "docs"]);
        if is_chat || is_project { 95 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let (name, bytes_max) = (file_name(input.name), input.source_bytes_max);
        let mut documents = Vec::new();
        records::each_with(input, emit, &mut |record, emit| {
            if array(field(record, "docs")).is_empty() {
                emit(conversation(record, name, bytes_max, &mut documents))?;
            } else {
                documents.extend(array(field(record, "docs")).iter().filter_map(|file| project_file(record, file)));
            }
            documents.drain(..).try_for_each(|document| emit(Event::Draft(document)))
        })
    }
}

fn conversation(record: &Value<'_>, name: &str, bytes_max: u64, documents: &mut Vec<Draft>) -> Event {
    let messages = array(field(record, "chat_messages"));
    let ids: Vec<String> = messages.iter().enumerate().map(|(idx, message)| id_of(message, idx)).collect();
    let nodes: Vec<Node<'_>> = messages
        .iter()
        .zip(&ids)
        .enumerate()
        .map(|(idx, (message, id))| {
            // Older exports name no parent: each message answers the one before it.
            let parent = match field(message, "parent_message_uuid") {
                Value::Str(parent) => Some(&**parent),
                _ => idx.checked_sub(1).map(|before| ids[before].as_str()),
            };
            Node { id, parent, at: idx as f64 }
        })
        .collect();
    let key = text(field(record, "uuid")).map_or_else(
        || {
            derived_key(&[
                "claude",
                text(field(record, "created_at")).unwrap_or_default(),
                ids.first().map_or("", |id| id),
            ])
        },
        str::to_owned,
    );
    let mut chat = Conversation {
        title: text(field(record, "name")).map(str::trim).filter(|title| !title.is_empty()).map(str::to_owned),
        exported_at: moment(field(record, "updated_at")).map(|(at, _)| at),
        ..Conversation::default()
    };
    let mut said: Vec<Option<String>> = vec![None; nodes.len()];
    let mut n_unsaid = 0;
    for place in tree::order(&nodes, text(field(record, "current_leaf_message_uuid"))) {
        let above = place.parent.and_then(|parent| said[parent].clone());
        let message = &messages[place.idx];
        let branch = place.branch.map(|branch| nodes[branch].id);
        let id = say(message, nodes[place.idx].id, above.clone(), branch, &mut chat, &mut n_unsaid);
        said[place.idx] = id.or(above);
        let pasted = array(field(message, "attachments")).iter().enumerate();
        documents.extend(pasted.filter_map(|(nth, file)| pasted_file(&key, nodes[place.idx].id, nth, message, file)));
    }
    if n_unsaid > 0 {
        chat.metadata.insert("left_out".to_owned(), format!("{n_unsaid} blocks that were not said"));
    }
    chat.key = Some(key);
    chat.finish(name, bytes_max)
}

fn id_of(message: &Value<'_>, idx: usize) -> String {
    text(field(message, "uuid")).map_or_else(|| format!("#{idx}"), str::to_owned)
}

fn say(
    message: &Value<'_>,
    id: &str,
    reply_to: Option<String>,
    branch: Option<&str>,
    chat: &mut Conversation,
    n_unsaid: &mut usize,
) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    for block in array(field(message, "content")) {
        match text(field(block, "type")) {
            Some("text") | None => words.extend(text(field(block, "text"))),
            Some(_) => *n_unsaid += 1,
        }
    }
    let whole = text(field(message, "text"));
    let words = if words.is_empty() { whole.unwrap_or_default().to_owned() } else { words.join("\n\n") };
    let names: Vec<&str> = ["attachments", "files"]
        .iter()
        .flat_map(|list| array(field(message, list)))
        .filter_map(|file| text(field(file, "file_name")))
        .collect();
    if words.trim().is_empty() && names.is_empty() {
        return None;
    }
    let role = role_named(text(field(message, "sender")).unwrap_or_default());
    let (at, is_inferred) = moment(field(message, "created_at")).map_or((None, false), |(at, is)| (Some(at), is));
    let mut metadata = BTreeMap::new();
    if !names.is_empty() {
        metadata.insert("attachments".to_owned(), names.join("\n"));
    }
    if let Some(branch) = branch {
        metadata.insert("branch".to_owned(), branch.to_owned());
    }
    Some(chat.say(Said {
        id: (!id.starts_with('#')).then_some(id),
        author: if role == Role::Assistant { "Claude" } else { "" },
        role: Some(role),
        at,
        is_inferred,
        reply_to,
        text: &words,
        metadata,
    }))
}

/// A text that was attached to a message.
fn pasted_file(chat: &str, message_id: &str, nth: usize, message: &Value<'_>, file: &Value<'_>) -> Option<Draft> {
    let key = format!("{chat}/{message_id}/{nth}");
    let mut draft = document(key, text(field(file, "extracted_content"))?, text(field(file, "file_name")));
    draft.exported_at = moment(field(message, "created_at")).map(|(at, _)| at);
    draft.metadata.insert("conversation".to_owned(), chat.to_owned());
    Some(draft)
}

/// A document of a project.
fn project_file(project: &Value<'_>, file: &Value<'_>) -> Option<Draft> {
    let key = format!("{}/{}", text(field(project, "uuid"))?, text(field(file, "uuid"))?);
    let mut draft = document(key, text(field(file, "content"))?, text(field(file, "filename")));
    draft.exported_at = moment(field(file, "created_at")).map(|(at, _)| at);
    draft.metadata.extend(text(field(project, "name")).map(|name| ("project".to_owned(), name.to_owned())));
    Some(draft)
}

fn document(key: String, content: &str, name: Option<&str>) -> Draft {
    let mut n_replaced = 0;
    let body = clean(content, &mut n_replaced).into_owned();
    let draft = Draft::new(name.unwrap_or(&key), SourceKind::Document, DraftBody::Text(body));
    Draft {
        key: Some(key),
        form: if name.is_some_and(|name| name.ends_with(".md")) { Form::Markdown } else { Form::Plain },
        n_replaced,
        ..draft
    }
}

fn moment(value: &Value<'_>) -> Option<(Timestamp, bool)> {
    text(value).and_then(written)
}
