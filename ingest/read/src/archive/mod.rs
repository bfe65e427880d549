//! Files, whether they lie in a folder or packed in an archive: each opens as a stream of bytes.
//!
//! A ZIP or tar archive is listed and its entries are opened one at a time, as often as asked; nothing
//! is unpacked beside the archive and no name in it is ever used as a path. What must be read out of
//! order (an archive in an archive, a compressed tar) goes to a temporary file that no one can name.
//!
//! | file | does |
//! |---|---|
//! | `codec` | tells archives by their first bytes; gzip and zstd as streams |
//! | `guard` | the bounds on what a packed byte may become, and the check sums |
//! | `zipped`, `tarred` | the entries of one archive |

mod codec;
mod guard;
mod list;
mod tarred;
mod zipped;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use codec::{Codec, Pack, media, pack_of};
pub(crate) use guard::{Dense, Room};
pub(crate) use list::{DENSE_HINT, Listed, list};

use codec::unpacked;
use zipped::Zipped;

/// An archive has at most so many entries; what comes after them is left out.
pub(crate) const ENTRIES_MAX: usize = 1_000_000;
/// Archives lie in archives at most so deep.
pub(crate) const DEPTH_MAX: u32 = 3;

/// A file of an import: one on disk or one in an archive.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its path for people: within the import, or within the archive or folder it is listed with.
    pub name: String,
    /// Its bytes, where that is known before it is read.
    pub n_bytes: Option<u64>,
    /// Where its bytes are.
    pub place: Place,
}

/// Where a file's bytes are.
#[derive(Clone, Debug)]
pub enum Place {
    /// A file on disk.
    File(PathBuf),
    /// An entry of a ZIP archive.
    Zipped(Zipped),
    /// A stretch of a file: an entry of a tar archive.
    Stretch {
        /// The archive.
        file: Arc<Backing>,
        /// Where the entry begins in it.
        start: u64,
        /// Its bytes.
        n_bytes: u64,
    },
    /// What another file becomes when it is unpacked.
    Packed {
        /// The other file.
        part: Arc<Part>,
        /// How it is packed.
        codec: Codec,
    },
}

/// A file that can be read out of order; a temporary one goes when the last that reads it is gone.
#[derive(Debug)]
pub struct Backing {
    path: PathBuf,
    /// The bytes on disk that it was unpacked from, or its own.
    n_disk: u64,
    _temporary: Option<tempfile::TempPath>,
}

impl Backing {
    /// Opens it anew, with a place to read of its own.
    pub fn open(&self) -> io::Result<File> {
        File::open(&self.path)
    }
}

impl Part {
    /// A file on disk.
    pub fn file(name: impl Into<String>, path: impl Into<PathBuf>, n_bytes: u64) -> Self {
        Self { name: name.into(), n_bytes: Some(n_bytes), place: Place::File(path.into()) }
    }

    /// Its bytes from the beginning.
    ///
    /// # Errors
    /// The disk's. While reading: what is damaged, and [`Dense`] where it becomes far more than it is.
    pub fn open(&self) -> io::Result<Box<dyn Read>> {
        match &self.place {
            Place::File(path) => Ok(Box::new(File::open(path)?)),
            Place::Zipped(entry) => entry.open(),
            Place::Stretch { file, start, n_bytes } => {
                let mut file = file.open()?;
                file.seek(SeekFrom::Start(*start))?;
                Ok(Box::new(file.take(*n_bytes)))
            }
            Place::Packed { part, codec } => unpacked(part.open()?, *codec, part.n_disk()),
        }
    }

    /// At most so many bytes on disk stand behind it, however deep it is packed.
    fn n_disk(&self) -> u64 {
        match &self.place {
            Place::File(_) => self.n_bytes.unwrap_or(u64::MAX),
            Place::Zipped(entry) => entry.n_disk(),
            Place::Stretch { file, n_bytes, .. } => file.n_disk.min(*n_bytes),
            Place::Packed { part, .. } => part.n_disk(),
        }
    }

    /// Its first bytes, at most `n`.
    ///
    /// # Errors
    /// As [`Part::open`].
    pub fn head(&self, n: usize) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        self.open()?.take(n as u64).read_to_end(&mut head)?;
        Ok(head)
    }

    /// It as a file that can be read out of order: itself, or a temporary copy.
    ///
    /// # Errors
    /// As [`Part::open`], and the disk's where it is full.
    pub fn backing(&self) -> io::Result<Arc<Backing>> {
        if let Place::File(path) = &self.place {
            return Ok(Arc::new(Backing { path: path.clone(), n_disk: self.n_disk(), _temporary: None }));
        }
        let mut copy = tempfile::NamedTempFile::new()?;
        io::copy(&mut self.open()?, &mut copy)?;
        let temporary = copy.into_temp_path();
        let n_disk = self.n_disk();
        Ok(Arc::new(Backing { path: temporary.to_path_buf(), n_disk, _temporary: Some(temporary) }))
    }
}

/// A name in an archive as a path below it, or `None` where it leads out of the archive.
fn inner_name(name: &str) -> Option<String> {
    if name.starts_with(['/', '\\']) || name.chars().nth(1) == Some(':') {
        return None;
    }
    let parts: Vec<&str> = name.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
    // No disk has a name with NUL, and no text keeps it.
    if parts.is_empty() || parts.contains(&"..") { None } else { Some(parts.join("/").replace('\0', "\u{fffd}")) }
}

/// Whether a path has a part that systems hide or add by themselves.
fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.') || part == "__MACOSX")
}

#[cfg(test)]
mod tests;
