//! Knows the files that stand beside the conversations in an export and say nothing themselves.
//!
//! They are counted with the attachments: not read, and nothing wrong with them.

use super::{Emit, Event, Head, Input, Reader, file_name};
use crate::error::Result;

/// The reader of what need not be read.
pub(super) struct Companion;

/// Files of an account's export beside its conversations, by name and a name that stands in them.
const KNOWN: &[(&str, &[&str])] = &[
    ("user.json", &["id", "email", "chatgpt_plus_user"]),
    ("users.json", &["uuid", "full_name", "email_address"]),
    ("message_feedback.json", &["conversation_id", "rating"]),
    ("shared_conversations.json", &["conversation_id", "is_anonymous"]),
    ("model_comparisons.json", &["conversation_id", "input"]),
    ("export_manifest.json", &["files", "version"]),
];

impl Reader for Companion {
    fn name(&self) -> &'static str {
        "companion"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let name = file_name(head.name);
        let shape = head.shape();
        let depth = shape.record_depth();
        // ChatGPT writes all conversations a second time as a page to look at.
        let is_page = name == "chat.html" && memchr::memmem::find(head.bytes, b"var jsonData").is_some();
        let is_empty = matches!(head.bytes.trim_ascii(), b"[]" | b"{}");
        let is_known = KNOWN.iter().any(|(known, names)| {
            *known == name && shape.kind.is_some() && (is_empty || names.iter().any(|field| shape.has(depth, field)))
        });
        if is_page {
            98
        } else if is_known {
            20
        } else {
            0
        }
    }

    fn read(&self, _input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        emit(Event::Aside)
    }
}
