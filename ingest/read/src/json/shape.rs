//! Which names stand where in the first bytes of a JSON file: how readers know their own by content.
//!
//! The head of a file ends anywhere, so what is seen is what is there; nothing is concluded from the
//! rest. A name inside a text is no name, so a chat about an export is not taken for one.

use std::collections::BTreeSet;

use memchr::memchr2;

use super::pull::Kind;

/// Names deeper than this tell nothing more.
const DEPTH_MAX: u8 = 12;
/// So many different names are enough.
const NAMES_MAX: usize = 4096;

/// The names in the first bytes of a file.
#[derive(Debug, Default)]
pub struct Shape {
    /// What the first value is; `None` where the file does not begin as JSON.
    pub(crate) kind: Option<Kind>,
    /// Whether another value follows the first, as in JSONL.
    pub has_lines: bool,
    names: BTreeSet<(u8, String)>,
    pairs: BTreeSet<(u8, String, String)>,
}

impl Shape {
    /// Looks at `head`; the work is one pass over it.
    pub fn of(head: &[u8]) -> Self {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let mut shape = Self::default();
        let Some(&first) = head.trim_ascii_start().first() else { return shape };
        shape.kind = match first {
            b'{' => Some(Kind::Object),
            b'[' => Some(Kind::Array),
            _ => return shape,
        };
        shape.walk(head);
        shape
    }

    /// Whether an object that is `depth` levels deep has a field `name`. The outermost value has depth
    /// 1; an object in an array at the top has depth 2.
    pub fn has(&self, depth: u8, name: &str) -> bool {
        self.names.contains(&(depth, name.to_owned()))
    }

    /// Whether all of `names` are fields of objects `depth` levels deep.
    pub fn has_all(&self, depth: u8, names: &[&str]) -> bool {
        names.iter().all(|name| self.has(depth, name))
    }

    /// Whether an object that is `depth` levels deep says `value` under `name`.
    pub fn says(&self, depth: u8, name: &str, value: &str) -> bool {
        self.pairs.contains(&(depth, name.to_owned(), value.to_owned()))
    }

    /// The depth of the records: 2 under an array, 1 under lines and single objects.
    pub fn record_depth(&self) -> u8 {
        if self.kind == Some(Kind::Array) { 2 } else { 1 }
    }

    fn walk(&mut self, bytes: &[u8]) {
        let (mut at, mut depth) = (0, 0_u8);
        let mut name: Option<String> = None;
        while at < bytes.len() {
            match bytes[at] {
                b'"' => {
                    let Some(end) = text_end(bytes, at + 1) else { return };
                    let text = String::from_utf8_lossy(&bytes[at + 1..end - 1]);
                    let rest = bytes[end..].trim_ascii_start();
                    if rest.first() == Some(&b':') {
                        name = Some(text.into_owned());
                        self.note(depth, name.as_deref());
                    } else if let Some(name) = name.take()
                        && text.len() <= 40
                        && self.pairs.len() < NAMES_MAX
                        && depth <= DEPTH_MAX
                    {
                        self.pairs.insert((depth, name, text.into_owned()));
                    }
                    at = end;
                    continue;
                }
                b'{' | b'[' => {
                    self.has_lines |= depth == 0 && at > 0 && !self.names.is_empty();
                    depth = depth.saturating_add(1);
                    name = None;
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                b',' => name = None,
                _ => {}
            }
            at += 1;
        }
    }

    fn note(&mut self, depth: u8, name: Option<&str>) {
        if let Some(name) = name
            && depth <= DEPTH_MAX
            && self.names.len() < NAMES_MAX
        {
            self.names.insert((depth, name.to_owned()));
        }
    }
}

/// The byte after the quotation mark that closes a string.
pub(super) fn text_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let n = memchr2(b'"', b'\\', bytes.get(at..)?)?;
        at += n;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_seen_where_they_stand() {
        let shape = Shape::of(br#"[{"a":"{\"z\":1}","b":[{"c":"x"}],"text": "d"},{"e"#);
        assert_eq!((shape.kind, shape.has_lines), (Some(Kind::Array), false));
        assert!(shape.has_all(2, &["a", "b", "text"]) && shape.has(4, "c"));
        assert!(!shape.has(2, "c") && !shape.has(2, "z") && !shape.has(2, "d") && !shape.has(2, "e"));
        assert!(shape.says(4, "c", "x") && !shape.says(2, "a", "x"));
    }

    #[test]
    fn lines_are_told_from_one_value() {
        assert!(Shape::of(b"{\"a\":1}\n{\"b\":2}").has_lines);
        assert!(!Shape::of(b"{\"a\":{\"b\":2}}\n").has_lines);
        assert_eq!(Shape::of(b"Ana: {\"a\":1}").kind, None);
        assert_eq!(Shape::of(b"").kind, None);
    }
}
