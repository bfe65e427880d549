//! Bounds on what the streams of a PDF unpack to, checked before the library that reads it sees the file.
//!
//! The library unpacks a stream whole. So every stream is unpacked here first, in pieces that are thrown away, and a
//! file whose streams become too much is refused. Streams of encrypted files cannot be looked into.

use std::io::{self, Read};

use flate2::read::ZlibDecoder;
use memchr::memmem;

use crate::decode::Trouble;

/// One stream unpacks to at most so much.
const STREAM_BYTES_MAX: u64 = 64 << 20;
/// A picture, which is not unpacked unless the file lies about what it is.
const PICTURE_BYTES_MAX: u64 = 256 << 20;
/// All streams but pictures together.
const ALL_BYTES_MAX: u64 = 256 << 20;
/// Streams that are packed by LZW have at most so many bytes together: a byte becomes a thousand at most.
const LZW_BYTES_MAX: usize = 1 << 20;
/// So many bytes before a stream say what it is.
const DICTIONARY_BYTES: usize = 1024;

/// A glyph's number or width in a font is at most so large.
const WIDTH_MAX: u64 = 1_000_000;

/// Says why the streams in `pdf` are too much, or the table of a font's widths: the library writes out its ranges.
pub(super) fn check(pdf: &[u8]) -> Result<(), Trouble> {
    if let Some(at) = memmem::find_iter(pdf, b"/W").find(|at| is_wild(&pdf[at + 2..])) {
        let reason = "a damaged PDF: a font has more glyphs than a font can have";
        return Err(Trouble::new(format!("byte {at}"), reason, "open it in a PDF program and save it again"));
    }
    let mut n_all = 0_u64;
    let mut n_lzw = 0_usize;
    let mut from = 0;
    for at in memmem::find_iter(pdf, b"stream") {
        if at < from || pdf[..at].ends_with(b"end") {
            continue;
        }
        let start = at + b"stream".len();
        let data = &pdf[start + line_end(&pdf[start..])..];
        let before = &pdf[at.saturating_sub(DICTIONARY_BYTES).max(from)..at];
        let begin = memmem::rfind(before, b" obj").unwrap_or(0);
        let dictionary = &before[begin..];
        from = start;
        let is_picture = memmem::find(dictionary, b"/Image").is_some();
        if !is_picture && memmem::find(dictionary, b"LZW").is_some() {
            n_lzw += memmem::find(data, b"endstream").unwrap_or(data.len());
        }
        let bound = if is_picture { PICTURE_BYTES_MAX } else { STREAM_BYTES_MAX };
        let is_ascii = memmem::find(dictionary, b"85").is_some();
        let (n_bytes, is_packed_twice) = if is_ascii && !data.starts_with(b"x") {
            unpacked(ZlibDecoder::new(Ascii85::new(data)), bound)
        } else {
            unpacked(ZlibDecoder::new(data), bound)
        };
        n_all += if is_picture { 0 } else { n_bytes };
        if n_bytes > bound || n_all > ALL_BYTES_MAX || is_packed_twice || n_lzw > LZW_BYTES_MAX {
            let reason = "a PDF whose streams unpack to far more than a text";
            return Err(Trouble::new(
                format!("byte {at}"),
                reason,
                "save it again with a PDF program, or print it to a PDF",
            ));
        }
    }
    Ok(())
}

/// Whether an array begins here that has a number beyond [`WIDTH_MAX`].
fn is_wild(bytes: &[u8]) -> bool {
    let n_blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let array = &bytes[n_blank..];
    if array.first() != Some(&b'[') {
        return false;
    }
    let n =
        array.iter().position(|byte| !(byte.is_ascii_digit() || byte.is_ascii_whitespace() || b"[].+-".contains(byte)));
    let numbers = array[..n.unwrap_or(array.len())].split(|byte| !byte.is_ascii_digit());
    let mut numbers = numbers
        .map(|digits| digits.iter().fold(0_u64, |n, byte| n.saturating_mul(10).saturating_add(u64::from(byte - b'0'))));
    numbers.any(|number| number > WIDTH_MAX)
}

