//! Secrets with a check of their own: private keys, JWTs, addresses with a password, bot tokens, card numbers.

use std::ops::Range;

use super::{Secret, is_placeholder};

/// The longest private key in text; a longer stretch is cut there.
const KEY_BYTES_MAX: usize = 16 << 10;
/// A key has at least so many characters of base64.
const KEY_CHARS_MIN: usize = 64;
const URL_PART_BYTES_MAX: usize = 256;
const JWT_PART_BYTES_MAX: usize = 16 << 10;

/// A private key in PEM's armour that begins at `at`, with or without its end.
pub(super) fn private_key(text: &str, at: usize) -> Option<Secret> {
    let rest = text.get(at..)?;
    let label = rest.strip_prefix("-----BEGIN ")?;
    let label = label.get(..label.bytes().take(64).position(|byte| byte == b'-')?)?;
    if !label.contains("PRIVATE KEY") || !rest["-----BEGIN ".len() + label.len()..].starts_with("-----") {
        return None;
    }
    let body_at = "-----BEGIN ".len() + label.len() + 5;
    let mut window = KEY_BYTES_MAX.min(rest.len());
    while !rest.is_char_boundary(window) {
        window -= 1;
    }
    let body = rest.get(body_at..window)?;
    let (body, n_end) = match body.find("-----") {
        Some(n) => {
            let closing = format!("-----END {label}-----");
            (&body[..n], if body[n..].starts_with(&closing) { closing.len() } else { 0 })
        }
        // Without an end: the characters of base64 and their line ends.
        None => (&body[..body.bytes().take_while(|byte| is_base64(*byte) || b"\r\n\\ ".contains(byte)).count()], 0),
    };
    let n_chars = body.split_whitespace().filter(|line| line.bytes().all(|byte| is_base64(byte) || byte == b'\\'));
    if n_chars.map(str::len).sum::<usize>() < KEY_CHARS_MIN {
        return None;
    }
    let n = body_at + if n_end > 0 { body.len() + n_end } else { body.trim_end().len() };
    Some(Secret { range: at..at + n, kind: "private key" })
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// A JWT: three parts of base64url, the first of which says how it is signed.
pub(super) fn jwt(text: &str, at: usize) -> Option<Secret> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    if !text[at..].starts_with("eyJ") || text[..at].bytes().next_back().is_some_and(|byte| is_part(&byte)) {
        return None;
    }
    let mut parts = [0; 3];
    let mut end = at;
    for (idx, part) in parts.iter_mut().enumerate() {
        if idx > 0 {
            if text.as_bytes().get(end) != Some(&b'.') {
                return None;
            }
            end += 1;
        }
        *part = text.as_bytes()[end..].iter().take(JWT_PART_BYTES_MAX).take_while(|byte| is_part(byte)).count();
        end += *part;
    }
    if parts[0] > 1024 || parts[1] < 4 || parts[2] < 16 {
        return None;
    }
    let header = unbase64(&text.as_bytes()[at..at + parts[0]])?;
    let header: serde_json::Value = serde_json::from_slice(&header).ok()?;
    header.get("alg")?;
    Some(Secret { range: at..end, kind: "JWT" })
}

/// The bytes of base64url without padding.
fn unbase64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut n_bits) = (0_u32, 0);
    for byte in text {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(six)) & 0xff_ffff;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            out.push((bits >> n_bits & 0xff) as u8);
        }
    }
    Some(out)
}

/// The password of `scheme://user:password@host`.
pub(super) fn url_password(text: &str, mark: Range<usize>) -> Option<Secret> {
    let has_scheme = text[..mark.start].bytes().next_back().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let rest = text.get(mark.end..)?;
    let n = rest.bytes().take(URL_PART_BYTES_MAX).position(|byte| b"/ \t\r\n\"'`<>()?#|".contains(&byte));
    let authority = rest.get(..n.unwrap_or(rest.len().min(URL_PART_BYTES_MAX)))?;
    let (user_info, host) = authority.rsplit_once('@')?;
    let (user, password) = user_info.split_once(':')?;
    let is_named =
        ["password", "passwd", "pass", "pwd", "secret", "pw", "token"].contains(&password.to_lowercase().as_str());
    let is_filled = password.starts_with(['$', '{', '%', '*', '[']) || password.contains(['{', '[']);
    let is_secret = has_scheme && password.len() >= 4 && user != password && !is_named && !is_filled;
    if !is_secret || host.is_empty() || is_placeholder(password) {
        return None;
    }
    let start = mark.end + user.len() + 1;
    Some(Secret { range: start..start + password.len(), kind: "password in an address" })
}

