//! A mapping: where in someone's JSON the conversations, messages and fields stand. It is read from TOML.
//!
//! Knows no file and no reader. What its keys mean stands in docs/mapping.md.

use model::Role;

use crate::decode::Trouble;
use crate::formats::role_named;

/// A path is at most so many steps long.
const STEPS_MAX: usize = 16;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The field of this name; of a list, the element of this number.
    Name(String),
    /// Every element of a list, every value of an object.
    Each,
}

/// Where something stands: `author.name`, `parts.*.text`.
pub(crate) type Path = Vec<Step>;

/// What a number or a text in the place of a time means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TimeForm {
    /// RFC 3339 and its relatives, or seconds or milliseconds since 1970, told apart by their size.
    Usual,
    /// A number; multiplied by this it is seconds since 1970.
    Unit(f64),
    /// A text of this form, as chrono writes it.
    Format(String),
}

/// Where the fields of someone's JSON stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    pub(crate) conversations: Option<Path>,
    pub(crate) messages: Option<Path>,
    pub(crate) key: Option<Path>,
    pub(crate) title: Option<Path>,
    pub(crate) id: Option<Path>,
    pub(crate) author: Option<Path>,
    pub(crate) role: Option<Path>,
    pub(crate) time: Option<Path>,
    pub(crate) text: Path,
    pub(crate) reply_to: Option<Path>,
    pub(crate) conversation: Option<Path>,
    pub(crate) time_form: TimeForm,
    /// Minutes by which times without an offset are before UTC; `None` where it is not known.
    pub(crate) offset_minutes: Option<i32>,
    pub(crate) roles: Vec<(String, Role)>,
}

/// The keys of a mapping, table by table.
const KEYS: &[(&str, &[&str])] = &[
    ("", &["conversations", "messages", "conversation", "message", "time", "roles"]),
    ("conversation", &["key", "title"]),
    ("message", &["id", "author", "role", "time", "text", "reply_to", "conversation"]),
    ("time", &["unit", "format", "offset"]),
];

impl Mapping {
    /// Reads a mapping from TOML.
    ///
    /// # Errors
    /// The line or key at which it is wrong, why, and the way out; who calls adds the file's name.
    pub fn parse(text: &str) -> Result<Self, Trouble> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
            wrong(format!("line {line}"), format!("not TOML: {}", error.message()), "docs/mapping.md has an example")
        })?;
        check_keys(&table)?;
        let inner = |name: &str| table.get(name).and_then(toml::Value::as_table);
        let (conversation, message) = (inner("conversation"), inner("message"));
        let at = |table: Option<&toml::Table>, table_name: &str, name: &str| {
            table.and_then(|table| table.get(name)).map(|value| path(value, &dotted(table_name, name))).transpose()
        };
        let Some(text) = at(message, "message", "text")? else {
            let reason = "it is missing: a message without words is none";
            return Err(wrong("key `message.text`", reason, "say where the words stand, such as text = \"body\""));
        };
        let (time_form, offset_minutes) = time(inner("time"))?;
        Ok(Self {
            conversations: at(Some(&table), "", "conversations")?,
            messages: at(Some(&table), "", "messages")?,
            key: at(conversation, "conversation", "key")?,
            title: at(conversation, "conversation", "title")?,
            id: at(message, "message", "id")?,
            author: at(message, "message", "author")?,
            role: at(message, "message", "role")?,
            time: at(message, "message", "time")?,
            text,
            reply_to: at(message, "message", "reply_to")?,
            conversation: at(message, "message", "conversation")?,
            time_form,
            offset_minutes,
            roles: roles(inner("roles"))?,
        })
    }

    /// The role that the archive calls `name`.
    pub(crate) fn role_of(&self, name: &str) -> Role {
        self.roles.iter().find(|(given, _)| given == name).map_or_else(|| role_named(name), |(_, role)| *role)
    }
}

fn wrong(place: impl Into<String>, reason: impl Into<String>, hint: impl Into<String>) -> Trouble {
    Trouble::new(place, reason, hint)
}

fn dotted(table: &str, name: &str) -> String {
    if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") }
}

/// Refuses keys that no mapping has: a slip in one would else be an empty field a thousand times.
fn check_keys(table: &toml::Table) -> Result<(), Trouble> {
    for (table_name, known) in KEYS {
        let inner = match *table_name {
            "" => table,
            name => match table.get(name) {
                None => continue,
                Some(value) => value.as_table().ok_or_else(|| {
                    wrong(
                        format!("key `{name}`"),
                        "it is a table of its own",
                        format!("write [{name}] and its keys below"),
                    )
                })?,
            },
        };
        if let Some(name) = inner.keys().find(|name| !known.contains(&name.as_str())) {
            let place = format!("key `{}`", dotted(table_name, name));
            return Err(wrong(place, "a mapping has no such key", format!("one of {}", known.join(", "))));
        }
    }
    match table.get("roles") {
        Some(value) if !value.is_table() => {
            Err(wrong("key `roles`", "it is a table of its own", "write [roles] and its keys below"))
        }
        _ => Ok(()),
    }
}

fn path(value: &toml::Value, key: &str) -> Result<Path, Trouble> {
    let hint = "names with dots between them, such as \"author.name\" or \"parts.*.text\"";
    let given = value.as_str().ok_or_else(|| wrong(format!("key `{key}`"), "a path is a text", hint))?;
    let steps: Path =
        given.split('.').map(|step| if step == "*" { Step::Each } else { Step::Name(step.to_owned()) }).collect();
    let is_odd = steps.iter().any(|step| *step == Step::Name(String::new()));
    if is_odd || steps.len() > STEPS_MAX {
        return Err(wrong(format!("key `{key}`"), format!("`{given}` is no path"), hint));
    }
    Ok(steps)
}

