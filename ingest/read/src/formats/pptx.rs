//! Reads PPTX: one file, one document, slide by slide, as Markdown. A slide's notes stand below it.

use std::collections::{BTreeMap, HashMap};

use model::SourceKind;

use super::docx_body::{Notes, Story};
use super::docx_styles::Styles;
use super::office_meta::core;
use super::package::{Package, placed, resolve};
use super::{Document, Draft, DraftBody, Emit, Form, Head, Input, Reader, empty, file_name, hand_on};
use crate::decode::{Trouble, too_large};
use crate::seam::Result;

/// The list of the slides.
const MAIN: &str = "ppt/presentation.xml";

/// The reader of PPTX.
pub(super) struct Pptx;

impl Reader for Pptx {
    fn name(&self) -> &'static str {
        "pptx"
    }

    fn recognises(&self, _: &Head<'_>) -> u8 {
        0
    }

    fn packs(&self, names: &[&str], _: &str) -> bool {
        names.contains(&MAIN)
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        hand_on(document(input), emit)
    }
}

fn document(input: &Input<'_>) -> Document {
    let package = Package::open(input)?;
    let targets = relations(&package, MAIN)?;
    let mut slides = Vec::new();
    package.each_tag(MAIN, |_, tag| {
        if tag.name == "sldId" {
            // It has two ids: its own, a number, and that of the relation.
            slides.extend(tag.all("id").find_map(|id| targets.get(id)).map(|(_, entry)| entry.clone()));
        }
    })?;
    let mut text = String::new();
    let mut troubles = Vec::new();
    let mut n_replaced = 0;
    for (idx, slide) in slides.iter().enumerate() {
        let words = slide_text(&package, slide, input.source_bytes_max, &mut n_replaced, &mut troubles);
        let notes = relations(&package, slide).unwrap_or_default();
        let notes = notes.values().find(|(kind, _)| kind.ends_with("/notesSlide")).map(|(_, entry)| entry);
        let said =
            notes.map(|entry| slide_text(&package, entry, input.source_bytes_max, &mut n_replaced, &mut troubles));
        let said = said.filter(|said| said.chars().any(char::is_alphabetic));
        if words.is_empty() && said.is_none() {
            continue;
        }
        text.push_str(if text.is_empty() { "" } else { "\n\n" });
        text.push_str(&format!("## Slide {}", idx + 1));
        for part in [Some(words), said.map(|said| format!("Notes: {said}"))].into_iter().flatten() {
            text.push_str(if part.is_empty() { "" } else { "\n\n" });
            text.push_str(&part);
        }
        if text.len() as u64 > input.source_bytes_max {
            return Err(too_large("", text.len() as u64, input.source_bytes_max));
        }
    }
    if text.is_empty() {
        if troubles.is_empty() {
            troubles.push(empty());
        }
        return Ok((None, troubles));
    }
    let mut metadata = BTreeMap::new();
    let title = core(&package, "docProps/core.xml", &mut metadata);
    let draft = Draft {
        form: Form::Markdown,
        metadata,
        n_replaced,
        is_complete: troubles.is_empty(),
        ..Draft::new(
            title.unwrap_or_else(|| file_name(input.name).to_owned()),
            SourceKind::Document,
            DraftBody::Text(text),
        )
    };
    Ok((Some(draft), troubles))
}

/// What the entry `name` refers to: by the relation's id its kind and the entry.
fn relations(package: &Package, name: &str) -> std::result::Result<HashMap<String, (String, String)>, Trouble> {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    let mut found = HashMap::new();
    package.each_tag(&format!("{folder}/_rels/{file}.rels"), |_, tag| {
        if let (Some(id), Some(target)) = (tag.get("Id"), tag.get("Target")) {
            let kind = tag.get("Type").unwrap_or("").to_owned();
            found.insert(id.to_owned(), (kind, resolve(name, target)));
        }
    })?;
    Ok(found)
}

/// The words of a slide, as far as it can be read.
fn slide_text(
    package: &Package,
    name: &str,
    bytes_max: u64,
    n_replaced: &mut u64,
    troubles: &mut Vec<Trouble>,
) -> String {
    let mut xml = match package.xml(name) {
        Ok(Some(xml)) => xml,
        Ok(None) => return String::new(),
        Err(trouble) => {
            troubles.push(trouble);
            return String::new();
        }
    };
    let (styles, mut notes) = (Styles::default(), Notes::default());
    let mut story = Story::new(&styles, &mut notes);
    loop {
        match xml.next() {
            Ok(Some(node)) => story.take(&node),
            Ok(None) => break,
            Err(trouble) => {
                troubles.push(placed(name, trouble));
                break;
            }
        }
        if story.n_bytes > bytes_max {
            troubles.push(too_large(name, story.n_bytes, bytes_max));
            break;
        }
    }
    *n_replaced += xml.n_replaced();
    troubles.extend(xml.entity_trouble().map(|trouble| placed(name, trouble)));
    story.finish()
}
