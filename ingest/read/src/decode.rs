//! Bytes to retained text: in UTF-8, in another encoding that is named, or a reason why not.
//!
//! The rule: a file is in one encoding as a whole, or it is skipped whole, with the first bad byte's place and the
//! way out. Strewing replacement characters over a text would silently change what someone said. Only what UTF-8
//! can carry but a text cannot is mended and counted: NUL and surrogates that lost their other half become U+FFFD. A
//! byte order mark is dropped. Other encodings: `charset.rs`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::charset::{self, By, Wide};

/// Text as it is kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// The retained text.
    pub text: String,
    /// Characters replaced by U+FFFD.
    pub n_replaced: u64,
    /// Its encoding where it was not UTF-8, and what that is known by.
    pub encoding: Option<(&'static str, By)>,
}

impl Decoded {
    /// What there is to say of how it was decoded.
    pub fn metadata(&self) -> BTreeMap<String, String> {
        let said = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let pairs = self.encoding.map(|(name, by)| [said("encoding", name), said("encoding_by", by.as_str())]);
        pairs.into_iter().flatten().collect()
    }

    /// What was guessed of it: an encoding that neither a mark nor the file itself names.
    pub fn remarks(&self) -> Vec<String> {
        let guessed = self.encoding.filter(|(_, by)| *by == By::Content);
        guessed.map(|(name, _)| format!("read as {name}, guessed from its bytes")).into_iter().collect()
    }
}

/// Why a file, or a place in it, was not taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// `line 12`, `byte 300`, or empty for the whole file.
    pub place: String,
    /// Why.
    pub reason: String,
    /// The way out.
    pub hint: String,
}

impl Trouble {
    /// A trouble with its place, reason and way out.
    pub fn new(place: impl Into<String>, reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { place: place.into(), reason: reason.into(), hint: hint.into() }
    }
}

/// The trouble of a source that is over the bound.
pub(crate) fn too_large(place: &str, n_bytes: u64, bytes_max: u64) -> Trouble {
    Trouble::new(
        place,
        format!("{n_bytes} bytes, a source holds at most {bytes_max}"),
        "split it into smaller files, or convert it to chat JSONL with several conversations (docs/chat-jsonl.md)",
    )
}

/// The first bytes of formats that are not text, and their names.
const MAGICS: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "a ZIP archive"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\x7fELF", "a program"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"PAR1", "a Parquet table"),
];

/// How many bytes are looked at to tell a text from something else.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// Says why a file that starts with `head` is no text, or `None` where it may be one.
pub(crate) fn not_a_text(head: &[u8]) -> Option<Trouble> {
    for (magic, name) in MAGICS {
        if head.starts_with(magic) {
            let hint = match *magic {
                b"SQLite format 3" => {
                    "export its tables and import those: sqlite3 -json FILE 'select * from TABLE' > TABLE.json"
                }
                b"PAR1" => "export it as JSON lines and import those: duckdb -c \"copy (from 'FILE') to 'rows.jsonl'\"",
                _ => "convert it to text first",
            };
            return Some(Trouble::new("", format!("a binary file ({name})"), hint));
        }
    }
    if Wide::of(head).is_some() {
        return None;
    }
    let n_nul = head.iter().filter(|&&byte| byte == 0).count();
    let n_control = head.iter().filter(|&&byte| (1..9).contains(&byte) || (14..27).contains(&byte)).count();
    // NULs are mended: they stand for lost characters. One byte in four is UTF-16 or a format of its own, and so
    // is one in twenty beside other bytes that no text has.
    let is_binary = n_nul > 0 && (n_nul * 4 >= head.len() || (n_control > 0 && n_nul * 20 >= head.len()));
    is_binary.then(|| Trouble::new("", "a binary file", "convert it to text first"))
}

