//! Knows the files that stand beside the conversations in an export and say nothing themselves.
//!
//! They are counted with the attachments: not read, and nothing wrong with them. So are pictures, sound
//! and films in the folder of an export that was unpacked.

use super::{Emit, Event, Head, Input, Reader, extension, file_name};
use crate::seam::Result;

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
    // Google's Takeout: points on a map, settings, what a browser and a shop keep.
    ("Records.json", &["locations"]),
    ("Settings.json", &["createdTime", "deviceSettings"]),
    ("Autofill.json", &["Autofill"]),
    ("Extensions.json", &["Extensions"]),
    ("SearchEngines.json", &["Search Engines"]),
    ("SyncSettings.json", &["App"]),
    ("Devices.json", &["device"]),
    ("Installs.json", &["install"]),
    ("Library.json", &["libraryDoc"]),
    ("Play Settings.json", &["playSettings"]),
    ("Promotion History.json", &["promotionHistory"]),
    ("user_info.json", &["membership_info"]),
    // Microsoft's account export.
    ("endpoints.json", &["endpoints"]),
];

/// Endings of pictures, sound and films.
const MEDIA: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "heic", "bmp", "tgs", "mp4", "mov", "m4v", "webm", "3gp", "avi", "mp3", "m4a",
    "ogg", "oga", "opus", "wav", "aac", "amr", "flac",
];

/// Whether a file of this name has its attachments beside it.
fn is_export(name: &str) -> bool {
    let is_whatsapp = name.starts_with("WhatsApp") && name.ends_with(".txt");
    is_whatsapp || matches!(name, "conversations.json" | "conversations-000.json" | "_chat.txt" | "result.json")
}

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
        let is_index = name == "archive_browser.html" && memchr::memmem::find(head.bytes, b"<html").is_some();
        let is_empty = matches!(head.bytes.trim_ascii(), b"[]" | b"{}");
        let is_known = KNOWN.iter().any(|(known, names)| {
            *known == name && shape.kind.is_some() && (is_empty || names.iter().any(|field| shape.has(depth, field)))
        });
        if is_page || is_index {
            98
        } else if is_known {
            20
        } else {
            0
        }
    }

    fn claims(&self, names: &[&str]) -> Vec<String> {
        let exports = names.iter().filter(|name| is_export(file_name(name)));
        exports
            .map(|name| name.strip_suffix(file_name(name)).unwrap_or_default().trim_end_matches('/').to_owned())
            .collect()
    }

    fn takes(&self, name: &str) -> bool {
        MEDIA.contains(&extension(name).as_str())
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        input.parts.iter().try_for_each(|_| emit(Event::Aside))
    }
}
