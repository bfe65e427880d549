//! Reads JSON and JSONL by a mapping that says where everything stands (docs/mapping.md).
//!
//! Chosen only when a mapping is given: a file that it does not fit is told, with the key that finds
//! nothing. Conversations are pulled one by one; messages that stand alone are put together by the key
//! they name.

use std::collections::HashMap;

use chrono::{DateTime, Duration, NaiveDate, NaiveDateTime};
use model::Timestamp;

use super::records::{self, Stop, TakeRecord};
use super::said::{Conversation, Said, epoch, seconds, written};
use super::{Emit, Event, Head, Input, Reader, file_name};
use crate::decode::Trouble;
use crate::json::{Kind, Pull, Value, array, field, number, object, text, whole_number};
use crate::mapping::{Mapping, Path, Step, TimeForm};
use crate::seam::Result;

/// The reader of what a mapping describes.
pub(super) struct Mapped;

impl Reader for Mapped {
    fn name(&self) -> &'static str {
        "mapped"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, _head: &Head<'_>) -> u8 {
        0
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let Some(mapping) = input.mapping else {
            let reason = "no mapping is given";
            return emit(Event::Trouble(Trouble::new("", reason, "name one with --mapping FILE (docs/mapping.md)")));
        };
        let mut file = File { input, mapping, n_records: 0, n_said: 0, groups: HashMap::new(), order: Vec::new() };
        let read = records::pull(input).and_then(|mut pull| {
            let steps = mapping.conversations.as_deref();
            let mut take = |record: &Value<'_>, emit: &mut Emit<'_>| file.record(record, emit);
            match steps {
                Some(steps) => walk(&mut pull, steps, input, emit, &mut take),
                None => every(&mut pull, input, emit, &mut take),
            }
        });
        let File { n_records, n_said, mut groups, order, .. } = file;
        for key in order {
            if let Some(mut chat) = groups.remove(&key) {
                chat.is_cut |= read.is_err();
                emit(chat.finish(file_name(input.name), input.source_bytes_max))?;
            }
        }
        if read.is_ok() && n_said == 0 {
            emit(Event::Trouble(found_nothing(mapping, n_records)))?;
        }
        records::settle(read, emit)
    }
}

/// Which key of the mapping finds nothing in the file.
fn found_nothing(mapping: &Mapping, n_records: u64) -> Trouble {
    let (key, path) = match (n_records, &mapping.conversations, &mapping.messages) {
        (0, Some(path), _) => ("conversations", path),
        (0, None, _) => return super::empty(),
        (_, _, Some(path)) => ("messages", path),
        _ => ("message.text", &mapping.text),
    };
    let path: Vec<&str> = path.iter().map(|step| if let Step::Name(name) = step { name } else { "*" }).collect();
    let reason = format!("the mapping finds no message: `{key}` = \"{}\" leads nowhere here", path.join("."));
    Trouble::new("", reason, "compare the mapping with the file (docs/mapping.md)")
}

/// Takes each record of the file: the elements of an array, or the values one after the other.
fn every(
    pull: &mut Pull<'_>,
    input: &Input<'_>,
    emit: &mut Emit<'_>,
    take: &mut TakeRecord<'_>,
) -> std::result::Result<(), Stop> {
    if pull.kind()? == Some(Kind::Array) {
        return walk(pull, &[], input, emit, take);
    }
    while pull.kind()?.is_some() {
        records::record(&pull.value()?, input.source_bytes_max, emit, take)?;
    }
    Ok(())
}

/// Goes along `steps`; what stands there is a record, or a list of records.
fn walk(
    pull: &mut Pull<'_>,
    steps: &[Step],
    input: &Input<'_>,
    emit: &mut Emit<'_>,
    take: &mut TakeRecord<'_>,
) -> std::result::Result<(), Stop> {
    let kind = pull.kind()?;
    let Some((step, rest)) = steps.split_first() else {
        if kind == Some(Kind::Array) {
            pull.enter()?;
            while pull.next_element()? {
                records::record(&pull.value()?, input.source_bytes_max, emit, take)?;
            }
        } else if kind.is_some() {
            records::record(&pull.value()?, input.source_bytes_max, emit, take)?;
        }
        return Ok(());
    };
    match kind {
        Some(Kind::Object) => {
            pull.enter()?;
            while let Some(name) = pull.next_name()? {
                if *step == Step::Each || *step == Step::Name(name) {
                    walk(pull, rest, input, emit, take)?;
                } else {
                    pull.skip()?;
                }
            }
        }
        Some(Kind::Array) if *step == Step::Each => {
            pull.enter()?;
            while pull.next_element()? {
                walk(pull, rest, input, emit, take)?;
            }
        }
        Some(_) => pull.skip()?,
        None => {}
    }
    Ok(())
}