fn time(table: Option<&toml::Table>) -> Result<(TimeForm, Option<i32>), Trouble> {
    let given = |name: &str| {
        let value = table.and_then(|table| table.get(name));
        value.map(|value| value.as_str().ok_or_else(|| wrong(format!("key `time.{name}`"), "a text", "quote it")))
    };
    let form = match (given("unit").transpose()?, given("format").transpose()?) {
        (None, None) => TimeForm::Usual,
        (Some("seconds"), None) => TimeForm::Unit(1.0),
        (Some("milliseconds"), None) => TimeForm::Unit(1e-3),
        (Some("microseconds"), None) => TimeForm::Unit(1e-6),
        (Some("nanoseconds"), None) => TimeForm::Unit(1e-9),
        (Some(unit), None) => {
            let hint = "one of seconds, milliseconds, microseconds, nanoseconds (all since 1970)";
            return Err(wrong("key `time.unit`", format!("`{unit}` is no unit"), hint));
        }
        (None, Some(format)) => {
            let is_known =
                chrono::format::StrftimeItems::new(format).all(|item| !matches!(item, chrono::format::Item::Error));
            if !is_known {
                let reason = format!("`{format}` is no form of a time");
                return Err(wrong("key `time.format`", reason, "such as %d.%m.%Y %H:%M:%S"));
            }
            TimeForm::Format(format.to_owned())
        }
        (Some(_), Some(_)) => {
            let reason = "a time has a unit or a format, not both";
            return Err(wrong("key `time.unit`", reason, "leave out one of time.unit and time.format"));
        }
    };
    let offset = given("offset").transpose()?.map(|offset| {
        minutes(offset).ok_or_else(|| {
            wrong("key `time.offset`", format!("`{offset}` is no offset"), "such as +02:00, -05:30 or +00:00")
        })
    });
    Ok((form, offset.transpose()?))
}

/// The minutes of `+02:00`.
fn minutes(offset: &str) -> Option<i32> {
    let (sign, rest) = match offset.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let is_number = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let (hours, minutes) = if is_number(hours) && is_number(minutes) {
        (hours.parse::<i32>().ok()?, minutes.parse::<i32>().ok()?)
    } else {
        return None;
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

fn roles(table: Option<&toml::Table>) -> Result<Vec<(String, Role)>, Trouble> {
    let mut roles = Vec::new();
    for (name, value) in table.into_iter().flatten() {
        let role = match value.as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some("tool") => Role::Tool,
            Some("unknown") => Role::Unknown,
            _ => {
                let hint = "one of \"user\", \"assistant\", \"system\", \"tool\", \"unknown\"";
                return Err(wrong(format!("key `roles.{name}`"), format!("`{value}` is no role"), hint));
            }
        };
        roles.push((name.clone(), role));
    }
    Ok(roles)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(text: &str) -> String {
        let Trouble { place, reason, hint } = Mapping::parse(text).unwrap_err();
        format!("{place}: {reason} ({hint})")
    }

    #[test]
    fn the_smallest_mapping_says_where_the_words_are() {
        let mapping = Mapping::parse("[message]\ntext = \"body.parts.*\"").unwrap();
        let name = |name: &str| Step::Name(name.to_owned());
        assert_eq!(mapping.text, [name("body"), name("parts"), Step::Each]);
        assert_eq!((mapping.conversations, mapping.time_form), (None, TimeForm::Usual));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_key_and_way_out() {
        let text = "[message]\ntext = \"b\"\n";
        for (mapping, expected) in [
            ("[message", "line 1: not TOML"),
            ("", "key `message.text`: it is missing"),
            (
                "[message]\ntext = \"b\"\ntme = \"t\"",
                "key `message.tme`: a mapping has no such key (one of id, author,",
            ),
            ("title = \"x\"\n[message]\ntext = \"b\"", "key `title`: a mapping has no such key (one of conversations"),
            ("[message]\ntext = 3", "key `message.text`: a path is a text"),
            ("[message]\ntext = \"a..b\"", "key `message.text`: `a..b` is no path"),
            ("message = 3", "key `message`: it is a table of its own"),
            ("roles = 3\n[message]\ntext = \"b\"", "key `roles`: it is a table of its own"),
            (&format!("{text}[time]\nunit = \"days\""), "key `time.unit`: `days` is no unit"),
            (&format!("{text}[time]\nformat = \"%Q\""), "key `time.format`: `%Q` is no form of a time"),
            (&format!("{text}[time]\nunit = \"seconds\"\nformat = \"%Y\""), "key `time.unit`: a time has a unit or"),
            (&format!("{text}[time]\noffset = \"CET\""), "key `time.offset`: `CET` is no offset"),
            (&format!("{text}[roles]\nbob = \"boss\""), "key `roles.bob`: `\"boss\"` is no role"),
        ] {
            let said = refused(mapping);
            assert!(said.starts_with(expected), "{said}");
            assert!(!said.ends_with("()"), "{said}");
        }
    }

    #[test]
    fn offsets_are_minutes() {
        assert_eq!((minutes("+02:00"), minutes("-05:30")), (Some(120), Some(-330)));
        assert_eq!((minutes("02:00"), minutes("+2"), minutes("+99:00"), minutes("é")), (None, None, None, None));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z\\[\\]=\"\n.*%é#0-9]{0,80}") {
            let _ = Mapping::parse(&text);
        }
    }
}
