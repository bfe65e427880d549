//! Values that stand beside a word that names a secret: `password = …`, `Passwort: …`, `"api_key": "…"`.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Secret, SecretKind, is_placeholder};

/// A word that names a secret.
pub(super) struct Word {
    pub(super) name: &'static str,
    kind: SecretKind,
}

const PASSWORD: SecretKind = "password";
const KEY: SecretKind = "key";
const TOKEN: SecretKind = "token";
const HEADER: SecretKind = "authorization";

/// The kinds that this room gives: a shape says more.
pub(super) const KINDS: &[SecretKind] = &[PASSWORD, KEY, TOKEN, HEADER];

const fn word(name: &'static str, kind: SecretKind) -> Word {
    Word { name, kind }
}

/// Words as people and programs write them; ASCII letters in any case.
pub(super) const WORDS: &[Word] = &[
    word("password", PASSWORD),
    word("passwd", PASSWORD),
    word("passphrase", PASSWORD),
    word("pwd", PASSWORD),
    word("passwort", PASSWORD),
    word("kennwort", PASSWORD),
    word("mot de passe", PASSWORD),
    word("contraseña", PASSWORD),
    word("CONTRASEÑA", PASSWORD),
    word("contrasena", PASSWORD),
    word("wachtwoord", PASSWORD),
    word("senha", PASSWORD),
    word("hasło", PASSWORD),
    word("пароль", PASSWORD),
    word("Пароль", PASSWORD),
    word("密码", PASSWORD),
    word("密碼", PASSWORD),
    word("パスワード", PASSWORD),
    word("비밀번호", PASSWORD),
    word("secret", TOKEN),
    word("token", TOKEN),
    word("api_key", KEY),
    word("apikey", KEY),
    word("api-key", KEY),
    word("api key", KEY),
    word("access_key", KEY),
    word("accesskey", KEY),
    word("access key", KEY),
    word("accountkey", KEY),
    word("private_key", KEY),
    word("authorization", HEADER),
    word("bearer ", HEADER),
];

/// The rest of a name, and the white space around its mark, are not longer than this.
const NAME_BYTES_MAX: usize = 32;
const VALUE_BYTES_MAX: usize = 4096;
const PASSWORD_BYTES: std::ops::RangeInclusive<usize> = 6..=128;
const TOKEN_BYTES_MIN: usize = 16;
/// A token of random characters has at least this entropy by its own letters.
const BITS_MIN: f64 = 3.0;

/// The value beside the word that stands at `word`.
pub(super) fn at(text: &str, word: Range<usize>, idx: usize) -> Option<Secret> {
    let kind = WORDS.get(idx)?.kind;
    let name_start = start_of_name(text, word.start);
    let (name_end, value) = match WORDS[idx].name {
        "bearer " => (word.end, value_at(text, word.end)?),
        _ => behind(text, word.end, kind)?,
    };
    let name = text.get(name_start..name_end)?.to_lowercase();
    let value_text = text.get(value.range.clone())?;
    if value_text.is_empty() || is_placeholder(value_text) || is_looked_up(text, &value) {
        return None;
    }
    let is_secret = match kind {
        PASSWORD => is_password(value_text, &value),
        // What a program gives to go on with is no secret.
        TOKEN if ["page", "next", "continu", "sync", "cursor"].iter().any(|part| name.contains(part)) => false,
        TOKEN => is_token(value_text) && !is_uuid(value_text),
        _ => is_token(value_text),
    };
    is_secret.then_some(Secret { range: value.range, kind })
}

struct Value {
    range: Range<usize>,
    is_quoted: bool,
}

fn start_of_name(text: &str, at: usize) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    at - text.as_bytes()[..at].iter().rev().take(NAME_BYTES_MAX).take_while(|byte| is_part(byte)).count()
}

