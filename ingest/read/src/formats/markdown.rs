//! Reads Markdown: one file, one document. The raw text is kept; its structure gives title and headings.

use std::collections::BTreeMap;

use model::SourceKind;
use pulldown_cmark::{Event as Mark, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{Draft, DraftBody, Emit, Event, Form, Head, Input, Reader, extension, file_name, whole};
use crate::seam::Result;

/// So many headings are named in the metadata.
const HEADINGS_MAX: usize = 32;

/// The reader of Markdown.
pub(super) struct Markdown;

impl Reader for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        match extension(head.name).as_str() {
            "md" | "markdown" | "mdown" | "mkd" => 80,
            _ => 0,
        }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let decoded = match whole(input) {
            Ok(decoded) => decoded,
            Err(trouble) => return emit(Event::Trouble(trouble)),
        };
        let (encoding, remarks) = (decoded.metadata(), decoded.remarks());
        let mut draft = document(decoded.text, None, input.name, decoded.n_replaced);
        draft.metadata.extend(encoding);
        emit(Event::Draft(Draft { remarks, ..draft }))
    }
}

/// A document of Markdown `text`. Where its file gives it no `title`, the first heading is it, then the file's name.
pub(super) fn document(text: String, title: Option<String>, name: &str, n_replaced: u64) -> Draft {
    let headings = headings(&text);
    let heading = || headings.iter().find(|(level, _)| *level == HeadingLevel::H1).or(headings.first());
    let title = title.or_else(|| heading().map(|(_, title)| title.clone()));
    let mut metadata = BTreeMap::new();
    if !headings.is_empty() {
        let names: Vec<&str> = headings.iter().map(|(_, name)| name.as_str()).collect();
        metadata.insert("headings".to_owned(), names.join("\n"));
    }
    let title = title.unwrap_or_else(|| file_name(name).to_owned());
    let draft = Draft::new(title, SourceKind::Document, DraftBody::Text(text));
    Draft { form: Form::Markdown, metadata, n_replaced, ..draft }
}

/// The Markdown extensions that reading and splitting both use.
pub fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
}

fn headings(text: &str) -> Vec<(HeadingLevel, String)> {
    let mut headings = Vec::new();
    let mut open: Option<(HeadingLevel, String)> = None;
    for mark in Parser::new_ext(text, options()) {
        match mark {
            Mark::Start(Tag::Heading { level, .. }) => open = Some((level, String::new())),
            Mark::Text(words) | Mark::Code(words) => {
                if let Some((_, title)) = &mut open {
                    title.push_str(&words);
                }
            }
            Mark::SoftBreak | Mark::HardBreak => {
                if let Some((_, title)) = &mut open {
                    title.push(' ');
                }
            }
            Mark::End(TagEnd::Heading(_)) => {
                headings.extend(open.take().filter(|(_, title)| !title.trim().is_empty()));
                if headings.len() == HEADINGS_MAX {
                    return headings;
                }
            }
            _ => {}
        }
    }
    headings
}
