//! Tokens that are known by their beginning, as their makers publish it.

use super::{Secret, SecretKind, is_placeholder};

/// A token: its beginning, and what follows.
pub(super) struct Shape {
    pub(super) prefix: &'static str,
    kind: SecretKind,
    /// So many bytes follow at least and at most.
    n_min: usize,
    n_max: usize,
    follows: Follows,
}

/// Which bytes follow the beginning of a token.
#[derive(Clone, Copy)]
enum Follows {
    /// Letters and digits.
    Word,
    /// Capitals and digits.
    Capitals,
    /// Letters, digits, `_` and `-`.
    Url,
    /// These and `.`.
    Dotted,
    /// These and `/`.
    Path,
}

const fn shape(prefix: &'static str, kind: SecretKind, n_min: usize, n_max: usize, follows: Follows) -> Shape {
    Shape { prefix, kind, n_min, n_max, follows }
}

const LONG: usize = 4096;
use Follows::{Capitals, Dotted, Path, Url, Word};

/// A beginning that holds another stands before it.
pub(super) const SHAPES: &[Shape] = &[
    shape("AKIA", "AWS access key", 16, 16, Capitals),
    shape("ASIA", "AWS access key", 16, 16, Capitals),
    shape("ghp_", "GitHub token", 36, 251, Word),
    shape("gho_", "GitHub token", 36, 251, Word),
    shape("ghu_", "GitHub token", 36, 251, Word),
    shape("ghs_", "GitHub token", 36, LONG, Dotted),
    shape("ghr_", "GitHub token", 36, 251, Word),
    shape("github_pat_", "GitHub token", 40, 255, Url),
    shape("glpat-", "GitLab token", 20, 300, Dotted),
    shape("xoxb-", "Slack token", 20, 300, Url),
    shape("xoxp-", "Slack token", 20, 300, Url),
    shape("xoxa-", "Slack token", 20, 300, Url),
    shape("xoxs-", "Slack token", 20, 300, Url),
    shape("xoxr-", "Slack token", 20, 300, Url),
    shape("xoxe-", "Slack token", 20, 300, Url),
    shape("xoxc-", "Slack token", 20, 300, Url),
    shape("xapp-", "Slack token", 20, 300, Url),
    shape("hooks.slack.com/services/T", "Slack webhook", 30, 100, Path),
    shape("sk-ant-", "Anthropic key", 20, 300, Url),
    shape("sk-or-v1-", "OpenRouter key", 40, 100, Word),
    shape("sk-", "OpenAI key", 32, 300, Url),
    shape("AIza", "Google key", 35, 35, Url),
    shape("ya29.", "Google token", 30, LONG, Url),
    shape("GOCSPX-", "Google secret", 28, 28, Url),
    shape("sk_live_", "Stripe key", 16, 250, Word),
    shape("rk_live_", "Stripe key", 16, 250, Word),
    shape("npm_", "npm token", 36, 36, Word),
    shape("pypi-AgE", "PyPI token", 50, 1000, Url),
    shape("hf_", "Hugging Face token", 30, 40, Word),
    shape("SG.", "SendGrid key", 60, 80, Dotted),
    shape("dop_v1_", "DigitalOcean token", 64, 64, Word),
];

/// An AWS secret stands so near behind its key's id.
const NEAR_BYTES: usize = 160;
const AWS_SECRET_BYTES: usize = 40;

impl Follows {
    fn holds(self, byte: u8) -> bool {
        match self {
            Word => byte.is_ascii_alphanumeric(),
            Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Url => byte.is_ascii_alphanumeric() || b"_-".contains(&byte),
            Dotted => byte.is_ascii_alphanumeric() || b"_-.".contains(&byte),
            Path => byte.is_ascii_alphanumeric() || b"_-/".contains(&byte),
        }
    }
}

/// The token that begins at `at`, with the secret beside it.
pub(super) fn at(text: &str, at: usize, found: &mut Vec<Secret>) {
    // An anchor is met without regard to case, and `sk-` before `sk-ant-` ends.
    let Some(rest) = text.get(at..) else { return };
    let Some(shape) = SHAPES.iter().find(|shape| rest.starts_with(shape.prefix)) else { return };
    let stands_free = text[..at].bytes().next_back().is_none_or(|byte| !byte.is_ascii_alphanumeric() && byte != b'_');
    if !stands_free {
        return;
    }
    let body = &rest[shape.prefix.len()..];
    let n = body.bytes().take(shape.n_max + 1).take_while(|byte| shape.follows.holds(*byte)).count();
    let n = n - body[..n].bytes().rev().take_while(|byte| matches!(byte, b'.' | b'-' | b'/')).count();
    let goes_on = body.as_bytes().get(n).is_some_and(u8::is_ascii_alphanumeric);
    if n < shape.n_min || n > shape.n_max || goes_on || !is_random(&body[..n]) {
        return;
    }
    let end = at + shape.prefix.len() + n;
    found.push(Secret { range: at..end, kind: shape.kind });
    if matches!(shape.follows, Capitals) {
        found.extend(aws_secret(text, end));
    }
}

/// Digits and letters as chance puts them: no word with hyphens, no example.
fn is_random(body: &str) -> bool {
    let n_digits = body.bytes().filter(u8::is_ascii_digit).count();
    let n_letters = body.bytes().filter(u8::is_ascii_alphabetic).count();
    let n_parts = body.bytes().filter(|byte| b"-_./".contains(byte)).count() + 1;
    // A path of words has many short parts and few digits.
    n_letters >= 2 && !is_placeholder(body) && (n_digits >= 2 || (n_parts == 1 && is_mixed(body)))
}

/// Capitals between small letters, many of both.
fn is_mixed(body: &str) -> bool {
    let n_turns =
        body.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_lowercase() != pair[1].is_ascii_lowercase());
    n_turns.count() * 4 >= body.len()
}

/// The 40 characters of an AWS secret behind the id of its key.
fn aws_secret(text: &str, from: usize) -> Option<Secret> {
    let near = &text.as_bytes()[from..text.len().min(from + NEAR_BYTES)];
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"/+".contains(byte);
    let mut at = 0;
    while at < near.len() {
        let n = near[at..].iter().take_while(|byte| is_part(byte)).count();
        let is_cut = at + n == near.len() && from + at + n < text.len();
        if n == AWS_SECRET_BYTES && !is_cut {
            let range = from + at..from + at + n;
            let value = text.get(range.clone())?;
            let is_hex = value.bytes().all(|byte| byte.is_ascii_hexdigit());
            let has_all = value.bytes().any(|byte| byte.is_ascii_uppercase())
                && value.bytes().any(|byte| byte.is_ascii_lowercase())
                && value.bytes().any(|byte| byte.is_ascii_digit());
            return (has_all && !is_hex && !is_placeholder(value)).then_some(Secret { range, kind: "AWS secret key" });
        }
        at += n + 1;
    }
    None
}
