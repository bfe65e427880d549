//! Memory maps: a file's bytes without reading it. The only unsafe lines of this crate.

use std::fs::File;
use std::io;

use bytes::Bytes;
use memmap2::Mmap;

/// Maps the whole of `file`. The map outlives the file's name: removing the file does not end it.
///
/// # Errors
/// Those of the system; an empty file is an empty map, not an error.
pub(crate) fn map(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: a store's files are written under a temporary name, synced, and then never altered or
    // cut, only unlinked, so the mapped bytes keep their value and length while the map lives.
    let map = unsafe { Mmap::map(file)? };
    Ok(Bytes::from_owner(map))
}
