//! The bound on what a packed byte may become, so that a small file cannot fill a disk or a day.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read};
use std::rc::Rc;

use flate2::Crc;

/// Every packed file may become so much.
const FREE_BYTES: u64 = 1 << 20;
/// Beyond that a packed byte may become at most so many. Text packs 3 to 20 to 1, logs up to 100.
const DENSITY_MAX: u64 = 200;

/// The error of a file that becomes far more than it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dense {
    /// Its packed bytes, as far as they were read.
    pub n_packed: u64,
}

impl fmt::Display for Dense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packed bytes become more than {DENSITY_MAX} times as many", self.n_packed)
    }
}

impl std::error::Error for Dense {}

/// Whether `n_packed` bytes may become `n_bytes`.
pub(super) fn is_allowed(n_packed: u64, n_bytes: u64) -> bool {
    n_bytes <= FREE_BYTES.saturating_add(n_packed.saturating_mul(DENSITY_MAX))
}

/// What all entries of one file on disk, at every depth, may become together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room(u64);

impl Room {
    /// The room of a file of `n_disk` bytes.
    pub fn of(n_disk: u64) -> Self {
        Self(FREE_BYTES.saturating_add(n_disk.saturating_mul(DENSITY_MAX)))
    }

    /// Takes `n_bytes` of it; whether they were there.
    pub fn take(&mut self, n_bytes: u64) -> bool {
        let rest = self.0.checked_sub(n_bytes);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }
}

/// Reads what is unpacked and stops where it is more than is allowed, or not what it should be.
pub(super) struct Guard<R> {
    reader: R,
    n_bytes: u64,
    n_packed: Rc<Cell<u64>>,
    n_disk: u64,
    /// The check sum and length that the whole should have.
    whole: Option<(u32, u64)>,
    crc: Crc,
}

impl<R: Read> Guard<R> {
    /// Guards a stream whose packed bytes are counted while it is read; of them at most `n_disk` lie on disk.
    pub fn streamed(reader: R, n_packed: Rc<Cell<u64>>, n_disk: u64) -> Self {
        Self { reader, n_bytes: 0, n_packed, n_disk, whole: None, crc: Crc::new() }
    }

    /// Guards an entry of which the archive says what it should be.
    pub fn listed(reader: R, n_packed: u64, crc: u32, n_bytes: u64) -> Self {
        Self { whole: Some((crc, n_bytes)), ..Self::streamed(reader, Rc::new(Cell::new(n_packed)), n_packed) }
    }
}

impl<R: Read> Read for Guard<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(into)?;
        self.n_bytes += n as u64;
        let n_packed = self.n_packed.get().min(self.n_disk);
        if !is_allowed(n_packed, self.n_bytes) {
            return Err(io::Error::other(Dense { n_packed }));
        }
        if let Some((crc, n_bytes)) = self.whole {
            self.crc.update(&into[..n]);
            let is_end = n == 0 && !into.is_empty();
            if is_end && (self.crc.sum() != crc || self.n_bytes != n_bytes) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "its check sum or length is not what the archive says",
                ));
            }
        }
        Ok(n)
    }
}
