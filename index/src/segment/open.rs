//! Opens a segment: checks every byte against the manifest before any loader sees it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::lazy::Lazy;
use super::reader::{Inverted, Segment, Terminology, order, usize_range};
use super::terms::Terms;
use super::text::TextIndex;
use super::vector::VectorIndex;
use super::{FOLDER, SegmentMeta, names};
use crate::error::{Error, Result};
use crate::files::Files;
use crate::manifest::{Counts, FORMAT, FORMAT_OLDEST, FileDigest, SegmentEntry};
use crate::table::texts::Texts;
use crate::table::{chunks, edges, sentences, sources, turns, vectors};

/// Where a store's files are, and how errors name them.
#[derive(Clone)]
pub(crate) struct Place {
    /// The files.
    pub(crate) files: Arc<dyn Files>,
    /// The store's folder, for messages.
    pub(crate) root: PathBuf,
}

impl Place {
    /// The path of a file for a message.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// A path as errors give it, in full: some know only where in the store it is.
    pub(crate) fn in_full(&self, path: &Path) -> PathBuf {
        if path.starts_with(&self.root) { path.to_owned() } else { self.root.join(path) }
    }

    /// Reads a file and checks its length and digest before anyone looks at its bytes.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Corrupt`].
    pub(crate) fn read_checked(&self, relative: &str, expected: &FileDigest) -> Result<Bytes> {
        let found = self.files.digest(relative)?;
        let corrupt = |reason| Error::Corrupt { path: self.path(relative), reason };
        if found.bytes != expected.bytes {
            return Err(corrupt(format!("it has {} bytes, the manifest says {}", found.bytes, expected.bytes)));
        }
        if found.blake3 != expected.blake3 {
            return Err(corrupt("its digest differs from the manifest's".to_owned()));
        }
        self.files.read(relative)
    }
}

/// The files of a segment, checked, handed out one by one.
struct Checked {
    folder: PathBuf,
    files: BTreeMap<String, Bytes>,
}

impl Checked {
    fn all(place: &Place, entry: &SegmentEntry) -> Result<Self> {
        let folder = format!("{FOLDER}/{}", entry.name);
        let mut files = BTreeMap::new();
        for (name, digest) in &entry.files {
            files.insert(name.clone(), place.read_checked(&format!("{folder}/{name}"), digest)?);
        }
        Ok(Self { folder: place.path(&folder), files })
    }

    /// A table, or its empty form where it has no file.
    fn table<T: Default>(&mut self, name: &str, decode: impl FnOnce(Bytes, &Path) -> Result<T>) -> Result<T> {
        match self.files.remove(name) {
            Some(bytes) => decode(bytes, &self.folder.join(name)),
            None => Ok(T::default()),
        }
    }
}

/// The vectors, to be decoded when they are first wanted.
fn lazy_vectors(files: &mut Checked, dim: u32, n_rows: u32) -> Lazy<Vec<f32>> {
    let path = files.folder.join(names::VECTORS);
    let bytes = files.files.remove(names::VECTORS);
    Lazy::new(move || {
        let vectors = match &bytes {
            Some(bytes) => vectors::decode(bytes.clone(), &path, dim)?,
            None => Vec::new(),
        };
        let expected = n_rows as usize * dim as usize;
        if vectors.len() != expected {
            let reason = format!("it holds {} numbers, the manifest says {expected}", vectors.len());
            return Err(Error::Corrupt { path: path.clone(), reason });
        }
        Ok(vectors)
    })
}

impl Segment {
    /// Opens the segment that a manifest lists. Reads all of it but the texts, and hashes those too.
    ///
    /// # Errors
    /// [`Error::Corrupt`] naming the file; [`Error::Io`] with `NotFound` where a merge removed it.
    pub(crate) fn open(place: &Place, entry: &SegmentEntry) -> Result<Self> {
        let mut files = Checked::all(place, entry)?;
        let meta = read_meta(&mut files, entry)?;
        let n_sources = entry.counts.sources as usize;
        let (folder, dim) = (files.folder.clone(), meta.embedder.dim);
        let sources = files.table(names::SOURCES, sources::decode)?;
        let turns = files.table(names::TURNS, turns::decode)?;
        let sentences = files.table(names::SENTENCES, sentences::decode)?;
        let vectors = lazy_vectors(&mut files, dim, entry.counts.sentences);
        let chunks = files.table(names::CHUNKS, chunks::decode)?;
        let edges = files.table(names::EDGES, edges::decode)?;
        let texts = files.table(names::TEXTS, |bytes, path| Texts::open(bytes, path).map(Some))?;
        let starts = |table: &str, rows: &[u32]| starts(&folder.join(table), rows, n_sources);
        let mut segment = Self {
            turn_starts: starts(names::TURNS, &turns.source)?,
            sentence_starts: starts(names::SENTENCES, &sentences.source)?,
            chunk_starts: starts(names::CHUNKS, &chunks.source)?,
            edge_starts: starts(names::EDGES, &edges.source)?,
            sources_by_id: order(sources.len(), |row| (sources[row].id, sources[row].version)),
            entry: entry.clone(),
            meta,
            sources,
            turns,
            sentences,
            vectors,
            chunks,
            edges,
            texts,
            text_index: Terminology::Nothing,
            vector_index: None,
            chunks_by_id: OnceLock::new(),
            sentences_by_digest: OnceLock::new(),
            edges_by_start: OnceLock::new(),
            edges_by_end: OnceLock::new(),
        };
        segment.check_counts(&folder)?;
        segment.open_indexes(files)?;
        Ok(segment)
    }

