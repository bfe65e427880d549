//! The bytes of a record to a value, and lenient ways to look at one.
//!
//! Archives are not of one mind: a field may lack, be null, be a number or a text that holds one. So
//! readers ask a value for what they need and take `None` for an answer; nothing fails as a whole for
//! one odd field. Texts are borrowed from the record where they have no escapes.

use std::borrow::Cow;

pub(crate) use serde_json_borrow::Value;

use super::shape::text_end;
use crate::decode;

static NULL: Value<'static> = Value::Null;

/// A record holds at most so many values: each takes some 40 bytes in memory, however short it is written. The
/// records of an export at the bound of 64 MiB have about three million.
const VALUES_MAX: usize = 4 << 20;

/// Reads a record with `take`. What JSON may carry and a text may not (half surrogates, NUL, line ends
/// inside strings) is mended and counted; the reason where it is no JSON even so.
///
/// A record that needs no mending is read once, where it lies.
pub(crate) fn parse<T>(bytes: &[u8], n_replaced: &mut u64, take: impl FnOnce(&Value<'_>) -> T) -> Result<T, String> {
    few_values(bytes)?;
    let reason = match serde_json::from_slice::<Value<'_>>(bytes) {
        Ok(value) => return Ok(take(&value)),
        Err(error) => error,
    };
    let mut n_mended = 0;
    let mended = mend(bytes, &mut n_mended)?;
    match serde_json::from_str::<Value<'_>>(&mended) {
        Ok(value) => {
            *n_replaced += n_mended;
            Ok(take(&value))
        }
        Err(_) => Err(format!("not JSON: {reason}")),
    }
}

/// Whether a record has so few values that it may lie in memory; the reason where it has not.
pub(crate) fn few_values(bytes: &[u8]) -> Result<(), String> {
    // The shortest value is a digit and a comma.
    if bytes.len() / 2 <= VALUES_MAX || n_values(bytes) <= VALUES_MAX {
        return Ok(());
    }
    Err(format!("more than {VALUES_MAX} values in one record"))
}

/// How many values a record has, at most.
fn n_values(bytes: &[u8]) -> usize {
    let (mut n, mut at) = (1, 0);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b',' | b'[' | b'{' => n += 1,
            b'"' => at = text_end(bytes, at).unwrap_or(bytes.len()),
            _ => {}
        }
    }
    n
}

/// A record with what a parser refuses replaced.
fn mend(bytes: &[u8], n_replaced: &mut u64) -> Result<String, String> {
    let bytes = decode::mend_surrogates(bytes.to_vec(), n_replaced);
    let text = String::from_utf8(bytes)
        .map_err(|error| format!("not UTF-8 at byte {} of it", error.utf8_error().valid_up_to()))?;
    let mut out = String::with_capacity(text.len());
    let (mut is_in_text, mut is_escaped) = (false, false);
    for char in text.chars() {
        if is_in_text && char == '\0' {
            out.push_str("\\ufffd");
            *n_replaced += 1;
        } else if is_in_text && char < ' ' {
            out.push_str(&format!("\\u{:04x}", u32::from(char)));
        } else {
            out.push(char);
        }
        if char == '"' && !is_escaped {
            is_in_text = !is_in_text;
        }
        is_escaped = is_in_text && char == '\\' && !is_escaped;
    }
    let (out, n) = decode::mend_json_escapes(&out);
    *n_replaced += n;
    Ok(out)
}

/// The field `name` of an object; null where it lacks or `value` is no object.
pub(crate) fn field<'v>(value: &'v Value<'v>, name: &str) -> &'v Value<'v> {
    match value {
        Value::Object(object) => object.get(name).unwrap_or(&NULL),
        _ => &NULL,
    }
}

