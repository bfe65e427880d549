//! Reads EPUB: one book, one document, its chapters in the order of its spine, as Markdown.
//!
//! The book's table of contents is left out; a chapter without a heading of its own gets the name it has there.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::SourceKind;

use super::html_text::Writer;
use super::package::{Package, placed, resolve};
use super::xml::Node;
use super::{Document, Draft, DraftBody, Emit, Form, Head, Input, Reader, empty, file_name, hand_on};
use crate::decode::{Trouble, too_large};
use crate::seam::Result;

/// Elements of a page whose content is not read.
const LEFT_OUT: &[&str] = &["head", "script", "style", "template", "math", "svg"];

/// The reader of EPUB.
pub(super) struct Epub;

impl Reader for Epub {
    fn name(&self) -> &'static str {
        "epub"
    }

    fn recognises(&self, _: &Head<'_>) -> u8 {
        0
    }

    fn packs(&self, names: &[&str], mimetype: &str) -> bool {
        mimetype.starts_with("application/epub+zip")
            || (names.contains(&"META-INF/container.xml") && names.iter().any(|name| name.ends_with(".opf")))
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        hand_on(book(input), emit)
    }
}

/// What a book's list of its parts says.
#[derive(Default)]
struct Listing {
    /// By their ids the paths of entries.
    paths: HashMap<String, String>,
    /// The ids in reading order.
    spine: Vec<String>,
    /// Tables of contents: for machines, and as a page.
    contents: Vec<String>,
    navigation: Option<String>,
    metadata: BTreeMap<String, String>,
}