/// The end of the name and the value behind its mark: `_2" : "value"`.
fn behind(text: &str, from: usize, kind: SecretKind) -> Option<(usize, Value)> {
    let bytes = text.as_bytes();
    let skip = |at: usize, n_max: usize, is: &dyn Fn(u8) -> bool| {
        at + bytes.get(at..).unwrap_or_default().iter().take(n_max).take_while(|byte| is(**byte)).count()
    };
    let name_end = skip(from, NAME_BYTES_MAX, &|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let at = skip(name_end, 3, &|byte| b"\"'`]\\*".contains(&byte));
    let at = skip(at, 3, &|byte| b" \t".contains(&byte));
    let rest = text.get(at..)?;
    let marks = [":=", "=>", "==", "=", ":", "："];
    // What is compared is not said.
    let mark = marks.iter().find(|mark| rest.starts_with(**mark)).filter(|mark| **mark != "==");
    let copulas = ["is ", "is: ", "ist ", "lautet ", "es ", "est ", "is：", "是", "は"];
    let n_mark = match mark {
        Some(mark) => mark.len(),
        None if kind == PASSWORD => copulas.iter().find(|copula| rest.starts_with(**copula))?.len(),
        None => return None,
    };
    let at = skip(at + n_mark, 4, &|byte| b" \t".contains(&byte));
    let at = skip(at, 2, &|byte| byte == b'*');
    let at = skip(at, 1, &|byte| b" ".contains(&byte));
    let rest = text.get(at..)?;
    let schemes = ["Bearer ", "bearer ", "Basic ", "basic ", "Token ", "token "];
    let quote = usize::from(kind == HEADER && rest.starts_with(['"', '\'']));
    match schemes.iter().find(|scheme| kind == HEADER && rest[quote..].starts_with(**scheme)) {
        Some(scheme) => Some((name_end, value_at(text, at + quote + scheme.len())?)),
        None if kind == HEADER => None,
        None => Some((name_end, value_at(text, at)?)),
    }
}

/// What stands at `at`: up to its closing quote, or up to white space.
fn value_at(text: &str, at: usize) -> Option<Value> {
    let rest = text.get(at..)?;
    let first = rest.chars().next()?;
    let (start, is_quoted) = match first {
        '"' | '\'' | '`' => (1, true),
        '\\' if rest.starts_with("\\\"") => (2, true),
        _ => (0, false),
    };
    let ends = |c: char| match is_quoted {
        true => c == first || c == '"' || c == '\n' || c == '\\',
        false => c.is_whitespace() || "\"'`,;<>|\\&".contains(c),
    };
    let value: &str = &rest[start..];
    let mut n = 0;
    for c in value.chars() {
        if ends(c) || n > VALUE_BYTES_MAX {
            break;
        }
        n += c.len_utf8();
    }
    let kept =
        if is_quoted { &value[..n] } else { value[..n].trim_end_matches(['.', ':', ')', ']', '}', '*', '!', '?']) };
    // A mark at the end of an unquoted value may be its own; one that closes a sentence costs nothing to hide.
    let n = if is_quoted || value[kept.len()..n].chars().any(|c| ".:)]}*".contains(c)) { kept.len() } else { n };
    Some(Value { range: at + start..at + start + n, is_quoted })
}

/// A value that code or a template fetches from elsewhere.
fn is_looked_up(text: &str, value: &Value) -> bool {
    let said = &text[value.range.clone()];
    let after = text[value.range.end..].chars().next();
    let begins =
        said.starts_with(['$', '{', '<', '[', '(', '%', '&', '*', '@', '/', '#', '~', '.']) || said.contains("://");
    let is_call = said.contains(['(', '{', '[', '<']) || (!value.is_quoted && after == Some('('));
    let is_named = !value.is_quoted && is_path(said);
    begins || is_call || is_named || ["environ", "getenv", "process.env"].iter().any(|name| said.contains(name))
}

/// `args.password1`, `new_password_2`, `Foo::bar`: names with few digits.
fn is_path(said: &str) -> bool {
    let parts: Vec<&str> = said.split(['.', '_', ':', '-']).collect();
    parts.len() > 1
        && parts.iter().all(|part| part.trim_end_matches(|c: char| c.is_ascii_digit()).chars().all(char::is_alphabetic))
}

fn is_password(said: &str, value: &Value) -> bool {
    let lower = said.to_lowercase();
    let names_itself = ["password", "passwd", "passwort", "secret", "token", "kennwort"].iter().any(|word| {
        lower.strip_prefix(word).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()) && rest.len() < 3)
    });
    let has_letter = said.chars().any(char::is_alphabetic);
    let has_digit = said.chars().any(|c| c.is_ascii_digit());
    let has_mark = said.trim_end_matches(['!', '?']).contains(['!', '@', '#', '$', '%', '^', '&', '*', '+', '?', '~']);
    let is_date = said.starts_with("19") || said.starts_with("20");
    PASSWORD_BYTES.contains(&said.len())
        && !names_itself
        && !said.contains(char::is_whitespace)
        && has_letter
        && (has_digit || has_mark)
        && !(is_date && !value.is_quoted && said.contains('-'))
        && said.chars().all(|c| !c.is_control())
}

fn is_token(said: &str) -> bool {
    let n_digits = said.bytes().filter(u8::is_ascii_digit).count();
    let has_letters = said.bytes().filter(u8::is_ascii_alphabetic).count() >= 4;
    let fits = said.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.~+/=".contains(&byte));
    said.len() >= TOKEN_BYTES_MIN && fits && has_letters && n_digits >= 2 && !is_path(said) && entropy(said) >= BITS_MIN
}

fn is_uuid(said: &str) -> bool {
    said.len() == 36 && said.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}

/// Bits a byte, by how often each stands in `said`.
fn entropy(said: &str) -> f64 {
    let mut counts: BTreeMap<u8, u32> = BTreeMap::new();
    said.bytes().for_each(|byte| *counts.entry(byte).or_default() += 1);
    let n = said.len() as f64;
    counts.values().map(|count| f64::from(*count) / n).map(|share| -share * share.log2()).sum()
}
