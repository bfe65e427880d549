//! Reads Google Keep out of Google's Takeout: a note a file, as JSON; the page beside it says the same.
//!
//! A note is a document: its text, or its list with a mark for what is done. Where pairs of JSON and HTML
//! lie in a folder called Keep, the reader claims it, so that a note does not come in twice.

use std::collections::BTreeSet;

use model::SourceKind;

use super::said::seconds;
use super::{Draft, DraftBody, Emit, Event, Head, Input, Reader, extension, file_name};
use crate::archive::Part;
use crate::decode::Trouble;
use crate::json::{Bad, Pull, Value, array, clean, field, number, parse, text};
use crate::seam::Result;

/// The reader of Keep's notes.
pub(super) struct Keep;

impl Reader for Keep {
    fn name(&self) -> &'static str {
        "keep"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        let is_note = shape.has(1, "userEditedTimestampUsec")
            && ["textContent", "listContent", "isTrashed", "title"].iter().any(|name| shape.has(1, name));
        if is_note && !shape.has_lines { 95 } else { 0 }
    }

    fn claims(&self, names: &[&str]) -> Vec<String> {
        let all: BTreeSet<&str> = names.iter().copied().collect();
        let mut folders = BTreeSet::new();
        for name in names {
            let Some(stem) = name.strip_suffix(".json") else { continue };
            let Some((folder, _)) = name.rsplit_once('/') else { continue };
            if file_name(folder) == "Keep" && all.contains(format!("{stem}.html").as_str()) {
                folders.insert(folder.to_owned());
            }
        }
        folders.into_iter().collect()
    }

    fn takes(&self, name: &str) -> bool {
        let known = ["json", "html", "png", "jpg", "jpeg", "gif", "webp", "3gp", "amr", "m4a", "mp3"];
        known.contains(&extension(name).as_str()) || name == "Labels.txt"
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        if let [part] = input.parts
            && extension(&part.name) == "json"
        {
            return note(part, input, false, emit);
        }
        let names: BTreeSet<&str> = input.parts.iter().map(|part| part.name.as_str()).collect();
        for part in input.parts {
            match part.name.rsplit_once('.') {
                Some((_, "json")) => note(part, input, true, emit)?,
                Some((stem, "html")) if !names.contains(format!("{stem}.json").as_str()) => {
                    let reason = "a note without the JSON that stands beside it in an export";
                    emit(Event::Trouble(Trouble::new(&part.name, reason, "import this file by itself")))?;
                }
                _ => emit(Event::Aside)?,
            }
        }
        Ok(())
    }
}

fn note(part: &Part, input: &Input<'_>, is_claimed: bool, emit: &mut Emit<'_>) -> Result<()> {
    let place = |place: String| if is_claimed { format!("{}, {place}", part.name) } else { place };
    let hint = "the notes beside it went in; export again";
    let read = part.open().map_err(Bad::Io).and_then(|reader| {
        let mut pull = Pull::new(reader, input.source_bytes_max);
        if pull.kind()?.is_none() {
            return Ok(Err(super::empty()));
        }
        let (offset, bytes) = pull.bounded()?;
        let mut n_replaced = 0;
        let read = parse(bytes, &mut n_replaced, |value| draft(value, file_name(input.name)));
        Ok(match read {
            Ok(draft) => Ok(draft.map(|draft| Draft { n_replaced: draft.n_replaced + n_replaced, ..draft })),
            Err(reason) => Err(Trouble::new(format!("byte {offset}"), reason, hint)),
        })
    });
    let trouble = match read {
        Ok(Ok(Some(draft))) => {
            let part = is_claimed.then(|| part.name.clone());
            return emit(Event::Draft(Draft { part, ..draft }));
        }
        // A note of a picture only, or an empty one.
        Ok(Ok(None)) => return emit(Event::Aside),
        Ok(Err(trouble)) => trouble,
        Err(bad) => bad.trouble(),
    };
    emit(Event::Trouble(Trouble { place: place(trouble.place), ..trouble }))
}

fn draft(note: &Value<'_>, name: &str) -> Option<Draft> {
    let words = match text(field(note, "textContent")) {
        Some(words) => words.to_owned(),
        None => {
            let items = array(field(note, "listContent")).iter().filter_map(|item| {
                let mark = if *field(item, "isChecked") == Value::Bool(true) { "x" } else { " " };
                Some(format!("- [{mark}] {}", text(field(item, "text"))?))
            });
            items.collect::<Vec<_>>().join("\n")
        }
    };
    let title = text(field(note, "title"));
    // A note may be all title.
    let words = if words.trim().is_empty() { title.unwrap_or_default().to_owned() } else { words };
    if words.trim().is_empty() {
        return None;
    }
    let mut n_replaced = 0;
    let words = clean(&words, &mut n_replaced).into_owned();
    let at = |name: &str| number(field(note, name)).and_then(|micros| seconds(micros / 1e6));
    let first =
        || words.lines().map(str::trim).find(|line| !line.is_empty()).map(|line| line.chars().take(80).collect());
    let title = title.map(str::to_owned).or_else(first).unwrap_or_else(|| name.to_owned());
    let mut draft = Draft {
        exported_at: at("userEditedTimestampUsec"),
        n_replaced,
        ..Draft::new(title, SourceKind::Document, DraftBody::Text(words.clone()))
    };
    let mut say = |name: &str, value: Option<String>| {
        draft.metadata.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value)));
    };
    say("created", at("createdTimestampUsec").map(|at| at.to_string()));
    say("edited", at("userEditedTimestampUsec").map(|at| at.to_string()));
    for (name, flag) in [("pinned", "isPinned"), ("archived", "isArchived"), ("trashed", "isTrashed")] {
        say(name, (*field(note, flag) == Value::Bool(true)).then(|| "true".to_owned()));
    }
    let list = |name: &str, of: &str| {
        let values: Vec<&str> = array(field(note, name)).iter().filter_map(|entry| text(field(entry, of))).collect();
        Some(values.join("\n"))
    };
    say("labels", list("labels", "name"));
    say("links", list("annotations", "url"));
    say("attachments", list("attachments", "filePath"));
    Some(draft)
}
