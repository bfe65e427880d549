//! SEAM: what a reader takes and gives.
//!
//! A [`Reader`] is chosen by the [`Head`] of a file, reads an [`Input`] and hands on [`Event`]s: a [`Draft`] for each
//! source, a [`Trouble`] for what it left out.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::sync::Arc;

use model::{IdHasher, Role, SourceKind, TimeOrigin, Timestamp};

use crate::archive::{Backing, Part};
use crate::decode::Trouble;
use crate::json::Shape;
use crate::mapping::Mapping;

/// Whoever takes what is read wants no more of it, and keeps the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Shorthand for what can only be stopped by whoever takes what is read.
pub type Result<T> = std::result::Result<T, Stopped>;

/// One message as an archive gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftTurn {
    /// The archive's message id, or one derived from what the message says.
    pub id: String,
    /// The author as the archive names them; empty where it does not.
    pub author: String,
    /// Who speaks.
    pub role: Role,
    /// When it was said.
    pub said_at: Option<Timestamp>,
    /// Where that time comes from.
    pub origin: TimeOrigin,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// The session, where the archive has sessions.
    pub session: Option<u32>,
    /// The body.
    pub text: String,
    /// What else the archive says of it.
    pub metadata: BTreeMap<String, String>,
}

/// The body of a draft.
#[derive(Clone, Debug, PartialEq)]
pub enum DraftBody {
    /// A document's retained text.
    Text(String),
    /// A conversation's messages in the archive's order.
    Turns(Vec<DraftTurn>),
}

/// How a text is marked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lines and paragraphs.
    Plain,
    /// CommonMark with tables.
    Markdown,
}

/// One source as an archive gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The archive's own id; `None` takes the file's key.
    pub key: Option<String>,
    /// For people.
    pub title: String,
    /// Document or conversation.
    pub kind: SourceKind,
    /// How its text is marked up.
    pub form: Form,
    /// When the archive was exported, where it says so.
    pub exported_at: Option<Timestamp>,
    /// What else the archive says of it.
    pub metadata: BTreeMap<String, String>,
    /// Characters replaced while decoding.
    pub n_replaced: u64,
    /// What was assumed or guessed of it, such as its encoding: shown in the report of the import.
    pub remarks: Vec<String>,
    /// Nothing of it was left out: a mirrored import may remove what it lacks.
    pub is_complete: bool,
    /// Where it lies in a folder that its reader claimed, for a source without a key of its own.
    pub part: Option<String>,
    /// Its text or turns.
    pub body: DraftBody,
}

impl Draft {
    /// A whole source of plain text that has no key of its own and of which no more is said. NUL in its
    /// title is replaced.
    pub fn new(title: impl Into<String>, kind: SourceKind, body: DraftBody) -> Self {
        let title = title.into();
        Self {
            key: None,
            title: if title.contains('\0') { title.replace('\0', "\u{fffd}") } else { title },
            kind,
            form: Form::Plain,
            exported_at: None,
            metadata: BTreeMap::new(),
            n_replaced: 0,
            remarks: Vec::new(),
            is_complete: true,
            part: None,
            body,
        }
    }
}

/// What a reader hands on: a source, or why something is none.
pub enum Event {
    /// A source.
    Draft(Draft),
    /// Something that was left out, with its place.
    Trouble(Trouble),
    /// Something that is not read and need not be: an attachment, an archive's index.
    Aside,
}

/// Takes a reader's events; an error from it ends the reading.
pub type Emit<'a> = dyn FnMut(Event) -> Result<()> + 'a;

/// What to read, and the bounds.
pub struct Input<'a> {
    /// Its files: one, or all of a folder that the reader claimed, named within it.
    pub parts: &'a [Part],
    /// Its name for people: the path within the import.
    pub name: &'a str,
    /// A source with more bytes is left out.
    pub source_bytes_max: u64,
    /// A file is read no further than this; `None` reads all of it.
    pub file_bytes_max: Option<u64>,
    /// Where everything stands, for the reader `mapped` alone.
    pub mapping: Option<&'a Mapping>,
}