/// The first bytes of a text as readers look at them, or why it is none. JSON is UTF-8 and nothing else.
pub(crate) fn head(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Trouble> {
    if let Some(trouble) = not_a_text(bytes) {
        return Err(trouble);
    }
    let Some(wide) = Wide::of(bytes) else { return Ok(Cow::Borrowed(bytes)) };
    let text = wide.decode(bytes).0;
    if text.trim_start_matches('\u{feff}').trim_start().starts_with(['[', '{']) {
        return Err(not_utf8(0, wide.name(), wide.name()));
    }
    Ok(Cow::Owned(text.into_bytes()))
}

/// Decodes the whole of a file, which may declare its encoding.
pub(crate) fn decode(bytes: Vec<u8>, declared: Option<&str>) -> Result<Decoded, Trouble> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    if let Some(trouble) = not_a_text(head) {
        return Err(trouble);
    }
    if let Some(wide) = Wide::of(head) {
        let (text, n_replaced) = wide.decode(&bytes);
        return Ok(Decoded { encoding: Some((wide.name(), wide.by)), ..mend(text, n_replaced) });
    }
    if charset::is_disguised(declared)
        && let Some((text, name, by)) = charset::legacy(&bytes, declared)
    {
        return Ok(Decoded { encoding: Some((name, by)), ..mend(text, 0) });
    }
    let mut n_replaced = 0;
    let bytes = mend_surrogates(bytes, &mut n_replaced);
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(mend(text, n_replaced)),
        Err(error) => error,
    };
    let at = error.utf8_error().valid_up_to();
    let bytes = error.as_bytes();
    if is_binary(bytes) {
        return Err(Trouble::new(format!("byte {at}"), "a binary file", "convert it to text first"));
    }
    match charset::legacy(bytes, declared) {
        Some((text, name, by)) => Ok(Decoded { encoding: Some((name, by)), ..mend(text, 0) }),
        None => Err(not_utf8(at, "an unknown encoding, or several", "ENCODING")),
    }
}

/// Drops the byte order mark and replaces NULs.
pub(crate) fn mend(text: String, n_replaced: u64) -> Decoded {
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    let n_nul = text.bytes().filter(|&byte| byte == 0).count() as u64;
    let text = if n_nul == 0 { text } else { text.replace('\0', "\u{fffd}") };
    Decoded { text, n_replaced: n_replaced + n_nul, encoding: None }
}

/// Replaces `\ud800`-like escapes without their other half in a JSON text; counts them.
///
/// JSON may carry them, UTF-8 may not, and a parser refuses the whole line for one.
pub(crate) fn mend_json_escapes(json: &str) -> (String, u64) {
    let mut out = String::with_capacity(json.len());
    let mut n_replaced = 0;
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match escaped_unit(rest) {
            Some(0xD800..=0xDBFF) => {
                let low = rest.get(6..).and_then(escaped_unit);
                if matches!(low, Some(0xDC00..=0xDFFF)) {
                    out.push_str(&rest[..12]);
                    rest = &rest[12..];
                } else {
                    out.push_str("\\ufffd");
                    n_replaced += 1;
                    rest = &rest[6..];
                }
            }
            Some(0xDC00..=0xDFFF) => {
                out.push_str("\\ufffd");
                n_replaced += 1;
                rest = &rest[6..];
            }
            _ => {
                let n_bytes = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                out.push_str(&rest[..n_bytes]);
                rest = &rest[n_bytes..];
            }
        }
    }
    out.push_str(rest);
    (out, n_replaced)
}

fn escaped_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

fn not_utf8(at: usize, guess: &str, from: &str) -> Trouble {
    Trouble::new(
        format!("byte {at}"),
        format!("not UTF-8 ({guess})"),
        format!("convert it with iconv -f {from} -t utf-8 and import it again"),
    )
}

