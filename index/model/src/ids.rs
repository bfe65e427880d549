//! Stable identities: 128-bit BLAKE3 hashes of what a thing is, never of where it lies.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Hashes length-prefixed fields under a domain name, so that no two kinds of identity collide.
///
/// Source: BLAKE3, `derive_key` mode, first 128 bits.
pub struct IdHasher(blake3::Hasher);

impl IdHasher {
    /// Starts an identity of the kind `domain`, for example `strata source v1`.
    pub fn new(domain: &str) -> Self {
        Self(blake3::Hasher::new_derive_key(domain))
    }

    /// Adds one field; its length is hashed too, so that `("ab", "c")` differs from `("a", "bc")`.
    #[must_use]
    pub fn field(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// The first 16 bytes of the hash.
    pub fn finish(&self) -> [u8; 16] {
        let mut out = [0; 16];
        out.copy_from_slice(&self.0.finalize().as_bytes()[..16]);
        out
    }
}

macro_rules! identity {
    ($(#[$doc:meta])* $name:ident, $noun:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 16]);

        impl $name {
            /// Takes the 16 bytes as they are.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// The 16 bytes.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                parse_hex(text).map(Self).ok_or_else(|| Error::Id {
                    noun: $noun,
                    given: text.to_owned(),
                })
            }
        }
    };
}

identity!(
    /// A source: hash of (scope, reader, key). Never of its title or text.
    SourceId,
    "source"
);
identity!(
    /// A chunk: hash of (source, kind, ordered sentence digests, n-th occurrence).
    ///
    /// Unchanged text keeps its id across versions and shifts.
    ChunkId,
    "chunk"
);
identity!(
    /// The digest of a text, whatever its place: of a sentence, a turn or a source's retained text.
    TextDigest,
    "text"
);

impl SourceId {
    /// The identity of the source that `reader` calls `key` in `scope`.
    pub fn of(scope: &str, reader: &str, key: &str) -> Self {
        let hasher = IdHasher::new("strata source v1");
        Self(hasher.field(scope.as_bytes()).field(reader.as_bytes()).field(key.as_bytes()).finish())
    }
}

impl TextDigest {
    /// The digest of `text`.
    pub fn of(text: &str) -> Self {
        Self(IdHasher::new("strata text v1").field(text.as_bytes()).finish())
    }
}

impl ChunkId {
    /// The identity of the `nth` chunk of `source` with this kind and these sentences.
    pub fn of(source: SourceId, kind: &str, sentences: &[TextDigest], nth: u32) -> Self {
        let mut hasher =
            IdHasher::new("strata chunk v1").field(source.as_bytes()).field(kind.as_bytes()).field(&nth.to_le_bytes());
        for digest in sentences {
            hasher = hasher.field(digest.as_bytes());
        }
        Self(hasher.finish())
    }
}

fn parse_hex(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    if bytes.len() != 32 {
        return None;
    }
    let mut out = [0; 16];
    for (slot, pair) in out.iter_mut().zip(bytes.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *slot = u8::try_from(high * 16 + low).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_print_and_parse_back() {
        let id = SourceId::of("local", "markdown", "notes/a.md");
        assert_eq!(id.to_string().parse::<SourceId>().unwrap(), id);
        assert!("zz".parse::<SourceId>().is_err());
    }

    #[test]
    fn fields_do_not_run_together() {
        assert_ne!(SourceId::of("ab", "c", "d"), SourceId::of("a", "bc", "d"));
        assert_eq!(SourceId::of("a", "b", "c"), SourceId::of("a", "b", "c"));
    }
}
