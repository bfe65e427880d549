//! One record a line. Lines end in `\n` only: U+2028 and U+0085 are characters of a text.

use std::io::{self, BufRead, BufReader, Read};

/// Room for input that is not yet a line.
const BUFFER_BYTES: usize = if cfg!(fuzzing) { 16 } else { 256 << 10 };

/// One line with its place.
#[derive(Debug)]
pub(crate) struct Line {
    /// Its number, from 1.
    pub n: u64,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Without its end; cut where it is over the bound.
    pub bytes: Vec<u8>,
    /// Its whole length in bytes, its end included.
    pub n_bytes: u64,
}

impl Line {
    /// Its place, for people.
    pub fn place(&self) -> String {
        format!("line {}", self.n)
    }

    /// Whether there is nothing in it.
    pub fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }
}

/// Reads lines in bounded memory.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    n: u64,
    offset: u64,
    bytes_max: u64,
}

impl<R: Read> Lines<R> {
    /// Reads lines of `reader`; of one with more than `bytes_max` bytes only so many are kept.
    pub fn new(reader: R, bytes_max: u64) -> Self {
        Self { reader: BufReader::with_capacity(BUFFER_BYTES, reader), n: 0, offset: 0, bytes_max }
    }

    /// The next line, or `None` at the end. A byte order mark before the first one is dropped.
    ///
    /// # Errors
    /// The input's.
    pub fn next(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let limit = self.bytes_max.saturating_add(1);
        let mut n_read = self.reader.by_ref().take(limit).read_until(b'\n', &mut bytes)? as u64;
        if n_read == 0 {
            return Ok(None);
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        } else if n_read == limit {
            n_read += skip_line(&mut self.reader)?;
        }
        if self.n == 0 && bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        let line = Line { n: self.n + 1, offset: self.offset, bytes, n_bytes: n_read };
        self.n += 1;
        self.offset += n_read;
        Ok(Some(line))
    }
}

fn skip_line(reader: &mut impl BufRead) -> io::Result<u64> {
    let mut n_skipped = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(n_skipped);
        }
        let (n, is_done) = match memchr::memchr(b'\n', buffer) {
            Some(at) => (at + 1, true),
            None => (buffer.len(), false),
        };
        reader.consume(n);
        n_skipped += n as u64;
        if is_done {
            return Ok(n_skipped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_over_the_bound_is_cut_and_the_next_is_whole() {
        let mut lines = Lines::new(&b"\xef\xbb\xbfab\r\n0123456789\n\nxy"[..], 6);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let is_blank = line.is_blank();
            found.push((line.n, line.offset, String::from_utf8(line.bytes).unwrap(), line.n_bytes, is_blank));
        }
        assert_eq!(
            found,
            [
                (1, 0, "ab\r".to_owned(), 7, false),
                (2, 7, "0123456".to_owned(), 11, false),
                (3, 18, String::new(), 1, true),
                (4, 19, "xy".to_owned(), 2, false),
            ]
        );
    }
}
