//! What an import did, as one value: for people a table, for programs JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::survey::Survey;

/// A list of the report holds at most so many entries; the totals count all, a ledger names all.
pub const LISTED_MAX: usize = 10_000;

/// A source that was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Imported {
    /// The file it came from, as found.
    pub file: String,
    /// The source's id.
    pub source: String,
    /// Its key.
    pub key: String,
    /// Its title.
    pub title: String,
    /// The reader that read it.
    pub reader: String,
    /// `document` or `conversation`.
    pub kind: String,
    /// The version written, from 1.
    pub version: u32,
    /// How many turns it has now.
    pub turns: u64,
    /// How many sentences.
    pub sentences: u64,
    /// How many chunks.
    pub chunks: u64,
    /// How many wordpieces.
    pub tokens: u64,
    /// The share of wordpieces that the model has no entry for, `[0, 1]`.
    pub unknown_share: f64,
    /// Characters replaced while decoding.
    pub replaced: u64,
    /// What was assumed of it, such as its encoding.
    pub remarks: Vec<String>,
}

/// A source that is in the store as it is in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unchanged {
    /// The file it came from.
    pub file: String,
    /// The source's key.
    pub key: String,
}

/// Something that was not taken in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The file.
    pub file: String,
    /// Where in it: `line 12`, `byte 300`, or empty for the whole file.
    pub place: String,
    /// Why.
    pub reason: String,
    /// The way out.
    pub hint: String,
}

/// A source that was deleted and stays so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The file it came from.
    pub file: String,
    /// The source's id.
    pub source: String,
    /// The source's key.
    pub key: String,
    /// The way out.
    pub hint: String,
}

/// A source that `--mirror` removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deleted {
    /// The source's id.
    pub source: String,
    /// The source's key.
    pub key: String,
}

/// Sums over what was imported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Files that were found.
    pub files: u64,
    /// Hidden files and folders that were left out; the store's own folder counts as one.
    pub hidden: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Attachments in archives, which are no text: pictures, sound, films.
    pub asides: u64,
    /// Sources written.
    pub sources: u64,
    /// Sources that were as they are.
    pub unchanged: u64,
    /// What was not taken in.
    pub skipped: u64,
    /// Deleted sources that stay deleted.
    pub refused: u64,
    /// Sources that a mirror removed.
    pub deleted: u64,
    /// Their turns.
    pub turns: u64,
    /// Their sentences.
    pub sentences: u64,
    /// Texts that went through the model.
    pub embedded: u64,
    /// Sentences whose vector was there before.
    pub cached: u64,
    /// Chunks written.
    pub chunks: u64,
    /// Edges written.
    pub edges: u64,
    /// Segments committed.
    pub segments: u64,
    /// Wordpieces.
    pub tokens: u64,
    /// Wordpieces the model has no entry for.
    pub unknown: u64,
}

/// What one format gave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Format {
    /// Files, or folders that are one archive.
    pub files: u64,
    /// Sources found in them.
    pub found: u64,
    /// Their turns.
    pub turns: u64,
    /// Sources written.
    pub stored: u64,
    /// Sources that were as they are.
    pub unchanged: u64,
    /// Records left out, with a reason each.
    pub skipped: u64,
}

/// Secrets that were found, and what was done with them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// `allow`, `redact` or `skip`.
    pub done: String,
    /// How many of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// Turns that stay without their text.
    pub turns_left_out: u64,
}

/// Seconds spent in each stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// Finding, reading and comparing.
    pub read: f64,
    /// Cutting into sentences.
    pub split: f64,
    /// Through the model.
    pub embed: f64,
    /// Similarity graphs and edges.
    pub link: f64,
    /// Communities and chunks.
    pub chunk: f64,
    /// Writing and committing.
    pub store: f64,
}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The device that made vectors and graphs.
    pub device: String,
    /// The store's version after the import.
    pub manifest_version: u64,
    /// Nothing was written: this is what would have been.
    pub dry_run: bool,
    /// The import was cut short; what is listed is in the store.
    pub cancelled: bool,
    /// Sources written. This and the lists below hold the first [`LISTED_MAX`].
    pub imported: Vec<Imported>,
    /// Sources that were as they are.
    pub unchanged: Vec<Unchanged>,
    /// What was not taken in, with place and reason.
    pub skipped: Vec<Skipped>,
    /// Deleted sources that stay deleted.
    pub refused: Vec<Refused>,
    /// Sources that `--mirror` removed.
    pub deleted: Vec<Deleted>,
    /// What each format gave, by its reader's name.
    pub formats: BTreeMap<String, Format>,
    /// Secrets in what was read.
    pub secrets: Found,
    /// Names given as the person's own that no archive has.
    pub me_unmet: Vec<String>,
    /// What a rehearsal found out of all that was read.
    pub survey: Option<Survey>,
    /// Sums.
    pub totals: Totals,
    /// The share of all wordpieces that the model has no entry for, `[0, 1]`.
    pub unknown_share: f64,
    /// Where the time went.
    pub seconds: Seconds,
}

impl Report {
    /// 0 done, 1 found or stored nothing at all, 3 done but something was left out.
    pub fn exit_code(&self) -> u8 {
        let totals = &self.totals;
        if totals.skipped + totals.refused > 0 || self.cancelled {
            return 3;
        }
        if totals.sources + totals.unchanged + totals.deleted == 0 { 1 } else { 0 }
    }

    /// Sources that the readers found, whatever became of them.
    pub fn n_found(&self) -> u64 {
        self.formats.values().map(|format| format.found).sum()
    }
}

/// Adds to a list that has a bound.
pub(crate) fn list<T>(entries: &mut Vec<T>, entry: T) {
    if entries.len() < LISTED_MAX {
        entries.push(entry);
    }
}

/// `part / whole`, 0 of nothing.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