/// A Telegram bot's token: its number, `:AA` and 33 more.
pub(super) fn telegram(text: &str, at: usize) -> Option<Secret> {
    let bytes = text.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let n_id = bytes[..at].iter().rev().take(12).take_while(|byte| byte.is_ascii_digit()).count();
    let n = bytes[at + 1..].iter().take(40).take_while(|byte| is_part(byte)).count();
    let stands_free = bytes[..at - n_id].last().is_none_or(|byte| !byte.is_ascii_alphanumeric());
    let fits = (8..=10).contains(&n_id) && n == 35 && text[at..].starts_with(":AA") && stands_free;
    let range = at - n_id..at + 1 + n;
    (fits && !is_placeholder(&text[at..range.end])).then_some(Secret { range, kind: "Telegram bot token" })
}

/// The shortest card number; any two neighbouring bytes of one hold a digit.
const CARD_BYTES_MIN: usize = 13;

/// Finds card numbers: 13 to 19 digits, single spaces or hyphens between them, of a known issuer, with Luhn's check.
pub(super) fn cards(text: &str, found: &mut Vec<Secret>) {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut at = 0;
    let mut done = 0;
    while at < bytes.len() {
        if !is_digit(at) && !is_digit(at + 1) {
            at += CARD_BYTES_MIN - 1;
            continue;
        }
        let run = run_around(bytes, if is_digit(at) { at } else { at + 1 }, done);
        done = run.end;
        at = run.end + 1;
        if run.len() >= CARD_BYTES_MIN && is_card(text, &run) {
            found.push(Secret { range: run, kind: "card number" });
        }
    }
}

/// The digits around `at`, with single separators between them.
fn run_around(bytes: &[u8], at: usize, from: usize) -> Range<usize> {
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_mark = |at: usize| bytes.get(at).is_some_and(|byte| b" -".contains(byte));
    let (mut start, mut end) = (at, at + 1);
    while start > from && (is_digit(start - 1) || (start >= from + 2 && is_mark(start - 1) && is_digit(start - 2))) {
        start -= if is_digit(start - 1) { 1 } else { 2 };
    }
    while is_digit(end) || (is_mark(end) && is_digit(end + 1)) {
        end += if is_digit(end) { 1 } else { 2 };
    }
    start..end
}

fn is_card(text: &str, run: &Range<usize>) -> bool {
    let before = text[..run.start].chars().next_back();
    let after = text[run.end..].chars().next();
    // Part of a word, a number, a path, an address or a telephone number.
    let is_part = |c: char| c.is_alphanumeric() || "_/=&?%#@+.~-".contains(c);
    let ends_a_number = |c: char| c.is_alphanumeric() || "_/=&%@~-".contains(c);
    if run.len() > 40 || before.is_some_and(is_part) || after.is_some_and(ends_a_number) {
        return false;
    }
    let said = &text[run.clone()];
    let digits: Vec<u8> = said.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect();
    let groups: Vec<usize> = said.split([' ', '-']).map(str::len).collect();
    let is_grouped = match groups.as_slice() {
        [_] | [4, 6, 5] | [4, 6, 4] => true,
        [head @ .., last] => head.iter().all(|n| *n == 4) && *last <= 4,
        [] => false,
    };
    let one_mark = !(said.contains(' ') && said.contains('-'));
    let n_kinds = (0..10).filter(|digit| digits.contains(digit)).count();
    is_grouped && one_mark && n_kinds > 1 && has_issuer(&digits) && luhn(&digits)
}

/// Whether the number begins and is as long as one issuer's do.
fn has_issuer(digits: &[u8]) -> bool {
    let begins = |n: usize| digits.iter().take(n).fold(0_u32, |number, digit| number * 10 + u32::from(*digit));
    matches!(
        (digits.len(), begins(1), begins(2), begins(4)),
        (13 | 16 | 19, 4, ..)
            | (16, _, 51..=55, _)
            | (16, .., 2221..=2720)
            | (15, _, 34 | 37, _)
            | (14, _, 36 | 38 | 39, _)
            | (14, .., 3000..=3059)
            | (16, _, 65, _)
            | (16, .., 6011 | 6440..=6499)
            | (16, .., 3528..=3589)
            | (16..=19, _, 62, _)
    )
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(idx, digit)| u32::from(*digit) << (idx % 2))
        .map(|double| if double > 9 { double - 9 } else { double })
        .sum();
    sum.is_multiple_of(10)
}