impl<'a> Input<'a> {
    /// The files `parts`, with a bound on a source and no other.
    pub fn new(parts: &'a [Part], name: &'a str, source_bytes_max: u64) -> Self {
        Self { parts, name, source_bytes_max, file_bytes_max: None, mapping: None }
    }

    /// Its one file, or the first.
    pub(crate) fn part(&self) -> io::Result<&Part> {
        self.parts.first().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The bytes of its one file, from the beginning.
    pub fn open(&self) -> io::Result<Box<dyn Read>> {
        let reader = self.part()?.open()?;
        Ok(match self.file_bytes_max {
            Some(n_left) => Box::new(Capped { reader, n_left }),
            None => reader,
        })
    }

    /// Its one file as one that can be read out of order.
    pub fn backing(&self) -> io::Result<Arc<Backing>> {
        self.part()?.backing()
    }
}

/// Reads no further than so many bytes, and says so where there are more.
struct Capped<R> {
    reader: R,
    n_left: u64,
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(into)?;
        match self.n_left.checked_sub(n as u64) {
            Some(n_left) => self.n_left = n_left,
            None => return Err(io::Error::other("it has more bytes than are allowed (--max-bytes)")),
        }
        Ok(n)
    }
}

/// The first bytes of a file, which say whose it is.
pub struct Head<'a> {
    /// At most [`crate::decode::HEAD_BYTES`] of them.
    pub bytes: &'a [u8],
    /// The file's path within the import or its archive.
    pub name: &'a str,
    shape: OnceCell<Shape>,
}

impl<'a> Head<'a> {
    /// The head of the file `name`.
    pub fn new(bytes: &'a [u8], name: &'a str) -> Self {
        Self { bytes, name, shape: OnceCell::new() }
    }

    /// The names in it, where it is JSON.
    pub fn shape(&self) -> &Shape {
        self.shape.get_or_init(|| Shape::of(self.bytes))
    }
}

/// SEAM: a source format.
pub trait Reader: Sync {
    /// Its name: part of a source's identity.
    fn name(&self) -> &'static str;
    /// How sure it is, 0 to 100, that a file is its own.
    fn recognises(&self, head: &Head<'_>) -> u8;
    /// Whether a file that is no text may be its own.
    fn reads_binary(&self) -> bool {
        false
    }
    /// Whether an archive with entries of these names is one document of its own; `mimetype` is what the entry of
    /// that name says.
    fn packs(&self, _names: &[&str], _mimetype: &str) -> bool {
        false
    }
    /// The folders it reads as one archive each, given the paths of all files that are listed together;
    /// the empty path is the outermost one.
    fn claims(&self, _names: &[&str]) -> Vec<String> {
        Vec::new()
    }
    /// Whether a file below a folder it claimed is its own, by the path within the folder; any other is read
    /// by itself.
    fn takes(&self, _name: &str) -> bool {
        true
    }
    /// Whether its sources have keys of their own, so that several files may hold parts of one.
    fn has_keys(&self) -> bool {
        false
    }
    /// Reads a file, or a folder it claimed, source by source; memory is bounded by the largest source.
    ///
    /// # Errors
    /// Only what `emit` returns: what is wrong with the file goes through `emit`.
    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()>;
}

/// Gives turns without an id one that says what they are: digest of (author, role, time, text, n-th of these).
///
/// Two exports of one conversation then agree on it, which is what their union goes by.
#[derive(Debug, Default)]
pub struct DerivedIds {
    seen: HashMap<[u8; 16], u32>,
}

impl DerivedIds {
    /// The id of the next turn by `author` that says `text`.
    pub fn next(&mut self, author: &str, role: Role, said_at: Option<Timestamp>, text: &str) -> String {
        let base = IdHasher::new("strata turn v1")
            .field(author.as_bytes())
            .field(role.as_str().as_bytes())
            .field(&said_at.map_or([0; 8], |at| at.as_micros().to_le_bytes()))
            .field(text.as_bytes());
        let nth = self.seen.entry(base.finish()).or_insert(0);
        let id = base.field(&nth.to_le_bytes()).finish();
        *nth += 1;
        id.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
