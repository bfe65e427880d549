//! Sentences and the spans that say where they stand.

use super::ids::TextDigest;

/// Bytes `[start, end)` of a source's retained text, on character borders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: u64,
    /// First byte after.
    pub end: u64,
}

impl Span {
    /// The bytes `[start, end)`; an end before the start is our own mistake.
    pub fn new(start: u64, end: u64) -> Self {
        assert!(start <= end, "a span ends before it starts");
        Self { start, end }
    }

    /// How many bytes it covers.
    pub const fn len(self) -> u64 {
        self.end - self.start
    }

    /// Whether it covers nothing.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The bytes of `text` it covers, or `None` where they do not exist.
    pub fn slice(self, text: &str) -> Option<&str> {
        let start = usize::try_from(self.start).ok()?;
        let end = usize::try_from(self.end).ok()?;
        text.get(start..end)
    }
}

/// A sentence: what is embedded. Its vector stands beside it at the same index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Where it stands in the retained text.
    pub span: Span,
    /// The turn it belongs to, counted within the source; 0 for a document.
    pub turn: u32,
    /// The digest of its text: equal text has an equal vector.
    pub digest: TextDigest,
    /// Its wordpieces, without special ones.
    pub n_tokens: u32,
}
