//! Reads DOCX (Word, LibreOffice, Google Docs): one file, one document, as Markdown.
//!
//! The parts of a file are found by its list of content types, not by their names. Headers and footers are left out:
//! they come again on every page. Bold, italics and colours are left out too: a text is found by its words.

use std::collections::{BTreeMap, HashMap};

use model::SourceKind;

use super::docx_body::{Note, Notes, Story};
use super::docx_styles::Styles;
use super::package::{Package, placed};
use super::xml::{Node, Tag, Xml};
use super::{Document, Draft, DraftBody, Emit, Form, Head, Input, Reader, empty, file_name, hand_on};
use crate::decode::{Trouble, too_large};
use crate::seam::Result;

/// The content type that every kind of main part has in its name (document, template, with macros or without).
const MAIN_TYPES: &[&str] = &[
    "wordprocessingml.document.main",
    "wordprocessingml.template.main",
    "ms-word.document.macro",
    "ms-word.template.macro",
];

/// The reader of DOCX.
pub(super) struct Docx;

impl Reader for Docx {
    fn name(&self) -> &'static str {
        "docx"
    }

    fn recognises(&self, _: &Head<'_>) -> u8 {
        0
    }

    fn packs(&self, names: &[&str], _: &str) -> bool {
        names.contains(&"[Content_Types].xml") && names.iter().any(|name| name.starts_with("word/"))
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        hand_on(document(input), emit)
    }
}

/// A story of the document: its text, or as much of it as could be read.
#[derive(Default)]
struct Read {
    text: String,
    heading: Option<String>,
    n_replaced: u64,
    n_embedded: u32,
}

fn document(input: &Input<'_>) -> Document {
    let package = Package::open(input)?;
    let types = types(&package)?;
    let main = types.main.clone().unwrap_or_else(|| "word/document.xml".to_owned());
    let Some(xml) = package.xml(&main)? else {
        let reason = format!("a DOCX file without its text ({main} is not in it)");
        return Err(Trouble::new("", reason, "open it in its program and save it again"));
    };
    let mut styles = Styles::default();
    let of = |kind: &str| types.named(&main, kind);
    let mut troubles = styles.read(&package, &of("styles"), &of("numbering"));
    let mut notes = Notes::default();
    let body = story(xml, &styles, &mut notes, input.source_bytes_max, &main, &mut troubles)?;
    let mut text = body.text;
    let mut n_replaced = body.n_replaced;
    for kind in ["footnote", "endnote", "comment"] {
        if notes.met.iter().any(|(note, _)| note.kind == kind) {
            let name = of(&format!("{kind}s"));
            let read = notes_of(&package, &name, kind, &styles, input.source_bytes_max);
            let (texts, n) = read.unwrap_or_else(|trouble| {
                troubles.push(trouble);
                (HashMap::new(), 0)
            });
            n_replaced += n;
            append(&notes, &texts, kind, &mut text);
        }
    }
    if text.len() as u64 > input.source_bytes_max {
        return Err(too_large("", text.len() as u64, input.source_bytes_max));
    }
    let mut metadata = BTreeMap::new();
    let title = super::office_meta::core(&package, &types.core, &mut metadata);
    if body.n_embedded > 0 {
        let reason = format!("{} files that are put into it whole are not read", body.n_embedded);
        troubles.push(Trouble::new(main, reason, "open it in its program and save it again"));
    }
    if text.trim().is_empty() {
        if troubles.is_empty() {
            troubles.push(empty());
        }
        return Ok((None, troubles));
    }
    let title = title.or(body.heading).unwrap_or_else(|| file_name(input.name).to_owned());
    let draft = Draft {
        form: Form::Markdown,
        metadata,
        n_replaced,
        is_complete: troubles.is_empty(),
        ..Draft::new(title, SourceKind::Document, DraftBody::Text(text))
    };
    Ok((Some(draft), troubles))
}

/// Which entry is what.
#[derive(Default)]
struct Types {
    main: Option<String>,
    core: String,
    /// Content type to entries.
    entries: Vec<(String, String)>,
}