fn book(input: &Input<'_>) -> Document {
    let package = Package::open(input)?;
    let mut root = None;
    package.each_tag("META-INF/container.xml", |_, tag| {
        if tag.name == "rootfile" && root.is_none() {
            root = tag.get("full-path").map(str::to_owned);
        }
    })?;
    let root = root.filter(|root| package.has(root)).ok_or_else(|| {
        Trouble::new(
            "",
            "a book without the list of its chapters",
            "convert it with a program for books and import that",
        )
    })?;
    let mut listing = listing(&package, &root)?;
    let names = names(&package, &listing);
    let encrypted = encrypted(&package);
    let mut troubles = Vec::new();
    let mut text = String::new();
    let mut n_replaced = 0;
    let mut seen = HashSet::new();
    for id in &listing.spine {
        let Some(path) = listing.paths.get(id) else { continue };
        if listing.navigation.as_ref() == Some(path) || !seen.insert(path) {
            continue;
        }
        if encrypted.contains(path) {
            troubles.push(Trouble::new(path, "an encrypted chapter", "import a copy without copy protection"));
            continue;
        }
        match chapter(&package, path, &mut troubles) {
            Err(trouble) => troubles.push(trouble),
            Ok((chapter, n)) => {
                n_replaced += n;
                append(&chapter, names.get(path).map(String::as_str), &mut text);
            }
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
    let title = listing.metadata.remove("title").unwrap_or_else(|| file_name(input.name).to_owned());
    let draft = Draft {
        form: Form::Markdown,
        metadata: listing.metadata,
        n_replaced,
        is_complete: troubles.is_empty(),
        ..Draft::new(title, SourceKind::Document, DraftBody::Text(text))
    };
    Ok((Some(draft), troubles))
}

fn append(chapter: &str, name: Option<&str>, out: &mut String) {
    if chapter.trim().is_empty() {
        return;
    }
    if !out.is_empty() {
        out.push_str("\n\n");
    }
    let has_heading = chapter.lines().any(|line| line.starts_with('#'));
    if let Some(name) = name.filter(|name| !has_heading && !name.is_empty()) {
        out.push_str(&format!("# {name}\n\n"));
    }
    out.push_str(chapter);
}

fn listing(package: &Package, root: &str) -> std::result::Result<Listing, Trouble> {
    let mut listing = Listing::default();
    let fields = [
        ("title", "title"),
        ("creator", "author"),
        ("language", "language"),
        ("date", "published"),
        ("publisher", "publisher"),
    ];
    package.each(root, |path, node| match node {
        Node::Start(tag) if tag.name == "item" => {
            let (Some(id), Some(href)) = (tag.get("id"), tag.get("href")) else { return };
            let entry = resolve(root, &percent_decoded(href));
            if tag.get("properties").is_some_and(|names| names.split_whitespace().any(|name| name == "nav")) {
                listing.navigation = Some(entry.clone());
                listing.contents.push(entry.clone());
            }
            if tag.get("media-type") == Some("application/x-dtbncx+xml") {
                listing.contents.push(entry.clone());
            }
            listing.paths.insert(id.to_owned(), entry);
        }
        Node::Start(tag) if tag.name == "itemref" => listing.spine.extend(tag.get("idref").map(str::to_owned)),
        Node::Text(text) if path.iter().any(|name| name == "metadata") => {
            let field = fields.iter().find(|(element, _)| path.last().is_some_and(|name| name == element));
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if let Some((_, field)) = field.filter(|_| !text.is_empty()) {
                let value = listing.metadata.entry((*field).to_owned()).or_default();
                if *field == "author" && !value.is_empty() {
                    value.push_str(", ");
                }
                if value.is_empty() || *field == "author" {
                    value.push_str(&text);
                }
            }
        }
        _ => {}
    })?;
    Ok(listing)
}

/// What the tables of contents call the chapters; the first name of a chapter counts.
fn names(package: &Package, listing: &Listing) -> HashMap<String, String> {
    let mut names: HashMap<String, String> = HashMap::new();
    for contents in &listing.contents {
        let mut label = String::new();
        let mut target = None;
        // A table of contents that is broken names fewer chapters; their texts are read all the same.
        let _ = package.each(contents, |path, node| match node {
            Node::Start(tag) if tag.name == "a" => {
                label.clear();
                target = tag.get("href").map(|href| resolve(contents, &percent_decoded(href)));
            }
            Node::Start(tag) if tag.name == "navLabel" => label.clear(),
            Node::Start(tag) if tag.name == "content" => {
                let entry = tag.get("src").map(|href| resolve(contents, &percent_decoded(href)));
                entry.into_iter().for_each(|entry| {
                    names.entry(entry).or_insert_with(|| one_line(&label));
                });
            }
            Node::Text(text) if path.iter().any(|name| name == "a" || name == "navLabel") => label.push_str(text),
            Node::End(name) if name == "a" => target.take().into_iter().for_each(|entry| {
                names.entry(entry).or_insert_with(|| one_line(&label));
            }),
            _ => {}
        });
    }
    names
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The entries that the book says are encrypted.
fn encrypted(package: &Package) -> HashSet<String> {
    let mut entries = HashSet::new();
    // Where this is broken the chapters are tried as they are.
    let _ = package.each_tag("META-INF/encryption.xml", |_, tag| {
        if tag.name == "CipherReference" {
            entries.extend(tag.get("URI").map(|uri| resolve("", &percent_decoded(uri))));
        }
    });
    entries
}

/// The Markdown of the chapter in the entry `path`, and how many characters of it were replaced.
fn chapter(package: &Package, path: &str, troubles: &mut Vec<Trouble>) -> std::result::Result<(String, u64), Trouble> {
    let Some(mut xml) = package.xml(path)? else {
        return Err(Trouble::new(path, "a chapter that is not in the book", "get a whole copy of it"));
    };
    let mut writer = Writer::default();
    let mut n_left_out = 0_usize;
    loop {
        match xml.next() {
            Ok(Some(Node::Start(tag))) => {
                let is_contents = tag.name == "nav" && tag.get("type").is_some_and(|kind| kind != "footnotes");
                if n_left_out > 0 || is_contents || LEFT_OUT.contains(&tag.name.as_str()) {
                    n_left_out += 1;
                } else if matches!(tag.name.as_str(), "br" | "hr") {
                    writer.void(&tag.name);
                } else {
                    writer.start(&tag.name);
                }
            }
            Ok(Some(Node::End(name))) => {
                if n_left_out > 0 {
                    n_left_out -= 1;
                } else {
                    writer.end(&name);
                }
            }
            Ok(Some(Node::Text(text))) if n_left_out == 0 => writer.words(&text),
            Ok(Some(Node::Text(_))) => {}
            Ok(None) => break,
            Err(trouble) => {
                troubles.push(placed(path, trouble));
                break;
            }
        }
    }
    troubles.extend(xml.entity_trouble().map(|trouble| placed(path, trouble)));
    Ok((writer.finish(), xml.n_replaced()))
}

/// A reference in a book as the name of an entry.
fn percent_decoded(reference: &str) -> String {
    let mut bytes = Vec::with_capacity(reference.len());
    let mut rest = reference.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