/// A text that is not empty.
pub(crate) fn text<'v>(value: &'v Value<'v>) -> Option<&'v str> {
    match value {
        Value::Str(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// The elements of an array; none where it is no array.
pub(crate) fn array<'v>(value: &'v Value<'v>) -> &'v [Value<'v>] {
    match value {
        Value::Array(elements) => elements,
        _ => &[],
    }
}

/// The names and values of an object; none where it is no object.
pub(crate) fn object<'v>(value: &'v Value<'v>) -> impl Iterator<Item = (&'v str, &'v Value<'v>)> {
    let object = if let Value::Object(object) = value { Some(object) } else { None };
    object.into_iter().flat_map(|object| object.iter())
}

/// A number, or a text that holds one.
pub(crate) fn number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::Str(text) => text.trim().parse().ok(),
        _ => None,
    }
    .filter(|number| number.is_finite())
}

/// A whole number, or a text that holds one.
pub(crate) fn whole_number(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::Str(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A text without NUL, which no store keeps; counts what it replaces.
pub(crate) fn clean<'t>(text: &'t str, n_replaced: &mut u64) -> Cow<'t, str> {
    match memchr::memchr(0, text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(_) => {
            *n_replaced += text.bytes().filter(|&byte| byte == 0).count() as u64;
            Cow::Owned(text.replace('\0', "\u{fffd}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(json: &[u8], expected: &str, n_expected: u64) {
        let mut n_replaced = 0;
        let read = parse(json, &mut n_replaced, |value| text(field(value, "t")).unwrap_or("(none)").to_owned());
        assert_eq!(read.unwrap_or_else(|reason| reason), expected);
        assert_eq!(n_replaced, n_expected);
    }

    #[test]
    fn what_a_text_may_not_carry_is_mended_and_counted() {
        check(br#"{"t":"a\ud83d\ude00b"}"#, "a😀b", 0);
        check(br#"{"t":"a\ud83db \udc00"}"#, "a\u{fffd}b \u{fffd}", 2);
        check(b"{\n\"t\":\"a\0b\"}", "a\u{fffd}b", 1);
        check(b"{\"t\":\"a\nb\tc \\\\\"}", "a\nb\tc \\", 0);
        check(b"{\"t\":\"a\xed\xa0\xbdb\"}", "a\u{fffd}b", 1);
    }

    #[test]
    fn what_cannot_be_mended_says_why() {
        check(b"{\"t\":\"caf\xe9\"}", "not UTF-8 at byte 9 of it", 0);
        check(b"{\"t\":tru}", "not JSON: expected ident at line 1 column 9", 0);
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        check(deep.as_bytes(), "not JSON: recursion limit exceeded at line 1 column 128", 0);
    }

    #[test]
    fn an_odd_field_is_absent() {
        let ask = |json: &[u8]| {
            parse(json, &mut 0, |value| {
                (text(value).is_some(), number(field(value, "n")), whole_number(field(value, "n")), array(value).len())
            })
            .unwrap()
        };
        assert_eq!(ask(br#"{"n":"12"}"#), (false, Some(12.0), Some(12), 0));
        assert_eq!(ask(br#"{"n":null}"#), (false, None, None, 0));
        assert_eq!(ask(b"[1,2]"), (false, None, None, 2));
    }

    #[test]
    fn a_record_of_more_values_than_memory_holds_is_refused() {
        let many = format!("[{}0]", "0,".repeat(VALUES_MAX));
        let reason = parse(many.as_bytes(), &mut 0, |_| ()).unwrap_err();
        assert_eq!(reason, "more than 4194304 values in one record");
        let text = format!("[\"{}\"]", ",[{".repeat(VALUES_MAX));
        assert_eq!(parse(text.as_bytes(), &mut 0, |value| array(value).len()), Ok(1));
    }

    proptest! {
        #[test]
        fn what_serde_writes_is_read_back(text_in in "\\PC{0,20}[\u{0}-\u{20}]{0,4}") {
            let json = serde_json::to_vec(&serde_json::json!({ "t": text_in })).unwrap();
            let mut n_replaced = 0;
            let read = parse(&json, &mut n_replaced, |value| match field(value, "t") {
                Value::Str(text) => text.to_string(),
                _ => String::new(),
            });
            prop_assert_eq!(read, Ok(text_in));
            prop_assert_eq!(n_replaced, 0);
        }

        #[test]
        fn any_bytes_are_parsed_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = parse(&bytes, &mut 0, |_| ());
        }
    }
}
