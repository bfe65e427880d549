//! Reads PDF: one file, one document. Its pages are paragraphs one after the other; `pages` says where each begins.
//!
//! The pages are interpreted by a library in a thread of its own (`pdf_pages`). A page without text is told: what is
//! drawn on it may be a scan. Encrypted files are read where no password is needed.

use std::collections::BTreeMap;

use model::SourceKind;

use super::pdf_guard;
use super::pdf_pages::{Failure, Page, Pages};
use super::{Document, Draft, DraftBody, Emit, Head, Input, Reader, bytes_within, file_name, hand_on};
use crate::decode::{Trouble, too_large};
use crate::seam::Result;

/// A file has at most so many bytes: most of a large one are pictures, but all of it is held in memory.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// So many bytes at the beginning are looked at for the mark; some programs write something before it.
const MARK_BYTES: usize = 1024;

/// The reader of PDF.
pub(super) struct Pdf;

impl Reader for Pdf {
    fn name(&self) -> &'static str {
        "pdf"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let begin = &head.bytes[..head.bytes.len().min(MARK_BYTES)];
        if begin.starts_with(b"%PDF-") {
            100
        } else if memchr::memmem::find(begin, b"%PDF-").is_some() && head.name.to_lowercase().ends_with(".pdf") {
            90
        } else {
            0
        }
    }

    fn reads_binary(&self) -> bool {
        true
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        hand_on(document(input), emit)
    }
}

fn document(input: &Input<'_>) -> Document {
    let bytes = bytes_within(input, FILE_BYTES_MAX)?;
    pdf_guard::check(&bytes)?;
    let mut pages = Pages::open(bytes).map_err(refusal)?;
    let mut text = String::new();
    let mut starts = Vec::new();
    let mut n_replaced = 0;
    // The pages that lack text and why.
    let mut without: Vec<(usize, Lack)> = Vec::new();
    let mut number = 0;
    while let Some(page) = pages.next() {
        number += 1;
        let page = match page {
            Ok(page) => page,
            Err(failure) => {
                starts.push(text.len().to_string());
                without.push((number, Lack::Failed(failure)));
                continue;
            }
        };
        let Page { text: words, n_unknown, n_drawn } = page;
        n_replaced += n_unknown;
        // A page that begins with a small letter goes on with the sentence of the one before it.
        if !words.is_empty() && !text.is_empty() {
            text.push_str(if words.starts_with(char::is_lowercase) && !ends(&text) { "\n" } else { "\n\n" });
        }
        starts.push(text.len().to_string());
        if words.is_empty() {
            without.push((number, if n_drawn > 0 { Lack::Drawn } else { Lack::Blank }));
        } else if n_unknown > 0 && is_mostly_unknown(&words, n_unknown) {
            without.push((number, Lack::Unknown));
        }
        text.push_str(&words);
        if text.len() as u64 > input.source_bytes_max {
            return Err(too_large("", text.len() as u64, input.source_bytes_max));
        }
    }
    let mut troubles = troubles(&without, number);
    if text.trim().is_empty() {
        if troubles.is_empty() {
            troubles.push(super::empty());
        }
        return Ok((None, troubles));
    }
    let mut metadata: BTreeMap<String, String> = pages.metadata.clone();
    let title = metadata.remove("title").unwrap_or_else(|| file_name(input.name).to_owned());
    metadata.insert("pages".to_owned(), starts.join(" "));
    let blank: Vec<String> =
        without.iter().filter(|(_, lack)| *lack == Lack::Blank).map(|(n, _)| n.to_string()).collect();
    let remarks = if blank.is_empty() { Vec::new() } else { vec![format!("blank pages: {}", blank.join(", "))] };
    let draft = Draft {
        metadata,
        n_replaced,
        remarks,
        is_complete: troubles.is_empty(),
        ..Draft::new(title, SourceKind::Document, DraftBody::Text(text))
    };
    Ok((Some(draft), troubles))
}

/// Why there is no text of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    /// Nothing stands on it.
    Blank,
    /// Pictures or lines stand on it.
    Drawn,
    /// Its fonts do not say what their glyphs are.
    Unknown,
    /// It could not be read.
    Failed(Failure),
}

/// One line for each run of pages that lack text for one reason; blank pages lack nothing.
fn troubles(without: &[(usize, Lack)], n_pages: usize) -> Vec<Trouble> {
    let mut runs: Vec<(usize, usize, Lack)> = Vec::new();
    for (page, lack) in without.iter().filter(|(_, lack)| *lack != Lack::Blank) {
        match runs.last_mut() {
            Some((_, last, of)) if *last + 1 == *page && of == lack => *last = *page,
            _ => runs.push((*page, *page, *lack)),
        }
    }
    let troubles = runs.into_iter().map(|(first, last, lack)| {
        let place = if first == last { format!("page {first}") } else { format!("pages {first} to {last}") };
        match lack {
            Lack::Failed(Failure::Ended) => {
                Trouble { place: format!("page {first} of {n_pages}"), ..refusal(Failure::Ended) }
            }
            Lack::Failed(failure) => Trouble { place, ..refusal(failure) },
            Lack::Unknown => Trouble::new(
                place,
                "its fonts do not say which letters they draw",
                "recognise its text (OCR), for example with ocrmypdf --force-ocr",
            ),
            Lack::Drawn | Lack::Blank => Trouble::new(
                place,
                "no text, perhaps a scan",
                "recognise its text (OCR), for example with ocrmypdf, and import it again",
            ),
        }
    });
    troubles.collect()
}

fn refusal(failure: Failure) -> Trouble {
    match failure {
        Failure::Password => Trouble::new(
            "",
            "a PDF that opens with a password only",
            "save a copy without the password and import that",
        ),
        Failure::Cipher => {
            Trouble::new("", "a PDF that is encrypted in a way that is not read here", "save a copy without encryption")
        }
        Failure::Invalid => Trouble::new("", "a damaged PDF", "open it in a PDF program and save it again"),
        Failure::Crowded => Trouble::new("", "a page with more text than a page can hold", "print it to a new PDF"),
        Failure::Ended => {
            Trouble::new("", "reading it takes too long; the pages after it are left out", "print it to a new PDF")
        }
    }
}

fn ends(text: &str) -> bool {
    text.trim_end().ends_with(['.', '!', '?', ':'])
}

fn is_mostly_unknown(words: &str, n_unknown: u64) -> bool {
    n_unknown * 2 > words.chars().filter(|char| !char.is_whitespace()).count() as u64
}
