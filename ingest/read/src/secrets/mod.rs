//! Secrets in texts: found by their published shapes, or beside a word that names one.
//!
//! Pure functions over a text or a draft. What is no secret here: an IBAN (people give it away to be paid), a hash, a
//! UUID, an example that calls itself one, a value that code looks up, and a password of letters alone, which cannot be
//! told from prose. All work is linear in the text.
//!
//! | room | does |
//! |---|---|
//! | `shapes` | tokens that are known by their beginning |
//! | `beside` | values that stand beside a word such as `password` |
//! | `blocks` | private keys, JWTs, addresses with a password, card numbers |
//! | `draft` | does it to a whole draft |

mod beside;
mod blocks;
mod draft;
mod shapes;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

pub use draft::{SecretCounts, apply};

/// Redaction is repeated until nothing is left; a stretch that only then stands free is rare.
const PASSES_MAX: usize = 16;

/// What is done with secrets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Secrets {
    /// They stay.
    #[default]
    Allow,
    /// Each becomes a mark that says what it was.
    Redact,
    /// A turn with one stays without its text, a document with one is left out.
    Skip,
}

impl Secrets {
    /// The names, for `--secrets`.
    pub const NAMES: [&str; 3] = ["allow", "redact", "skip"];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Redact => "redact",
            Self::Skip => "skip",
        }
    }

    /// The one called `name`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "allow" => Some(Self::Allow),
            "redact" => Some(Self::Redact),
            "skip" => Some(Self::Skip),
            _ => None,
        }
    }
}

/// What kind of secret it is, as the mark and the report name it.
pub type SecretKind = &'static str;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Its bytes.
    pub range: Range<usize>,
    /// Its kind.
    pub kind: SecretKind,
}

/// Who looks where an anchor stands.
#[derive(Clone, Copy)]
enum Rule {
    Shape,
    Beside,
    Pem,
    Jwt,
    Url,
    Telegram,
}

static ANCHORS: LazyLock<(AhoCorasick, Vec<Rule>)> = LazyLock::new(|| {
    let others = [("-----BEGIN ", Rule::Pem), ("eyJ", Rule::Jwt), ("://", Rule::Url), (":AA", Rule::Telegram)];
    let anchors: Vec<(&str, Rule)> = (shapes::SHAPES.iter().map(|shape| (shape.prefix, Rule::Shape)))
        .chain(beside::WORDS.iter().map(|word| (word.name, Rule::Beside)))
        .chain(others)
        .collect();
    let built = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(anchors.iter().map(|(name, _)| name));
    match built {
        Ok(built) => (built, anchors.into_iter().map(|(_, rule)| rule).collect()),
        Err(error) => unreachable!("the anchors are fixed: {error}"),
    }
});

/// Finds the secrets in a text, in order and without overlap.
pub fn find(text: &str) -> Vec<Secret> {
    let (anchors, rules) = &*ANCHORS;
    let mut found: Vec<Secret> = Vec::new();
    let mut keys_end = 0;
    for anchor in anchors.find_iter(text) {
        let (idx, at) = (anchor.pattern().as_usize(), anchor.start());
        match rules[idx] {
            Rule::Shape => shapes::at(text, at, &mut found),
            Rule::Beside => found.extend(beside::at(text, anchor.range(), idx - shapes::SHAPES.len())),
            // A key's own lines may look like another's beginning.
            Rule::Pem if at >= keys_end => {
                if let Some(key) = blocks::private_key(text, at) {
                    keys_end = key.range.end;
                    found.push(key);
                }
            }
            Rule::Pem => {}
            Rule::Jwt => found.extend(blocks::jwt(text, at)),
            Rule::Url => found.extend(blocks::url_password(text, anchor.range())),
            Rule::Telegram => found.extend(blocks::telegram(text, at)),
        }
    }
    blocks::cards(text, &mut found);
    found.sort_by_key(|secret| (secret.range.start, std::cmp::Reverse(secret.range.end)));
    let mut apart: Vec<Secret> = Vec::with_capacity(found.len());
    for secret in found {
        match apart.last_mut() {
            Some(last) if secret.range.start < last.range.end => {
                // The shape says more than the word beside it.
                if beside::KINDS.contains(&last.kind) {
                    last.kind = secret.kind;
                }
                last.range.end = last.range.end.max(secret.range.end);
            }
            _ => apart.push(secret),
        }
    }
    apart
}

/// The text with a mark in place of every secret, and what they were; `None` where there is none.
pub fn redacted(text: &str) -> Option<(String, Vec<SecretKind>)> {
    let mut found = find(text);
    let mut kinds = Vec::new();
    let mut out: Option<String> = None;
    for _ in 0..PASSES_MAX {
        if found.is_empty() {
            break;
        }
        let before = out.as_deref().unwrap_or(text);
        let mut after = String::with_capacity(before.len());
        let mut at = 0;
        for Secret { range, kind } in &found {
            after.push_str(&before[at..range.start]);
            after.push_str(&mark(kind));
            at = range.end;
            kinds.push(*kind);
        }
        after.push_str(&before[at..]);
        found = find(&after);
        out = Some(after);
    }
    out.map(|out| (out, kinds))
}

/// What stands in a secret's place.
fn mark(kind: SecretKind) -> String {
    format!("[redacted: {kind}]")
}

/// Whether a value is one that examples and forms hold in place of a secret.
fn is_placeholder(value: &str) -> bool {
    const MARKS: &[&str] = &[
        "example",
        "placeholder",
        "redacted",
        "changeme",
        "xxxx",
        "your",
        "****",
        "....",
        "…",
        "dummy",
        "1234567890ab",
    ];
    let lower = value.to_lowercase();
    let mut kinds = [false; 128];
    value.bytes().for_each(|byte| kinds[usize::from(byte & 127)] = true);
    kinds.iter().filter(|is| **is).count() < 4 || MARKS.iter().any(|mark| lower.contains(mark))
}