struct File<'a> {
    input: &'a Input<'a>,
    mapping: &'a Mapping,
    n_records: u64,
    n_said: u64,
    /// Conversations of messages that stand alone, by the key they name.
    groups: HashMap<Option<String>, Conversation>,
    order: Vec<Option<String>>,
}

impl File<'_> {
    fn record(&mut self, record: &Value<'_>, emit: &mut Emit<'_>) -> Result<()> {
        self.n_records += 1;
        let place = format!("record {}", self.n_records);
        let Some(messages) = &self.mapping.messages else {
            let key = first(record, self.mapping.conversation.as_ref()).and_then(id);
            if !self.groups.contains_key(&key) {
                self.order.push(key.clone());
            }
            let chat =
                self.groups.entry(key.clone()).or_insert_with(|| Conversation { key, ..Conversation::default() });
            return match say(record, self.mapping, chat) {
                Ok(()) => {
                    self.n_said += 1;
                    Ok(())
                }
                Err(reason) => {
                    chat.is_cut = true;
                    emit(Event::Trouble(Trouble::new(place, reason, "see `message.text` in the mapping")))
                }
            };
        };
        let key = first(record, self.mapping.key.as_ref()).and_then(id);
        let mut chat = Conversation {
            part: key.is_none().then(|| self.n_records.to_string()),
            key,
            title: first(record, self.mapping.title.as_ref()).and_then(text).map(str::to_owned),
            ..Conversation::default()
        };
        let found = all(record, messages);
        // A path leads to the list, or to each message.
        let found: Vec<&Value<'_>> = found
            .into_iter()
            .flat_map(|value| if let Value::Array(list) = value { list.iter().collect() } else { vec![value] })
            .collect();
        let n_bad = found.iter().filter(|message| say(message, self.mapping, &mut chat).is_err()).count();
        if n_bad > 0 {
            chat.is_cut = true;
            let reason = format!("{n_bad} messages without words");
            emit(Event::Trouble(Trouble::new(&place, reason, "see `message.text` in the mapping")))?;
        }
        self.n_said += chat.turns.len() as u64;
        emit(chat.finish(file_name(self.input.name), self.input.source_bytes_max))
    }
}

/// Says a message, or says why it is none.
fn say(message: &Value<'_>, mapping: &Mapping, chat: &mut Conversation) -> std::result::Result<(), &'static str> {
    let found = all(message, &mapping.text);
    if found.is_empty() {
        return Err("no message: it has no words");
    }
    let words: Vec<String> = found.into_iter().filter_map(id).collect();
    let role = first(message, mapping.role.as_ref()).and_then(id).unwrap_or_default();
    let at = first(message, mapping.time.as_ref()).and_then(|value| moment(value, mapping));
    chat.say(Said {
        id: first(message, mapping.id.as_ref()).and_then(id).as_deref(),
        author: &first(message, mapping.author.as_ref()).and_then(id).unwrap_or_default(),
        role: Some(mapping.role_of(&role)),
        at: at.map(|(at, _)| at),
        is_inferred: at.is_some_and(|(_, is_inferred)| is_inferred),
        reply_to: first(message, mapping.reply_to.as_ref()).and_then(id),
        text: &words.join("\n"),
        ..Said::default()
    });
    Ok(())
}

/// What stands at the end of `path`, in order; null is nothing.
fn all<'v>(value: &'v Value<'v>, path: &Path) -> Vec<&'v Value<'v>> {
    let mut found = vec![value];
    for step in path {
        found = found
            .into_iter()
            .flat_map(|value| -> Vec<&'v Value<'v>> {
                match (step, value) {
                    (Step::Each, Value::Array(list)) => list.iter().collect(),
                    (Step::Each, _) => object(value).map(|(_, value)| value).collect(),
                    (Step::Name(name), Value::Array(_)) => {
                        name.parse::<usize>().ok().and_then(|n| array(value).get(n)).into_iter().collect()
                    }
                    (Step::Name(name), _) => vec![field(value, name)],
                }
            })
            .filter(|value| **value != Value::Null)
            .collect();
    }
    found
}

fn first<'v>(value: &'v Value<'v>, path: Option<&Path>) -> Option<&'v Value<'v>> {
    path.and_then(|path| all(value, path).into_iter().next())
}

/// A text, or a number as one.
fn id(value: &Value<'_>) -> Option<String> {
    text(value)
        .map(str::to_owned)
        .or_else(|| whole_number(value).map(|number| number.to_string()))
        .or_else(|| number(value).map(|number| number.to_string()))
}

