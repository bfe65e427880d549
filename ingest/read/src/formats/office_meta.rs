//! What a document says of itself: title, author, dates.

use std::collections::BTreeMap;

use super::package::Package;
use super::xml::Node;

/// Names in a document's own metadata, and what they are called here; of two for one the first counts.
const FIELDS: &[(&str, &str)] = &[
    ("title", "title"),
    ("initial-creator", "author"),
    ("creator", "author"),
    ("created", "created"),
    ("creation-date", "created"),
    ("modified", "modified"),
    ("date", "modified"),
    ("subject", "subject"),
    ("description", "description"),
    ("keywords", "keywords"),
    ("keyword", "keywords"),
    ("language", "language"),
];
/// A field has at most so many bytes.
const FIELD_BYTES_MAX: usize = 2000;

/// Adds what the entry `name` says to `metadata`; gives the title. One that cannot be read says nothing.
pub(super) fn core(package: &Package, name: &str, metadata: &mut BTreeMap<String, String>) -> Option<String> {
    let mut found: BTreeMap<&'static str, String> = BTreeMap::new();
    // Metadata that is broken is not the text: what was read before it is broken stands.
    let _ = package.each(name, |path, node| {
        let (Node::Text(text), Some(element)) = (node, path.last()) else { return };
        let Some((element, _)) = FIELDS.iter().find(|(name, _)| name == element) else { return };
        let value = found.entry(element).or_default();
        if value.len() + text.len() <= FIELD_BYTES_MAX {
            value.push_str(text);
        }
    });
    let title = found.remove("title").map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
    for (element, field) in FIELDS {
        let value = found.remove(element).unwrap_or_default();
        if !value.trim().is_empty() {
            metadata.entry((*field).to_owned()).or_insert_with(|| value.trim().to_owned());
        }
    }
    title.filter(|title| !title.is_empty())
}

/// Writes a note below a text, its later lines indented so that they belong to it.
pub(super) fn push_note(label: &str, text: &str, out: &mut String) {
    if !out.is_empty() {
        out.push_str("\n\n");
    }
    out.push_str(&format!("[^{label}]:"));
    for (idx, line) in text.lines().enumerate() {
        let indent = if idx > 0 { "\n    " } else { " " };
        out.push_str(if line.is_empty() { "\n" } else { indent });
        out.push_str(line);
    }
}
