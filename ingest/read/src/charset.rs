//! Texts that are not UTF-8: which encoding they are in, and what they say.
//!
//! An encoding is known by the mark at a file's beginning, by what a page declares, or by its content: UTF-16 by its
//! zero bytes, one of the older encodings by how often its characters come in texts (`chardetng`). It is named in the
//! source's metadata, with what it is known by, since only the mark is certain. A text of which some bytes are not in
//! the encoding is refused, never mended: it would be another text.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8};

use crate::decode::HEAD_BYTES;

/// What an encoding is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// The mark at the file's beginning.
    Mark,
    /// What the file declares.
    Declared,
    /// Its content: a conclusion.
    Content,
}

impl By {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Declared => "declared",
            Self::Content => "content",
        }
    }
}

/// An encoding whose characters have two or four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wide {
    n_bytes: usize,
    is_big: bool,
    /// What it is known by.
    pub by: By,
}

impl Wide {
    /// The encoding of a file that begins with `head`; `None` where it is none of these.
    pub fn of(head: &[u8]) -> Option<Self> {
        let wide = |n_bytes, is_big, by| Some(Self { n_bytes, is_big, by });
        match head {
            [0xFF, 0xFE, 0, 0, ..] => wide(4, false, By::Mark),
            [0, 0, 0xFE, 0xFF, ..] => wide(4, true, By::Mark),
            [0xFF, 0xFE, ..] => wide(2, false, By::Mark),
            [0xFE, 0xFF, ..] => wide(2, true, By::Mark),
            _ => {
                // Every second byte of a Latin text is zero, and no other byte is: numbers in a binary file are small
                // and odd bytes among them.
                let head = &head[..head.len().min(HEAD_BYTES)];
                let n_zero = |from: usize| head.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
                let (n_even, n_odd, n_units) = (n_zero(0), n_zero(1), head.len() / 2);
                let is_most = |n: usize| n_units >= 8 && n * 5 >= n_units * 3;
                let is_text = head.iter().all(|&byte| byte == 0 || (9..14).contains(&byte) || byte >= 32);
                match (is_text && n_even + n_odd > 0, n_even, n_odd) {
                    (true, 0, n) if is_most(n) => wide(2, false, By::Content),
                    (true, n, 0) if is_most(n) => wide(2, true, By::Content),
                    _ => None,
                }
            }
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match (self.n_bytes, self.is_big) {
            (2, false) => "UTF-16LE",
            (2, true) => "UTF-16BE",
            (_, false) => "UTF-32LE",
            (_, true) => "UTF-32BE",
        }
    }

    /// The text, and how many characters could not be read.
    pub fn decode(self, bytes: &[u8]) -> (String, u64) {
        let mut n_replaced = u64::from(!bytes.len().is_multiple_of(self.n_bytes));
        let units = bytes.chunks_exact(self.n_bytes).map(|unit| {
            let unit = unit.iter().map(|byte| u32::from(*byte));
            let join = |value: u32, byte: u32| value << 8 | byte;
            if self.is_big { unit.fold(0, join) } else { unit.rev().fold(0, join) }
        });
        let mut replaced = || {
            n_replaced += 1;
            char::REPLACEMENT_CHARACTER
        };
        let text = if self.n_bytes == 4 {
            units.map(|unit| char::from_u32(unit).unwrap_or_else(&mut replaced)).collect()
        } else {
            // Units of two bytes fit.
            char::decode_utf16(units.map(|unit| unit as u16)).map(|char| char.unwrap_or_else(|_| replaced())).collect()
        };
        (text, n_replaced)
    }
}

/// A text in an older encoding, with the encoding's name and what it is known by; `None` where it is in none.
pub(crate) fn legacy(bytes: &[u8], declared: Option<&str>) -> Option<(String, &'static str, By)> {
    let whole = |encoding: &'static Encoding| encoding.decode_without_bom_handling_and_without_replacement(bytes);
    let declared = declared.and_then(|label| Encoding::for_label(label.as_bytes()));
    if let Some(encoding) = declared.filter(|encoding| *encoding != UTF_8 && encoding.is_ascii_compatible())
        && let Some(text) = whole(encoding)
    {
        return Some((text.into_owned(), encoding.name(), By::Declared));
    }
    if is_mostly_utf8(bytes) {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let text = whole(encoding)?;
    // Older encodings give bytes a meaning that no text uses.
    let is_text = !text.chars().any(|char| ('\u{80}'..'\u{a0}').contains(&char) && char != '\u{85}');
    is_text.then(|| (text.into_owned(), encoding.name(), By::Content))
}

/// The encoding a file declares, where it is one whose bytes look like ASCII though they are not.
pub(crate) fn is_disguised(declared: Option<&str>) -> bool {
    declared.and_then(|label| Encoding::for_label(label.as_bytes())) == Some(ISO_2022_JP)
}

/// Whether more characters beyond ASCII are UTF-8 than not: a file that was damaged or put together from several.
fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut n_sound, mut n_bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        n_sound += chunk.valid().bytes().filter(|byte| *byte >= 0xC0).count();
        n_bad += usize::from(!chunk.invalid().is_empty());
    }
    n_sound > n_bad
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(text: &str, n_bytes: usize, is_big: bool) -> Vec<u8> {
        let units: Vec<u32> = match n_bytes {
            2 => text.encode_utf16().map(u32::from).collect(),
            _ => text.chars().map(u32::from).collect(),
        };
        let mut bytes = Vec::new();
        for unit in units {
            let big = unit.to_be_bytes();
            let little = unit.to_le_bytes();
            bytes.extend_from_slice(if is_big { &big[4 - n_bytes..] } else { &little[..n_bytes] });
        }
        bytes
    }

