//! The text index of a sealed segment: tantivy, one document a row, its number the row.
//!
//! The only file that names tantivy. Document `i` holds the terms of turn row `i` in one field and of
//! chunk row `i` in another. Terms come from outside; scores and queries of tantivy are not used.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use tantivy::directory::error::{DeleteError, OpenReadError, OpenWriteError};
use tantivy::directory::{Directory, FileHandle, OwnedBytes, RamDirectory, WatchCallback, WatchHandle, WritePtr};
use tantivy::postings::Postings;
use tantivy::schema::{IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{DocSet, HasLen, Index, SegmentReader, TERMINATED, TantivyDocument, Term};

use super::Field;
use super::terms::Terms;
use crate::error::{Error, Result};

/// Memory for the table of terms while an index is built, in bytes; it is a start, not a bound.
const BUDGET_BYTES: usize = 15_000_000;
/// The file that lists the others.
const META: &str = "meta.json";
/// What stands for the random name that tantivy gives its one segment, so that equal terms give equal bytes.
const SEGMENT_NAME: &str = "00000000000000000000000000000001";

fn schema() -> (Schema, tantivy::schema::Field, tantivy::schema::Field) {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("whitespace")
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(false);
    let options = TextOptions::default().set_indexing_options(indexing);
    let mut builder = Schema::builder();
    let turn = builder.add_text_field("turn", options.clone());
    let chunk = builder.add_text_field("chunk", options);
    (builder.build(), turn, chunk)
}

fn failed(error: impl fmt::Display) -> Error {
    Error::Engine { engine: "tantivy", path: PathBuf::from(super::names::TEXT_INDEX), reason: error.to_string() }
}

/// Builds the index and returns its files by name. Equal terms give equal bytes.
///
/// # Errors
/// [`Error::Engine`].
pub(crate) fn build(terms: &Terms) -> Result<BTreeMap<String, Vec<u8>>> {
    let (schema, turn, chunk) = schema();
    let ram = RamDirectory::create();
    let mut writer = Index::builder()
        .schema(schema)
        .single_segment_index_writer::<TantivyDocument>(ram.clone(), BUDGET_BYTES)
        .map_err(failed)?;
    for row in 0..terms.turns.len().max(terms.chunks.len()) {
        let mut document = TantivyDocument::new();
        for (field, rows) in [(turn, &terms.turns), (chunk, &terms.chunks)] {
            if let Some(terms) = rows.get(row) {
                // Terms hold no white space, so joining and splitting gives them back.
                document.add_text(field, terms.join(" "));
            }
        }
        writer.add_document(document).map_err(failed)?;
    }
    let index = writer.finalize().map_err(failed)?;
    let segments = index.searchable_segments().map_err(failed)?;
    let [segment] = &segments[..] else {
        return Err(failed("it did not make one segment"));
    };
    let mut files = BTreeMap::new();
    let simple = segment.id().uuid_string();
    for path in index.directory().list_managed_files() {
        let Ok(file) = ram.open_read(&path) else {
            continue; // Listed, but not made.
        };
        let bytes = file.read_bytes().map_err(failed)?;
        files.insert(path.to_string_lossy().replace(&simple, SEGMENT_NAME), bytes.as_slice().to_vec());
    }
    let meta = ram.atomic_read(Path::new(META)).map_err(failed)?;
    let meta = String::from_utf8_lossy(&meta).replace(&hyphened(&simple), &hyphened(SEGMENT_NAME));
    files.insert(META.to_owned(), meta.replace(&simple, SEGMENT_NAME).into_bytes());
    Ok(files)
}

/// The form of a segment's name that `meta.json` uses: 8-4-4-4-12 digits.
fn hyphened(simple: &str) -> String {
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| simple.get(range).unwrap_or(""));
    parts.join("-")
}

/// An open text index.
pub(crate) struct TextIndex {
    reader: SegmentReader,
    turn: tantivy::schema::Field,
    chunk: tantivy::schema::Field,
    path: PathBuf,
}

impl TextIndex {
    /// Opens an index over files whose digests were checked; `path` is their folder.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where it does not hold `n_rows` documents.
    pub(crate) fn open(files: BTreeMap<String, Bytes>, path: &Path, n_rows: usize) -> Result<Self> {
        let corrupt = |reason: String| Error::Corrupt { path: path.to_owned(), reason };
        let index = Index::open(Lent(Arc::new(files))).map_err(|error| corrupt(error.to_string()))?;
        let segments = index.searchable_segments().map_err(|error| corrupt(error.to_string()))?;
        let [segment] = &segments[..] else {
            return Err(corrupt(format!("it has {} parts, not one", segments.len())));
        };
        let reader = SegmentReader::open(segment).map_err(|error| corrupt(error.to_string()))?;
        if reader.max_doc() as usize != n_rows {
            return Err(corrupt(format!("it holds {} documents, not {n_rows}", reader.max_doc())));
        }
        let (_, turn, chunk) = schema();
        Ok(Self { reader, turn, chunk, path: path.to_owned() })
    }

    /// Calls `visit` with each row that holds `term` and how often it does, rows ascending.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub(crate) fn postings(&self, field: Field, term: &str, visit: &mut dyn FnMut(u32, u32)) -> Result<()> {
        let corrupt = |reason: String| Error::Corrupt { path: self.path.clone(), reason };
        let field = match field {
            Field::Turn => self.turn,
            Field::Chunk => self.chunk,
        };
        let inverted = self.reader.inverted_index(field).map_err(|error| corrupt(error.to_string()))?;
        let found = inverted.read_postings(&Term::from_field_text(field, term), IndexRecordOption::WithFreqs);
        let Some(mut postings) = found.map_err(|error| corrupt(error.to_string()))? else {
            return Ok(());
        };
        let mut row = postings.doc();
        while row != TERMINATED {
            visit(row, postings.term_freq());
            row = postings.advance();
        }
        Ok(())
    }
}

/// Checked files, lent to tantivy for reading.
#[derive(Clone)]
struct Lent(Arc<BTreeMap<String, Bytes>>);

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Lent {
    fn find(&self, path: &Path) -> std::result::Result<&Bytes, OpenReadError> {
        let found = path.to_str().and_then(|name| self.0.get(name));
        found.ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_owned()))
    }
}

/// One checked file.
#[derive(Debug)]
struct Slice(Bytes);

impl HasLen for Slice {
    fn len(&self) -> usize {
        self.0.len()
    }
}

impl FileHandle for Slice {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        match self.0.get(range) {
            Some(bytes) => Ok(OwnedBytes::new(bytes.to_vec())),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn read_only() -> io::Error {
    io::ErrorKind::ReadOnlyFilesystem.into()
}

impl Directory for Lent {
    fn get_file_handle(&self, path: &Path) -> std::result::Result<Arc<dyn FileHandle>, OpenReadError> {
        Ok(Arc::new(Slice(self.find(path)?.clone())))
    }

    fn delete(&self, path: &Path) -> std::result::Result<(), DeleteError> {
        Err(DeleteError::IoError { io_error: Arc::new(read_only()), filepath: path.to_owned() })
    }

    fn exists(&self, path: &Path) -> std::result::Result<bool, OpenReadError> {
        Ok(self.find(path).is_ok())
    }

    fn open_write(&self, path: &Path) -> std::result::Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(read_only(), path.to_owned()))
    }

    fn atomic_read(&self, path: &Path) -> std::result::Result<Vec<u8>, OpenReadError> {
        Ok(self.find(path)?.to_vec())
    }

    fn atomic_write(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Err(read_only())
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}
