//! The table `texts`: the retained text of each source, in the order of `sources`, read piece by piece.
//!
//! Row groups are small, so that one text is read without its neighbours by the thousand.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{StringArray, UInt32Array};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use super::{Columns, Rows};
use crate::error::{Error, Result};
use crate::model::SourceEntry;

/// A row group ends once it has this many bytes of text.
const GROUP_BYTES: usize = 256 * 1024;
/// A row group ends once it has this many rows.
const GROUP_ROWS: usize = 256;
/// Decoded row groups kept for each open segment.
const CACHED_GROUPS: usize = 16;

/// The texts of `entries` as Parquet.
pub(crate) fn encode(entries: &[SourceEntry]) -> Result<Vec<u8>> {
    let mut ends = Vec::new();
    let (mut bytes, mut start) = (0, 0);
    for (i, entry) in entries.iter().enumerate() {
        bytes += entry.text.len();
        if bytes >= GROUP_BYTES || i + 1 - start >= GROUP_ROWS {
            ends.push(i + 1);
            (bytes, start) = (0, i + 1);
        }
    }
    let n_rows = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    Columns::new("texts")
        .with("source", UInt32Array::from_iter_values(0..n_rows))
        .with("text", entries.iter().map(|entry| Some(entry.text.as_str())).collect::<StringArray>())
        .encode(true, &ends)
}

type Group = Arc<Vec<Arc<str>>>;

/// An open table of texts.
pub(crate) struct Texts {
    bytes: Bytes,
    metadata: ArrowReaderMetadata,
    path: PathBuf,
    /// First row of each row group, then the number of rows.
    starts: Vec<usize>,
    /// The row groups read last, the latest at the back.
    cache: Mutex<VecDeque<(usize, Group)>>,
}

impl Texts {
    /// Opens the table in `bytes`, whose digest was checked. Reads no text yet.
    ///
    /// # Errors
    /// [`Error::Corrupt`] naming `path`.
    pub(crate) fn open(bytes: Bytes, path: &Path) -> Result<Self> {
        let metadata = ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new())
            .map_err(|error| corrupt(path, error.to_string()))?;
        let mut starts = vec![0];
        for group in metadata.metadata().row_groups() {
            let n_rows = usize::try_from(group.num_rows()).unwrap_or(0);
            starts.push(starts.last().copied().unwrap_or(0) + n_rows);
        }
        let cache = Mutex::new(VecDeque::new());
        Ok(Self { bytes, metadata, path: path.to_owned(), starts, cache })
    }

    /// How many texts.
    pub(crate) fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The text of a source. Decodes at most one row group (about 256 KiB, or one longer text).
    ///
    /// # Errors
    /// [`Error::Corrupt`] naming the file.
    pub(crate) fn get(&self, source_row: u32) -> Result<Arc<str>> {
        let row = source_row as usize;
        let group_idx = self.starts.partition_point(|&start| start <= row).saturating_sub(1);
        let group = self.group(group_idx)?;
        let text = group.get(row - self.starts[group_idx]).cloned();
        text.ok_or_else(|| corrupt(&self.path, format!("no text for source row {row}")))
    }

    fn group(&self, group_idx: usize) -> Result<Group> {
        let lock = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cache = lock();
        if let Some(at) = cache.iter().position(|(idx, _)| *idx == group_idx)
            && let Some(found) = cache.remove(at)
        {
            let group = Arc::clone(&found.1);
            cache.push_back(found);
            return Ok(group);
        }
        // Others read on while this group is decoded; decoding one twice is harmless.
        drop(cache);
        let group = Arc::new(self.decode(group_idx)?);
        let mut cache = lock();
        if cache.len() >= CACHED_GROUPS {
            cache.pop_front();
        }
        cache.push_back((group_idx, Arc::clone(&group)));
        Ok(group)
    }

    fn decode(&self, group_idx: usize) -> Result<Vec<Arc<str>>> {
        if group_idx + 1 >= self.starts.len() {
            return Ok(Vec::new());
        }
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone())
            .with_row_groups(vec![group_idx])
            .build()
            .map_err(|error| corrupt(&self.path, error.to_string()))?;
        let mut texts = Vec::new();
        for batch in reader {
            let batch = batch.map_err(|error| corrupt(&self.path, error.to_string()))?;
            let rows = Rows { batch: &batch, path: &self.path };
            texts.extend(rows.strings("text")?.iter().map(|text| Arc::from(text.unwrap_or(""))));
        }
        Ok(texts)
    }
}

fn corrupt(path: &Path, reason: String) -> Error {
    Error::Corrupt { path: path.to_owned(), reason }
}
