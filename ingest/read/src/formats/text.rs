//! Reads plain text: one file, one document.

use model::SourceKind;

use super::{Draft, DraftBody, Emit, Event, Head, Input, Reader, extension, file_name, whole};
use crate::seam::Result;

/// Endings of files that are prose; anything else only when forced.
const EXTENSIONS: &[&str] = &["txt", "text", "rst", "log", "adoc", "asciidoc", "org", "tex", ""];
/// A heading longer than this is no title.
const TITLE_CHARS_MAX: usize = 120;

/// The reader of plain text.
pub(super) struct Text;

impl Reader for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        if EXTENSIONS.contains(&extension(head.name).as_str()) { 30 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        match whole(input) {
            Err(trouble) => emit(Event::Trouble(trouble)),
            Ok(decoded) => {
                let title = underlined_title(&decoded.text).unwrap_or_else(|| file_name(input.name).to_owned());
                let (metadata, remarks) = (decoded.metadata(), decoded.remarks());
                let draft = Draft::new(title, SourceKind::Document, DraftBody::Text(decoded.text));
                emit(Event::Draft(Draft { n_replaced: decoded.n_replaced, metadata, remarks, ..draft }))
            }
        }
    }
}

/// The first line that is underlined as reStructuredText underlines headings, within the first 50 lines.
fn underlined_title(text: &str) -> Option<String> {
    let mut previous = "";
    for line in text.lines().take(50) {
        let line = line.trim_end();
        let title = previous.trim();
        let mut marks = line.chars();
        let is_rule = marks.next().is_some_and(|first| "=-~^*#\"'`+.:_".contains(first) && marks.all(|c| c == first));
        let n_chars = title.chars().count();
        if is_rule
            && line.len() >= 3
            && (1..=TITLE_CHARS_MAX).contains(&n_chars)
            && line.chars().count() >= n_chars
            && title.chars().any(char::is_alphanumeric)
        {
            return Some(title.to_owned());
        }
        previous = line;
    }
    None
}