    fn check_counts(&self, folder: &Path) -> Result<()> {
        let len = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let found = Counts {
            sources: len(self.sources.len()),
            turns: len(self.turns.rows.len()),
            sentences: len(self.sentences.rows.len()),
            chunks: len(self.chunks.rows.len()),
            edges: len(self.edges.rows.len()),
        };
        let n_texts = self.texts.as_ref().map_or(self.sources.len(), Texts::len);
        if found != self.entry.counts || n_texts != self.sources.len() {
            let reason = format!("it has {found:?} and {n_texts} texts, the manifest says {:?}", self.entry.counts);
            return Err(Error::Corrupt { path: folder.to_owned(), reason });
        }
        Ok(())
    }

    fn open_indexes(&mut self, files: Checked) -> Result<()> {
        let Checked { folder, mut files } = files;
        if self.is_live() {
            self.text_index = Terminology::Live(self.invert()?);
            return Ok(());
        }
        if let Some(bytes) = files.remove(names::VECTOR_INDEX) {
            let path = folder.join(names::VECTOR_INDEX);
            let (n_rows, dim) = (self.sentences.rows.len(), self.dim());
            self.vector_index = Some(Lazy::new(move || VectorIndex::open(&bytes, &path, n_rows, dim)));
        }
        let inner = |(name, bytes): (String, Bytes)| Some((name.strip_prefix(names::TEXT_INDEX)?.to_owned(), bytes));
        let files: BTreeMap<String, Bytes> = files.into_iter().filter_map(inner).collect();
        if !files.is_empty() {
            let n_rows = self.turns.rows.len().max(self.chunks.rows.len());
            self.text_index =
                Terminology::Sealed(Box::new(TextIndex::open(files, &folder.join(names::TEXT_INDEX), n_rows)?));
        }
        Ok(())
    }

    /// The postings of a live segment's turns and chunks, made from the same terms that would be indexed.
    fn invert(&self) -> Result<[Inverted; 2]> {
        let mut inverted = [Inverted::new(), Inverted::new()];
        for source_row in 0..self.entry.counts.sources {
            let (turns, chunks) = (self.turns_of(source_row), self.chunks_of(source_row));
            let sentences = &self.sentences.rows[usize_range(self.sentences_of(source_row))];
            let text = self.text(source_row)?;
            let (turn_rows, chunk_rows) = (usize_range(turns.clone()), usize_range(chunks.clone()));
            let (turn_rows, chunk_rows) = (&self.turns.rows[turn_rows], &self.chunks.rows[chunk_rows]);
            let terms = Terms::of_source(&text, turn_rows, sentences, chunk_rows);
            add_postings(&mut inverted[0], turns.start, terms.turns);
            add_postings(&mut inverted[1], chunks.start, terms.chunks);
        }
        Ok(inverted)
    }
}

fn read_meta(files: &mut Checked, entry: &SegmentEntry) -> Result<SegmentMeta> {
    let path = files.folder.join(names::META);
    let corrupt = |reason: String| Error::Corrupt { path: path.clone(), reason };
    let bytes = files.files.remove(names::META).ok_or_else(|| corrupt("the manifest does not list it".to_owned()))?;
    let meta: SegmentMeta = serde_json::from_slice(&bytes).map_err(|error| corrupt(error.to_string()))?;
    if !(FORMAT_OLDEST..=FORMAT).contains(&meta.format) {
        return Err(Error::Incompatible { path, found: meta.format, oldest: FORMAT_OLDEST, newest: FORMAT });
    }
    let agrees = meta.tenant == entry.tenant && meta.kind == entry.kind && meta.counts == entry.counts;
    if !agrees || meta.embedder.dim == 0 {
        return Err(corrupt("it disagrees with the manifest".to_owned()));
    }
    Ok(meta)
}

/// Where each source's rows start, from the source row of each row, which must not fall.
fn starts(path: &Path, rows: &[u32], n_sources: usize) -> Result<Vec<u32>> {
    if !rows.is_sorted() || rows.last().is_some_and(|&last| last as usize >= n_sources) {
        let reason = "its rows are not in the order of the sources".to_owned();
        return Err(Error::Corrupt { path: path.to_owned(), reason });
    }
    let mut starts = vec![0; n_sources + 1];
    for &source_row in rows {
        starts[source_row as usize + 1] += 1;
    }
    for i in 0..n_sources {
        starts[i + 1] += starts[i];
    }
    Ok(starts)
}

fn add_postings(inverted: &mut Inverted, first_row: u32, rows: Vec<Vec<String>>) {
    for (row, terms) in (first_row..).zip(rows) {
        for term in terms {
            let postings = inverted.entry(term).or_default();
            match postings.last_mut() {
                Some((last, n_times)) if *last == row => *n_times += 1,
                _ => postings.push((row, 1)),
            }
        }
    }
}