fn line_end(bytes: &[u8]) -> usize {
    match bytes {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}

/// How many bytes a stream becomes, counted until it is more than `bound`; and whether those are packed once more.
fn unpacked(mut stream: impl Read, bound: u64) -> (u64, bool) {
    let mut piece = [0_u8; 16 << 10];
    let mut n_bytes = 0;
    let mut is_packed_twice = false;
    loop {
        let n = match stream.read(&mut piece) {
            Ok(0) | Err(_) => return (n_bytes, is_packed_twice && n_bytes > 64),
            Ok(n) => n,
        };
        if n_bytes == 0 && n >= 2 {
            let head = u16::from_be_bytes([piece[0], piece[1]]);
            is_packed_twice = piece[0] == 0x78
                && head.is_multiple_of(31)
                && ZlibDecoder::new(&piece[..n]).read(&mut [0; 64]).is_ok_and(|n| n > 0);
        }
        n_bytes += n as u64;
        if n_bytes > bound {
            return (n_bytes, is_packed_twice);
        }
    }
}

/// Bytes that are written as ASCII, five characters for four.
struct Ascii85<'a> {
    text: &'a [u8],
    out: [u8; 4],
    n_out: usize,
    at: usize,
}

impl<'a> Ascii85<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, out: [0; 4], n_out: 0, at: 0 }
    }

    fn fill(&mut self) {
        let mut group = 0_u64;
        let mut n = 0;
        while let Some((&byte, rest)) = self.text.split_first() {
            self.text = rest;
            match byte {
                b'z' if n == 0 => {
                    n = 5;
                    break;
                }
                b'!'..=b'u' => {
                    group = group * 85 + u64::from(byte - b'!');
                    n += 1;
                    if n == 5 {
                        break;
                    }
                }
                b'~' => {
                    self.text = &[];
                    break;
                }
                _ => {}
            }
        }
        for _ in n..5 {
            group = group * 85 + 84;
        }
        self.out = u32::try_from(group).unwrap_or(u32::MAX).to_be_bytes();
        self.at = 0;
        self.n_out = usize::saturating_sub(n, 1);
    }
}

impl Read for Ascii85<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut n = 0;
        while n < into.len() {
            if self.at == self.n_out {
                self.fill();
            }
            if self.n_out == 0 {
                break;
            }
            into[n] = self.out[self.at];
            self.at += 1;
            n += 1;
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn pdf(dictionary: &str, stream: &[u8]) -> Vec<u8> {
        [b"%PDF-1.7\n1 0 obj <<", dictionary.as_bytes(), b">>\nstream\n", stream, b"\nendstream endobj"].concat()
    }

    #[test]
    fn streams_within_the_bounds_pass_and_bombs_do_not() {
        let zeros = packed(&vec![0; 65 << 20]);
        assert_eq!(check(&pdf("/Filter /FlateDecode", &packed(b"BT (Beds) Tj ET"))), Ok(()));
        assert_eq!(check(&pdf("/Subtype /Image", &zeros)), Ok(()));
        for bomb in [pdf("/Filter /FlateDecode", &zeros), pdf("/Filter [/FlateDecode /FlateDecode]", &packed(&zeros))] {
            assert!(check(&bomb).unwrap_err().reason.contains("far more"));
        }
    }

    #[test]
    fn a_font_has_no_billion_glyphs() {
        assert_eq!(check(b"%PDF-1.4 <</W [ 1 [ 250 333 ] 7 191 722 ]>>"), Ok(()));
        let trouble = check(b"%PDF-1.4 <</W [ 1 [ 250 333 ] 7 2147483648 722 ]>>").unwrap_err();
        assert!(trouble.reason.contains("more glyphs"), "{trouble:?}");
    }

    #[test]
    fn ascii_is_read_as_what_it_stands_for() {
        let mut out = Vec::new();
        Ascii85::new(b"87cURD]i,\"Ebo80~>").read_to_end(&mut out).unwrap();
        assert_eq!(out, b"Hello World!");
    }
}