    #[test]
    fn wide_encodings_are_known_by_their_mark() {
        for (n_bytes, is_big, name) in
            [(2, false, "UTF-16LE"), (2, true, "UTF-16BE"), (4, false, "UTF-32LE"), (4, true, "UTF-32BE")]
        {
            let bytes = wide("\u{feff}Žluťoučký 😀", n_bytes, is_big);
            let found = Wide::of(&bytes).unwrap();
            assert_eq!((found.name(), found.by), (name, By::Mark));
            assert_eq!(found.decode(&bytes), ("\u{feff}Žluťoučký 😀".to_owned(), 0));
        }
        let half = Wide::of(b"\xff\xfea\0\x3d\xd8b\0c").unwrap();
        assert_eq!(half.decode(b"\xff\xfea\0\x3d\xd8b\0c"), ("\u{feff}a\u{fffd}b".to_owned(), 2));
    }

    #[test]
    fn utf_16_without_a_mark_is_told_from_numbers() {
        let found = Wide::of(&wide("Water the beds", 2, true)).unwrap();
        assert_eq!((found.name(), found.by), ("UTF-16BE", By::Content));
        assert_eq!(Wide::of(b"\x01\0\x02\0\x03\0\x04\0\x05\0\x06\0\x07\0\x08\0\x09\0"), None);
        assert_eq!(Wide::of(b"Water the beds"), None);
    }

    #[test]
    fn older_encodings_are_known_by_their_texts() {
        let pangram = "Příliš žluťoučký kůň úpěl ďábelské ódy. Vypráví se o tom v naší vsi dodnes.";
        let news = "В саду созрели сливы, и мы собрали их до дождя.";
        let garden = "花园里的李子熟了，我们在下雨之前把它们摘了下来。";
        for (text, name) in [(pangram, "windows-1250"), (news, "windows-1251"), (news, "KOI8-U"), (garden, "GBK")] {
            let bytes = Encoding::for_label(name.as_bytes()).unwrap().encode(text).0.into_owned();
            assert_eq!(legacy(&bytes, None), Some((text.to_owned(), name, By::Content)));
        }
        assert_eq!(legacy(b"caf\xe9 au lait", None).unwrap().1, "windows-1252");
        let declared = legacy(b"caf\xe9 au lait", Some("ISO-8859-2")).unwrap();
        assert_eq!((declared.1, declared.2), ("ISO-8859-2", By::Declared));
    }

    #[test]
    fn utf_8_with_a_bad_byte_is_no_other_encoding() {
        assert_eq!(legacy("žluťoučký kůň\u{e9}".as_bytes().split_last().unwrap().1, None), None);
        assert_eq!(legacy(b"caf\xe9 \xc3\xa9 \xc3\xa9", None), None);
    }
}
