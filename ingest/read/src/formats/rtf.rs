//! Reads RTF: one file, one document, as Markdown.

use model::SourceKind;

use super::rtf_text::Text;
use super::rtf_tokens::Tokens;
use super::{Draft, DraftBody, Emit, Event, Form, Head, Input, Reader, bytes_within, empty, file_name};
use crate::decode::{Trouble, too_large};
use crate::seam::Result;

/// A file has at most so many bytes: most of a large one are pictures, but all of it is held in memory.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Groups lie in groups at most so deep.
const DEPTH_MAX: usize = 1_000_000;

/// The reader of RTF.
pub(super) struct Rtf;

impl Reader for Rtf {
    fn name(&self) -> &'static str {
        "rtf"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        if head.bytes.starts_with(b"{\\rtf") { 100 } else { 0 }
    }

    fn reads_binary(&self) -> bool {
        true
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        match document(input) {
            Err(trouble) => emit(Event::Trouble(trouble)),
            Ok((draft, trouble)) => {
                trouble.map_or(Ok(()), |trouble| emit(Event::Trouble(trouble)))?;
                emit(Event::Draft(draft))
            }
        }
    }
}

fn document(input: &Input<'_>) -> std::result::Result<(Draft, Option<Trouble>), Trouble> {
    let bytes = bytes_within(input, FILE_BYTES_MAX)?;
    if !bytes.starts_with(b"{\\rtf") {
        return Err(Trouble::new("", "not an RTF file", "leave out --format, or name another"));
    }
    let mut text = Text::new();
    let mut tokens = Tokens::new(&bytes);
    let mut is_closed = false;
    while let Some(token) = tokens.next() {
        text.take(&token);
        if text.n_bytes > input.source_bytes_max {
            return Err(too_large("", text.n_bytes, input.source_bytes_max));
        }
        if text.n_open() > DEPTH_MAX {
            let place = format!("byte {}", tokens.at());
            return Err(Trouble::new(place, format!("more than {DEPTH_MAX} groups in each other"), HINT));
        }
        is_closed = text.n_open() == 0;
        if is_closed {
            break;
        }
    }
    let n_replaced = text.n_replaced;
    let heading = text.heading.take();
    let (text, mut metadata) = text.finish();
    if text.trim().is_empty() {
        return Err(empty());
    }
    let title = metadata.remove("title").or(heading).unwrap_or_else(|| file_name(input.name).to_owned());
    let trouble = (!is_closed).then(|| {
        Trouble::new(
            format!("byte {}", bytes.len()),
            "the file ends within a group: it was cut off, or is damaged",
            HINT,
        )
    });
    let draft = Draft {
        form: Form::Markdown,
        metadata,
        n_replaced,
        is_complete: trouble.is_none(),
        ..Draft::new(title, SourceKind::Document, DraftBody::Text(text))
    };
    Ok((draft, trouble))
}

const HINT: &str = "open it in its program and save it again; what stands before is read";
