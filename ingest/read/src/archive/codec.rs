//! Tells archives by their first bytes; unpacks gzip and zstd as streams.

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use super::guard::Guard;

/// How a single file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// gzip, also of several members (RFC 1952).
    Gzip,
    /// zstd (RFC 8878).
    Zstd,
}

/// What kind of archive a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pack {
    /// Many files in a ZIP archive.
    Zip,
    /// Many files in a tar archive.
    Tar,
    /// One file, packed.
    Single(Codec),
}

/// Where a tar archive says that it is one (POSIX ustar and GNU).
const TAR_MAGIC_AT: usize = 257;

/// The kind of archive that begins with `head`, at least 512 bytes of it where there are so many.
pub(crate) fn pack_of(head: &[u8]) -> Option<Pack> {
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Some(Pack::Zip);
    }
    if head.starts_with(b"\x1f\x8b\x08") {
        return Some(Pack::Single(Codec::Gzip));
    }
    if head.starts_with(b"\x28\xb5\x2f\xfd") {
        return Some(Pack::Single(Codec::Zstd));
    }
    head.get(TAR_MAGIC_AT..).is_some_and(|rest| rest.starts_with(b"ustar")).then_some(Pack::Tar)
}

/// Beginnings of pictures, sound and films: what chats have as attachments.
const MEDIA: &[&[u8]] = &[
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"OggS",
    b"ID3",
    b"\xff\xfb",
    b"\xff\xf1",
    b"\x1aE\xdf\xa3",
    b"fLaC",
    b"BM6",
    b"II*\0",
    b"MM\0*",
    b"#!AMR",
];

/// Whether a file that begins with `head` is a picture, sound or a film.
pub(crate) fn media(head: &[u8]) -> bool {
    MEDIA.iter().any(|magic| head.starts_with(magic))
        || head.get(4..8) == Some(b"ftyp")
        || (head.starts_with(b"RIFF") && matches!(head.get(8..12), Some(b"WEBP" | b"WAVE" | b"AVI ")))
}

/// What `packed`, behind which stand `n_disk` bytes on disk, becomes within the bound on its density.
pub(super) fn unpacked(packed: Box<dyn Read>, codec: Codec, n_disk: u64) -> io::Result<Box<dyn Read>> {
    let n_packed = Rc::new(Cell::new(0));
    let counted = BufReader::with_capacity(64 << 10, Counted { reader: packed, n: Rc::clone(&n_packed) });
    let plain: Box<dyn Read> = match codec {
        Codec::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(counted)),
        Codec::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(counted)?),
    };
    Ok(Box::new(Guard::streamed(plain, n_packed, n_disk)))
}

/// Counts what is read through it.
struct Counted {
    reader: Box<dyn Read>,
    n: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(into)?;
        self.n.set(self.n.get() + n as u64);
        Ok(n)
    }
}