impl Types {
    /// The entry of `kind` that stands beside `main`.
    fn named(&self, main: &str, kind: &str) -> String {
        let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
        let wanted = format!("wordprocessingml.{kind}+xml");
        let listed = self.entries.iter().find(|(content_type, name)| {
            content_type.contains(&wanted) && name.rsplit_once('/').map_or("", |(folder, _)| folder) == folder
        });
        listed.map_or_else(|| format!("{folder}/{kind}.xml"), |(_, name)| name.clone())
    }
}

fn types(package: &Package) -> std::result::Result<Types, Trouble> {
    let mut types = Types { core: "docProps/core.xml".to_owned(), ..Types::default() };
    package.each_tag("[Content_Types].xml", |_, tag| {
        let (Some(name), Some(content_type)) = (tag.get("PartName"), tag.get("ContentType")) else { return };
        let name = name.trim_start_matches('/').to_owned();
        if types.main.is_none() && MAIN_TYPES.iter().any(|main| content_type.contains(main)) {
            types.main = Some(name);
        } else if content_type.ends_with("core-properties+xml") {
            types.core = name;
        } else {
            types.entries.push((content_type.to_owned(), name));
        }
    })?;
    Ok(types)
}

/// Reads all of `xml` as one story.
fn story(
    mut xml: Xml,
    styles: &Styles,
    notes: &mut Notes,
    bytes_max: u64,
    name: &str,
    troubles: &mut Vec<Trouble>,
) -> std::result::Result<Read, Trouble> {
    let mut story = Story::new(styles, notes);
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
            return Err(too_large("", story.n_bytes, bytes_max));
        }
    }
    troubles.extend(xml.entity_trouble().map(|trouble| placed(name, trouble)));
    let (heading, n_embedded) = (story.heading.take(), story.n_embedded);
    Ok(Read { text: story.finish(), heading, n_replaced: xml.n_replaced(), n_embedded })
}

/// The texts of the notes in the entry `name`, by their ids.
fn notes_of(
    package: &Package,
    name: &str,
    kind: &str,
    styles: &Styles,
    bytes_max: u64,
) -> std::result::Result<(HashMap<String, String>, u64), Trouble> {
    let Some(mut xml) = package.xml(name)? else { return Ok((HashMap::new(), 0)) };
    let mut texts = HashMap::new();
    let mut n_bytes = 0;
    let mut within = Notes::default();
    loop {
        let tag = match xml.next().map_err(|trouble| placed(name, trouble))? {
            None => return Ok((texts, xml.n_replaced())),
            Some(Node::Start(tag)) if tag.name == kind => tag,
            Some(_) => continue,
        };
        let mut story = Story::new(styles, &mut within);
        story.is_note = true;
        let mut depth = 1_usize;
        while depth > 0 {
            let Some(node) = xml.next().map_err(|trouble| placed(name, trouble))? else { break };
            match &node {
                Node::Start(_) => depth += 1,
                Node::End(_) => depth -= 1,
                Node::Text(_) => {}
            }
            if depth > 0 {
                story.take(&node);
            }
            if n_bytes + story.n_bytes > bytes_max {
                return Err(too_large(name, n_bytes + story.n_bytes, bytes_max));
            }
        }
        n_bytes += story.n_bytes;
        let text = format!("{}{}", said_by(kind, &tag), story.finish().trim());
        texts.insert(tag.get("id").unwrap_or("").to_owned(), text);
    }
}

/// Who commented when.
fn said_by(kind: &str, tag: &Tag) -> String {
    if kind != "comment" {
        return String::new();
    }
    let author =
        tag.get("author").filter(|author| !author.is_empty()).map(|author| format!(" by {author}")).unwrap_or_default();
    let date = tag.get("date").map(|date| format!(", {date}")).unwrap_or_default();
    format!("Comment{author}{date}: ")
}

/// Writes the notes of one kind below the text, in the order in which it refers to them.
fn append(notes: &Notes, texts: &HashMap<String, String>, kind: &str, out: &mut String) {
    for (Note { id, .. }, label) in notes.met.iter().filter(|(note, _)| note.kind == kind) {
        let text = texts.get(id).map_or("", String::as_str);
        if text.is_empty() {
            continue;
        }
        super::office_meta::push_note(label, text, out);
    }
}
