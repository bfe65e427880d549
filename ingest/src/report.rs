//! What an import did, as one value: for people a table, for programs JSON.

use serde::Serialize;

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
    /// Sources written.
    pub imported: Vec<Imported>,
    /// Sources that were as they are.
    pub unchanged: Vec<Unchanged>,
    /// What was not taken in, with place and reason.
    pub skipped: Vec<Skipped>,
    /// Deleted sources that stay deleted.
    pub refused: Vec<Refused>,
    /// Sources that `--mirror` removed.
    pub deleted: Vec<Deleted>,
    /// Sums.
    pub totals: Totals,
    /// The share of all wordpieces that the model has no entry for, `[0, 1]`.
    pub unknown_share: f64,
    /// Where the time went.
    pub seconds: Seconds,
}

impl Report {
    /// 0 done, 1 found nothing at all, 3 done but something was left out.
    pub fn exit_code(&self) -> u8 {
        if !self.skipped.is_empty() || !self.refused.is_empty() || self.cancelled {
            return 3;
        }
        let nothing = self.imported.is_empty() && self.unchanged.is_empty() && self.deleted.is_empty();
        if nothing { 1 } else { 0 }
    }
}

/// `part / whole`, 0 of nothing.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
