//! Finds the end of a JSON value, a piece of the input at a time.
//!
//! Counts brackets outside strings and nothing else: whether the value is sound is for its parser to
//! say. Work is one pass over the bytes; inside strings, where exports have most of them, it is
//! `memchr`.

use memchr::memchr2;

/// How far a value has been read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Frame {
    /// In an array or object, so many levels deep.
    Nested(u32),
    /// In a string, so many levels deep.
    Text(u32),
    /// After a backslash in a string, so many levels deep.
    Escape(u32),
    /// In a number, `true`, `false`, `null`, or what stands in their place.
    Word,
}

impl Frame {
    /// The state before a value whose first byte is `first`.
    pub fn before(first: u8) -> Self {
        match first {
            b'"' | b'[' | b'{' => Self::Nested(0),
            _ => Self::Word,
        }
    }

    /// Reads on in `bytes`: the value's end in them, or `None` where it goes on.
    ///
    /// The end of a word is the byte before its delimiter; the end of the input ends it too.
    pub fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            match *self {
                Self::Word => {
                    let n = bytes[at..].iter().position(|&byte| CLASS[byte as usize] & DELIMITER != 0);
                    return n.map(|n| at + n);
                }
                Self::Escape(depth) => {
                    at += 1;
                    *self = Self::Text(depth);
                }
                Self::Text(depth) => {
                    let n = memchr2(b'"', b'\\', &bytes[at..])?;
                    at += n + 1;
                    if bytes[at - 1] == b'\\' {
                        *self = Self::Escape(depth);
                    } else if depth == 0 {
                        return Some(at);
                    } else {
                        *self = Self::Nested(depth);
                    }
                }
                Self::Nested(depth) => at = self.nested(depth, bytes, at)?,
            }
            if matches!(self, Self::Nested(0)) && at > 0 {
                return Some(at);
            }
        }
        None
    }

    /// To the next string, or to the end of the value; `None` at the end of `bytes`.
    fn nested(&mut self, mut depth: u32, bytes: &[u8], mut at: usize) -> Option<usize> {
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            if CLASS[byte as usize] & STRUCTURE == 0 {
                continue;
            }
            match byte {
                b'"' => {
                    *self = Self::Text(depth);
                    return Some(at);
                }
                b'[' | b'{' => depth = depth.saturating_add(1),
                _ => depth = depth.saturating_sub(1),
            }
            if depth == 0 {
                *self = Self::Nested(0);
                return Some(at);
            }
        }
        *self = Self::Nested(depth);
        None
    }
}

/// Ends a word.
const DELIMITER: u8 = 1;
/// A bracket or a quotation mark.
const STRUCTURE: u8 = 2;

/// What each byte is outside a string.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let delimiters = b",]}[{:\" \t\r\n";
    let mut idx = 0;
    while idx < delimiters.len() {
        class[delimiters[idx] as usize] |= DELIMITER;
        idx += 1;
    }
    let structures = b"\"[]{}";
    idx = 0;
    while idx < structures.len() {
        class[structures[idx] as usize] |= STRUCTURE;
        idx += 1;
    }
    class
};

#[cfg(test)]
mod tests {
    use super::*;

    fn end(json: &str) -> Option<usize> {
        Frame::before(json.as_bytes()[0]).scan(json.as_bytes())
    }

    #[test]
    fn a_value_ends_where_its_brackets_close_outside_strings() {
        for (json, n) in [
            (r#"{"a":[1,{"b":"}"}]} , 2"#, 19),
            (r#""a\"]" ,"#, 6),
            (r#""a\\" ,"#, 5),
            ("[]]", 2),
            ("{}", 2),
            ("\"\",", 2),
            ("12,3", 2),
            ("null]", 4),
        ] {
            assert_eq!(end(json), Some(n), "{json}");
        }
        assert_eq!(end(r#"{"a":"b}"#), None);
        assert_eq!(end("12"), None, "a word may go on in the next piece");
    }
}