/// A moment, and whether its zone had to be assumed.
fn moment(value: &Value<'_>, mapping: &Mapping) -> Option<(Timestamp, bool)> {
    let (at, has_zone) = match &mapping.time_form {
        TimeForm::Unit(unit) => (seconds(number(value)? * unit)?, true),
        TimeForm::Usual => match text(value).and_then(written) {
            Some((at, is_inferred)) => (at, !is_inferred),
            None => (number(value).and_then(epoch)?, true),
        },
        TimeForm::Format(format) => {
            let given = id(value)?;
            if let Ok(at) = DateTime::parse_from_str(&given, format) {
                (Timestamp::from(at.to_utc()), true)
            } else {
                let at = NaiveDateTime::parse_from_str(&given, format)
                    .ok()
                    .or_else(|| NaiveDate::parse_from_str(&given, format).ok()?.and_hms_opt(0, 0, 0))?;
                (Timestamp::from(at.and_utc()), false)
            }
        }
    };
    match (has_zone, mapping.offset_minutes) {
        (true, _) => Some((at, false)),
        (false, None) => Some((at, true)),
        (false, Some(minutes)) => {
            let moved = at.as_micros().checked_sub(Duration::minutes(i64::from(minutes)).num_microseconds()?)?;
            Some((Timestamp::from_micros(moved), false))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Part;
    use crate::formats::DraftBody;

    /// What a file reads to by a mapping: a line a turn, a conversation or a trouble.
    fn read(mapping: &str, json: &str) -> Vec<String> {
        let mapping = Mapping::parse(mapping).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, json).unwrap();
        let parts = [Part::file("a.json".to_owned(), &path, json.len() as u64)];
        let input = Input { mapping: Some(&mapping), ..Input::new(&parts, "a.json", 1 << 20) };
        let mut out = Vec::new();
        let read = Mapped.read(&input, &mut |event| {
            match event {
                Event::Aside => out.push("aside".to_owned()),
                Event::Trouble(trouble) => out.push(format!("{}: {}", trouble.place, trouble.reason)),
                Event::Draft(draft) => {
                    out.push(format!("{:?} {}", draft.key, draft.title));
                    let DraftBody::Turns(turns) = draft.body else { panic!("a conversation") };
                    out.extend(turns.iter().map(|turn| {
                        let at = turn.said_at.map_or("-".to_owned(), |at| at.to_string());
                        format!(
                            "{} {} {} {at} {} {:?}",
                            turn.author,
                            turn.role.as_str(),
                            turn.text,
                            turn.origin.as_str(),
                            turn.reply_to
                        )
                    }));
                }
            }
            Ok(())
        });
        assert_eq!(read, Ok(()));
        out
    }

    const DESK: &str = include_str!("../../tests/data/mapping/desk.toml");

    #[test]
    fn conversations_deep_in_a_file_are_found() {
        let json = include_str!("../../tests/data/mapping/desk.json");
        assert_eq!(
            read(DESK, json),
            [
                "Some(\"77\") Broken lamp",
                "Ana user It does not light.\nSee the picture. 2024-05-01T06:00:00Z given None",
                "Help assistant Try another bulb. 2024-05-01T06:05:00Z given Some(\"1\")",
                "Some(\"78\") Ana, again",
                "Ana user Thank you! - unknown None",
            ]
        );
    }

    #[test]
    fn messages_that_stand_alone_are_put_together() {
        let mapping = "[message]\ntext = \"w\"\nauthor = \"who\"\nconversation = \"room\"\ntime = \"t\"\n\
                       [time]\nunit = \"milliseconds\"";
        let json = "{\"room\":1,\"who\":\"A\",\"w\":\"one\",\"t\":1714546800000}\n{\"room\":2,\"w\":\"two\"}\n\
                    {\"x\":1}\n{\"room\":1,\"w\":\"three\",\"t\":\"soon\"}";
        assert_eq!(
            read(mapping, json),
            [
                "record 3: no message: it has no words",
                "Some(\"1\") one",
                "A unknown one 2024-05-01T07:00:00Z given None",
                " unknown three - unknown None",
                "Some(\"2\") two",
                " unknown two - unknown None",
                "aside",
            ]
        );
    }

    #[test]
    fn a_key_that_leads_nowhere_is_named() {
        let said = read("conversations = \"data.rooms\"\n[message]\ntext = \"w\"", "{\"data\":{\"room\":[]}}");
        assert_eq!(said, [": the mapping finds no message: `conversations` = \"data.rooms\" leads nowhere here"]);
        let said = read(DESK, "{\"export\":{\"tickets\":[{\"nr\":1}]}}");
        assert_eq!(said, ["aside", ": the mapping finds no message: `messages` = \"log\" leads nowhere here"]);
    }
}
