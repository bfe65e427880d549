//! The entries of a tar archive: where each lies, so that it can be read as often as asked.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;
use std::sync::Arc;

use super::list::Listed;
use super::{Backing, ENTRIES_MAX, Part, Place};
use crate::decode::Trouble;
use crate::files::unreadable;

/// What stands before an entry, its long name and its pax records, has at most so many bytes: they are held in memory.
const HEADERS_BYTES_MAX: u64 = 1 << 20;

/// The entries of the tar archive in `file`; where it is damaged, those before the damage.
pub(super) fn entries(file: &Arc<Backing>) -> Listed {
    let mut listed = Listed::default();
    let n_left = Rc::new(Cell::new(HEADERS_BYTES_MAX));
    let mut archive = match file.open() {
        Ok(file) => tar::Archive::new(Headers { file, n_left: Rc::clone(&n_left) }),
        Err(error) => {
            listed.trouble("", unreadable(&error));
            return listed;
        }
    };
    let n_file_bytes = archive_len(file);
    let entries = match archive.entries_with_seek() {
        Ok(entries) => entries,
        Err(error) => {
            listed.trouble("", damaged(&error));
            return listed;
        }
    };
    for (n_before, entry) in entries.enumerate() {
        if n_before == ENTRIES_MAX {
            listed.crowded(ENTRIES_MAX + 1);
            break;
        }
        n_left.set(HEADERS_BYTES_MAX);
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                listed.trouble("", damaged(&error));
                break;
            }
        };
        let kind = entry.header().entry_type();
        if kind.is_dir() || kind.is_pax_global_extensions() {
            continue;
        }
        let given = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let Some(name) = listed.admit(&given) else { continue };
        let (start, n_bytes) = (entry.raw_file_position(), entry.size());
        if !kind.is_file() && !kind.is_contiguous() {
            let what = if kind.is_symlink() || kind.is_hard_link() { "a link" } else { "neither file nor folder" };
            let hint = "import what it stands for by itself";
            listed.trouble(&name, Trouble::new("", format!("{what} in an archive, which is not followed"), hint));
        } else if start.saturating_add(n_bytes) > n_file_bytes {
            listed.trouble(&name, Trouble::new("", "the archive ends inside it", "copy or export the archive again"));
        } else {
            let place = Place::Stretch { file: Arc::clone(file), start, n_bytes };
            listed.parts.push(Part { name, n_bytes: Some(n_bytes), place });
        }
    }
    listed
}

/// The headers of an archive; what lies between them is passed over.
struct Headers {
    file: File,
    /// So much may be read before the next entry.
    n_left: Rc<Cell<u64>>,
}

impl Read for Headers {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(into)?;
        let n_left = self.n_left.get().checked_sub(n as u64);
        self.n_left.set(n_left.ok_or_else(|| io::Error::other("the name of an entry is over 1 MiB"))?);
        Ok(n)
    }
}

impl Seek for Headers {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

fn archive_len(file: &Backing) -> u64 {
    file.open().and_then(|file| file.metadata()).map_or(0, |metadata| metadata.len())
}

fn damaged(error: &std::io::Error) -> Trouble {
    let hint = "copy or export it again: what stands before the damage went in";
    Trouble::new("", format!("a damaged tar archive: {error}"), hint)
}
