//! The entries of a ZIP archive, listed from its directory, each opened where it lies.
//!
//! The directory is read by the `zip` crate, the entry's bytes by its codec: so an entry is a stream
//! of its own that can be opened as often as asked, and several may be open at once.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use zip::ZipArchive;

use super::guard::{Guard, is_allowed};
use super::list::Listed;
use super::{Backing, Dense, ENTRIES_MAX, Part, Place};
use crate::decode::Trouble;

/// An entry of a ZIP archive.
#[derive(Clone, Debug)]
pub struct Zipped {
    archive: Arc<Archive>,
    idx: usize,
    method: Method,
    n_packed: u64,
    n_bytes: u64,
    crc: u32,
}

struct Archive {
    file: Arc<Backing>,
    directory: Mutex<ZipArchive<File>>,
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.file.fmt(f)
    }
}

/// How an entry is packed, of the ways this build reads.
#[derive(Clone, Copy, Debug)]
enum Method {
    Stored,
    Deflated,
    Zstd,
}

impl Zipped {
    /// At most so many bytes on disk stand behind it.
    pub(super) fn n_disk(&self) -> u64 {
        self.n_packed.min(self.archive.file.n_disk)
    }

    /// The entry's bytes from the beginning.
    pub fn open(&self) -> io::Result<Box<dyn Read>> {
        let start = {
            let mut directory = self.archive.directory.lock().unwrap_or_else(PoisonError::into_inner);
            directory.by_index_raw(self.idx)?.data_start()
        };
        let mut file = self.archive.file.open()?;
        file.seek(SeekFrom::Start(start.ok_or(io::ErrorKind::InvalidData)?))?;
        let packed = file.take(self.n_packed);
        let plain: Box<dyn Read> = match self.method {
            Method::Stored => Box::new(packed),
            Method::Deflated => Box::new(flate2::read::DeflateDecoder::new(packed)),
            Method::Zstd => Box::new(zstd::stream::read::Decoder::new(packed)?),
        };
        Ok(Box::new(Guard::listed(plain, self.n_disk(), self.crc, self.n_bytes)))
    }
}

/// The entries of the ZIP archive in `file`.
pub(super) fn entries(file: Arc<Backing>) -> Listed {
    let mut listed = Listed::default();
    let opened = file.open().map_err(zip::result::ZipError::from);
    let (n_file_bytes, directory) = match opened.and_then(|file| Ok((file.metadata()?.len(), ZipArchive::new(file)?))) {
        Ok(opened) => opened,
        Err(error) => {
            let reason = format!("a damaged ZIP archive: {error}");
            listed.trouble("", Trouble::new("", reason, "copy or export it again: its directory lies at its end"));
            return listed;
        }
    };
    let n_entries = directory.len();
    let packed =
        (0..n_entries).filter_map(|idx| directory.by_index_data(idx).ok()).map(|entry| entry.compressed_size());
    if packed.fold(0_u64, u64::saturating_add) > n_file_bytes {
        let reason = "a ZIP archive whose entries overlap: it is made to fill disks";
        listed.trouble("", Trouble::new("", reason, "leave it out"));
        return listed;
    }
    if n_entries == 0 {
        listed.trouble("", Trouble::new("", "a ZIP archive without entries", "pack it again if there should be some"));
    }
    listed.has_twins = directory.has_duplicate_names();
    let archive = Arc::new(Archive { file, directory: Mutex::new(directory) });
    let directory = archive.directory.lock().unwrap_or_else(PoisonError::into_inner);
    for idx in 0..n_entries.min(ENTRIES_MAX) {
        let Ok(entry) = directory.by_index_data(idx) else { continue };
        let given = match std::str::from_utf8(entry.name_raw()) {
            Ok(name) => name.to_owned(),
            Err(_) => entry.name().map_or_else(|_| format!("entry {idx}"), std::borrow::Cow::into_owned),
        };
        let is_folder = entry.is_dir() || given.ends_with('/');
        if is_folder && entry.size() == 0 {
            continue;
        }
        let Some(name) = listed.admit(&given) else { continue };
        if is_folder {
            listed.trouble(&name, Trouble::new("", "a folder with bytes of its own", "unpack it by hand to see"));
            continue;
        }
        match method(&entry, archive.file.n_disk) {
            Err(trouble) => listed.trouble(&name, trouble),
            Ok(method) => {
                let (n_packed, n_bytes, crc) = (entry.compressed_size(), entry.size(), entry.crc32());
                let zipped = Zipped { archive: Arc::clone(&archive), idx, method, n_packed, n_bytes, crc };
                listed.parts.push(Part { name, n_bytes: Some(n_bytes), place: Place::Zipped(zipped) });
            }
        }
    }
    drop(directory);
    listed.crowded(n_entries);
    listed
}

fn method(entry: &zip::read::ZipFileEntry<'_>, n_disk: u64) -> Result<Method, Trouble> {
    if entry.encrypted() {
        return Err(Trouble::new("", "encrypted", "unpack it with its password and import the folder"));
    }
    if entry.is_symlink() {
        return Err(Trouble::new("", "a link in an archive, which is not followed", "import what it leads to"));
    }
    let n_packed = entry.compressed_size().min(n_disk);
    if !is_allowed(n_packed, entry.size()) {
        return Err(Trouble::new("", Dense { n_packed }.to_string(), super::list::DENSE_HINT));
    }
    let method = entry.compression();
    if method == zip::CompressionMethod::Stored {
        Ok(Method::Stored)
    } else if method == zip::CompressionMethod::DEFLATE {
        Ok(Method::Deflated)
    } else if method == zip::CompressionMethod::ZSTD {
        Ok(Method::Zstd)
    } else {
        let reason = format!("packed by a method that is not read here ({method:?})");
        Err(Trouble::new("", reason, "unpack it and import the folder"))
    }
}
