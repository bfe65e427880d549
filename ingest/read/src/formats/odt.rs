//! Reads OpenDocument: texts, and the words of sheets and slides. One file, one document, as Markdown.

use std::collections::BTreeMap;

use model::SourceKind;

use super::odt_body::Story;
use super::office_meta::{core, push_note};
use super::package::{Package, placed};
use super::{Document, Draft, DraftBody, Emit, Form, Head, Input, Reader, empty, file_name, hand_on};
use crate::decode::{Trouble, too_large};
use crate::seam::Result;

/// How the types of OpenDocument's files begin.
const TYPE: &str = "application/vnd.oasis.opendocument.";

/// The reader of OpenDocument.
pub(super) struct Odt;

impl Reader for Odt {
    fn name(&self) -> &'static str {
        "odt"
    }

    fn recognises(&self, _: &Head<'_>) -> u8 {
        0
    }

    fn packs(&self, names: &[&str], mimetype: &str) -> bool {
        let is_file = ["text", "spreadsheet", "presentation", "graphics"]
            .iter()
            .any(|kind| mimetype.strip_prefix(TYPE).is_some_and(|rest| rest.starts_with(kind)));
        is_file || (names.contains(&"content.xml") && names.contains(&"META-INF/manifest.xml"))
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        hand_on(document(input), emit)
    }
}

fn document(input: &Input<'_>) -> Document {
    const BODY: &str = "content.xml";
    let package = Package::open(input)?;
    if is_encrypted(&package)? {
        return Err(Trouble::new("", "protected by a password", "save a copy without the password and import that"));
    }
    let Some(mut xml) = package.xml(BODY)? else {
        let reason = "an OpenDocument file without its text (content.xml is not in it)";
        return Err(Trouble::new("", reason, "open it in its program and save it again"));
    };
    let mut story = Story::default();
    let mut troubles = Vec::new();
    // The lists that the document's own styles name; without them all are bullets.
    troubles.extend(
        package
            .each("styles.xml", |path, node| {
                if !path.iter().any(|name| name == "master-styles") {
                    story.take(node);
                }
            })
            .err(),
    );
    story.begin();
    loop {
        match xml.next() {
            Ok(Some(node)) => story.take(&node),
            Ok(None) => break,
            Err(trouble) => {
                troubles.push(placed(BODY, trouble));
                break;
            }
        }
        if story.n_bytes > input.source_bytes_max {
            return Err(too_large("", story.n_bytes, input.source_bytes_max));
        }
    }
    troubles.extend(xml.entity_trouble().map(|trouble| placed(BODY, trouble)));
    let mut text = story.finish();
    for (label, note) in &story.notes {
        push_note(label, note, &mut text);
    }
    if text.trim().is_empty() {
        if troubles.is_empty() {
            troubles.push(empty());
        }
        return Ok((None, troubles));
    }
    let mut metadata = BTreeMap::new();
    let title = core(&package, "meta.xml", &mut metadata).or(story.heading.take());
    let draft = Draft {
        form: Form::Markdown,
        metadata,
        n_replaced: xml.n_replaced(),
        is_complete: troubles.is_empty(),
        ..Draft::new(
            title.unwrap_or_else(|| file_name(input.name).to_owned()),
            SourceKind::Document,
            DraftBody::Text(text),
        )
    };
    Ok((Some(draft), troubles))
}

fn is_encrypted(package: &Package) -> std::result::Result<bool, Trouble> {
    let mut is_encrypted = false;
    package.each_tag("META-INF/manifest.xml", |_, tag| is_encrypted |= tag.name == "encryption-data")?;
    Ok(is_encrypted)
}