/// Replaces surrogates encoded as if they were characters (`ED A0..BF xx`), each by U+FFFD.
pub(crate) fn mend_surrogates(mut bytes: Vec<u8>, n_replaced: &mut u64) -> Vec<u8> {
    let mut at = 0;
    while at + 2 < bytes.len() {
        if bytes[at] == 0xED && bytes[at + 1] >= 0xA0 && bytes[at + 1] <= 0xBF && bytes[at + 2] & 0xC0 == 0x80 {
            bytes[at..at + 3].copy_from_slice("\u{fffd}".as_bytes());
            *n_replaced += 1;
            at += 3;
        } else {
            at += 1;
        }
    }
    bytes
}

/// Whether bytes that are not UTF-8 are no text either.
fn is_binary(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let n_control = head.iter().filter(|&&b| b < 9 || (14..32).contains(&b)).count();
    n_control * 50 > head.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_dropped_and_nul_is_counted() {
        let decoded = decode(b"\xef\xbb\xbfone two three four five six\0seven".to_vec(), None).unwrap();
        assert_eq!(decoded.text, "one two three four five six\u{fffd}seven");
        assert_eq!(decoded.n_replaced, 1);
    }

    #[test]
    fn a_text_with_many_nuls_is_told_from_a_binary_file() {
        assert_eq!(decode(b"G\0 7 and G\0 9, ( 2\0 )".to_vec(), None).unwrap().n_replaced, 3);
        assert!(decode(b"a\0b\0c\0d\0".to_vec(), None).is_err());
        assert!(decode(b"GIMP\0 and some text\x01\x02 behind it\0\0".to_vec(), None).is_err());
    }

    #[test]
    fn a_database_is_told_with_the_command_that_exports_it() {
        for (magic, command) in [(&b"SQLite format 3\0"[..], "sqlite3 -json"), (b"PAR1\x15", "duckdb -c")] {
            let trouble = not_a_text(magic).unwrap();
            assert!(trouble.hint.contains(command), "{}", trouble.hint);
        }
    }

    #[test]
    fn another_encoding_is_decoded_and_named_and_a_mixture_is_refused_with_its_place() {
        let decoded = decode(b"caf\xe9 au lait".to_vec(), None).unwrap();
        assert_eq!(decoded.text, "café au lait");
        assert_eq!(decoded.metadata()["encoding"], "windows-1252");
        assert_eq!(decoded.remarks(), ["read as windows-1252, guessed from its bytes"]);
        let declared = decode(b"caf\xe9 au lait".to_vec(), Some("latin1")).unwrap();
        assert_eq!((declared.metadata()["encoding_by"].as_str(), declared.remarks().len()), ("declared", 0));
        let wide = decode(b"\xff\xfec\0\xe9\0".to_vec(), None).unwrap();
        assert_eq!((wide.text.as_str(), wide.encoding), ("cé", Some(("UTF-16LE", By::Mark))));
        assert!(wide.remarks().is_empty());
        assert!(decode("café".into(), Some("latin1")).unwrap().metadata().is_empty());
        let trouble = decode(b"caf\xc3\xa9 \xc3\xa9 caf\xe9".to_vec(), None).unwrap_err();
        assert_eq!(trouble.place, "byte 12");
        assert!(trouble.hint.contains("iconv"), "{}", trouble.hint);
    }

    #[test]
    fn json_that_is_not_utf_8_says_so() {
        assert_eq!(head(b"\xff\xfe{\0}\0").unwrap_err().reason, "not UTF-8 (UTF-16LE)");
        assert_eq!(head(b"\xff\xfeh\0i\0").unwrap().as_ref(), "\u{feff}hi".as_bytes());
    }

    #[test]
    fn half_surrogates_are_replaced_in_bytes_and_in_escapes() {
        let decoded = decode(b"a\xed\xa0\xbdb".to_vec(), None).unwrap();
        assert_eq!((decoded.text.as_str(), decoded.n_replaced), ("a\u{fffd}b", 1));
        let (json, n) = mend_json_escapes(r#"{"t":"\ud83d\ude00 \ud83d x \\ud83d \udc00"}"#);
        assert_eq!(json, r#"{"t":"\ud83d\ude00 \ufffd x \\ud83d \ufffd"}"#);
        assert_eq!(n, 2);
    }
}
