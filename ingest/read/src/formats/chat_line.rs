//! One line of chat JSONL: a message or the header, or why it is neither, in the format's own words.

use std::collections::BTreeMap;

use model::Timestamp;
use serde_json::{Map, Value};

use crate::decode;
use crate::json::{clean, few_values};

/// A reason quotes at most so many characters of what was given.
const QUOTE_CHARS_MAX: usize = 60;

/// The line `{"strata_chat":1,…}`.
#[derive(Debug)]
pub(super) struct Header {
    /// When the archive was exported.
    pub exported_at: Option<Timestamp>,
}

/// A message; what is absent or null is `None`.
#[derive(Debug)]
pub(super) struct Message {
    /// The key of its source.
    pub conversation: Option<String>,
    /// Its id, never empty.
    pub id: Option<String>,
    /// Who says it.
    pub author: Option<String>,
    /// Their role as the archive names it.
    pub role: Option<String>,
    /// When.
    pub time: Option<Timestamp>,
    /// What.
    pub text: String,
    /// The id it answers.
    pub reply_to: Option<String>,
    /// What else there is to say of it.
    pub metadata: BTreeMap<String, String>,
    /// Characters that were replaced in it.
    pub n_replaced: u64,
}

type Read<T> = std::result::Result<T, String>;

/// The text of a line, or why it is none.
pub(super) fn text_of(bytes: &[u8]) -> Read<String> {
    match String::from_utf8(bytes.to_vec()) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
        Err(error) => Err(format!("not UTF-8 at byte {} of the line", error.utf8_error().valid_up_to())),
    }
}

/// Reads a line as the header; `None` where it is none.
pub(super) fn header(json: &str) -> Option<Read<Header>> {
    few_values(json.as_bytes()).ok()?;
    let Ok(Value::Object(mut object)) = serde_json::from_str(json) else { return None };
    let number = object.remove("strata_chat")?;
    Some(read_header(&number, &mut object))
}

fn read_header(number: &Value, object: &mut Map<String, Value>) -> Read<Header> {
    let strata_chat = number.as_u64().ok_or("field strata_chat is no whole number")?;
    if strata_chat != 1 {
        return Err(format!("chat format {strata_chat}, this build reads 1"));
    }
    Ok(Header { exported_at: time(object, "exported_at")? })
}

/// Reads a line's message, with lone surrogates mended and counted.
pub(super) fn message(json: &str) -> Read<Message> {
    let (mended, mut n_replaced) = if json.contains("\\ud") || json.contains("\\uD") {
        decode::mend_json_escapes(json)
    } else {
        (String::new(), 0)
    };
    let json = if n_replaced > 0 { mended.as_str() } else { json };
    few_values(json.as_bytes())?;
    let Ok(Value::Object(mut object)) = serde_json::from_str(json) else {
        return Err("not a JSON object".to_owned());
    };
    let object = &mut object;
    let conversation = id(object, "conversation")?;
    if conversation.as_ref().is_some_and(|key| key.trim().is_empty()) {
        return Err("field conversation is empty".to_owned());
    }
    let text = string(object, "text")?.ok_or("field text is missing")?;
    let text = clean(&text, &mut n_replaced).into_owned();
    let author = string(object, "author")?.map(|author| clean(&author, &mut n_replaced).into_owned());
    Ok(Message {
        conversation,
        // An empty id would make one turn of all that have it.
        id: id(object, "id")?.filter(|id| !id.is_empty()),
        author,
        role: string(object, "role")?,
        time: time(object, "time")?,
        text,
        reply_to: id(object, "reply_to")?,
        metadata: metadata(object)?,
        n_replaced,
    })
}

fn string(object: &mut Map<String, Value>, name: &str) -> Read<Option<String>> {
    match object.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("field {name} is no text")),
    }
}

/// An id, which archives write as a text or as a number.
fn id(object: &mut Map<String, Value>, name: &str) -> Read<Option<String>> {
    match object.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => Err(format!("field {name} is neither text nor a number")),
    }
}

fn time(object: &mut Map<String, Value>, name: &str) -> Read<Option<Timestamp>> {
    let Some(given) = object.remove(name).filter(|given| !given.is_null()) else { return Ok(None) };
    match given.as_str().and_then(|text| text.parse().ok()) {
        Some(at) => Ok(Some(at)),
        None => Err(format!("field {name} is no RFC 3339 time with an offset: {}", quoted(&given))),
    }
}

/// A value as JSON, cut where it is long.
fn quoted(given: &Value) -> String {
    let json = given.to_string();
    match json.char_indices().nth(QUOTE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &json[..at]),
        None => json,
    }
}

fn metadata(object: &mut Map<String, Value>) -> Read<BTreeMap<String, String>> {
    match object.remove("metadata") {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(values)) => Ok(values.into_iter().map(plain).collect()),
        Some(_) => Err("field metadata is no object".to_owned()),
    }
}

/// A value as a string: a string as it is, anything else as its JSON.
fn plain((name, value): (String, Value)) -> (String, String) {
    match value {
        Value::String(text) => (name, text),
        other => (name, other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_is_named_in_the_words_of_the_format() {
        for (line, reason) in [
            ("nonsense", "not a JSON object"),
            (r#"["a","b"]"#, "not a JSON object"),
            (r#"{"text":"a"} {"#, "not a JSON object"),
            (r#"{"id":"1"}"#, "field text is missing"),
            (r#"{"text":null}"#, "field text is missing"),
            (r#"{"text":5}"#, "field text is no text"),
            (r#"{"text":"a","id":[1]}"#, "field id is neither text nor a number"),
            (r#"{"text":"a","reply_to":true}"#, "field reply_to is neither text nor a number"),
            (r#"{"text":"a","conversation":" "}"#, "field conversation is empty"),
            (r#"{"text":"a","author":{}}"#, "field author is no text"),
            (r#"{"text":"a","metadata":[]}"#, "field metadata is no object"),
            (r#"{"text":"a","time":"soon"}"#, "field time is no RFC 3339 time with an offset: \"soon\""),
            (r#"{"text":"a","time":17}"#, "field time is no RFC 3339 time with an offset: 17"),
        ] {
            assert_eq!(message(line).unwrap_err(), reason, "{line}");
        }
        let reason = header(r#"{"strata_chat":1,"exported_at":"May"}"#).unwrap().unwrap_err();
        assert_eq!(reason, "field exported_at is no RFC 3339 time with an offset: \"May\"");
        assert!(header(r#"{"text":"a"}"#).is_none());
    }

    #[test]
    fn null_is_absent_and_an_empty_id_is_none() {
        let message = message(r#"{"text":"a","id":"","author":null,"conversation":7,"metadata":{"n":2}}"#).unwrap();
        assert_eq!((message.id, message.author, message.conversation.as_deref()), (None, None, Some("7")));
        assert_eq!(message.metadata["n"], "2");
    }
}
