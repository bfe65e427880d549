//! Reads LoCoMo: a JSON array of samples, each a long conversation in dated sessions.
//!
//! The array is streamed, one sample in memory at a time. Questions, summaries and observations are
//! answers of the benchmark, not memories: they are left out.
//!
//! Format: Maharana et al., arXiv:2402.17753, `locomo10.json`.

use std::collections::BTreeMap;

use chrono::NaiveDateTime;
use model::{Role, SourceKind, TimeOrigin, Timestamp};
use serde_json::{Map, Value};

use super::{DerivedIds, Draft, DraftBody, DraftTurn, Emit, Event, Head, Input, Reader};
use super::{extension, too_large};
use crate::decode::Trouble;
use crate::files::unreadable;
use crate::json::{Pull, Record, clean, parse};
use crate::seam::Result;

/// The reader of LoCoMo.
pub(super) struct Locomo;

impl Reader for Locomo {
    fn name(&self) -> &'static str {
        "locomo"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let (head, name) = (String::from_utf8_lossy(head.bytes), head.name);
        let is_array = head.trim_start_matches('\u{feff}').trim_start().starts_with('[');
        let is_json = extension(name) == "json";
        // The questions may come first and fill the head; `sample_id` may come last.
        let known = ["\"dia_id\"", "\"session_1\"", "\"speaker_a\"", "\"sample_id\""];
        let shows = known.iter().any(|name| head.contains(name));
        let asks = head.contains("\"qa\"") && head.contains("\"evidence\"");
        if is_array && is_json && (shows || asks) { 95 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let file = match input.open() {
            Ok(file) => file,
            Err(error) => return emit(Event::Trouble(unreadable(&error))),
        };
        let mut samples = Pull::new(file, input.source_bytes_max);
        let mut n_samples = 0;
        let mut ended = samples.enter();
        while ended.is_ok() {
            let sample = match samples.next_element() {
                Ok(true) => samples.value(),
                Ok(false) if n_samples == 0 => return emit(Event::Trouble(super::empty())),
                Ok(false) => return samples.ended().or_else(|bad| emit(Event::Trouble(bad.trouble()))),
                Err(bad) => Err(bad),
            };
            ended = match sample {
                Ok(sample) => {
                    n_samples += 1;
                    emit(event(&sample, n_samples, input.source_bytes_max))?;
                    Ok(())
                }
                Err(bad) => Err(bad),
            };
        }
        ended.or_else(|bad| emit(Event::Trouble(bad.trouble())))
    }
}

fn event(sample: &Record<'_>, n: u64, bytes_max: u64) -> Event {
    let Some(bytes) = sample.bytes else {
        return Event::Trouble(too_large(&sample.place(), sample.n_bytes, bytes_max));
    };
    let mut n_replaced = 0;
    let read = parse(bytes, &mut n_replaced, |value| Value::from(value))
        .map_err(|reason| (Some(sample.place()), reason))
        .and_then(|value| draft(value, bytes_max, &mut n_replaced));
    match read {
        Ok(draft) => Event::Draft(Draft { n_replaced, ..draft }),
        Err((place, reason)) => Event::Trouble(Trouble {
            place: place.unwrap_or_else(|| format!("sample {n}")),
            reason,
            hint: "a sample is {sample_id, conversation: {session_1, session_1_date_time, …}}".to_owned(),
        }),
    }
}

type Bad = (Option<String>, String);

fn draft(mut sample: Value, bytes_max: u64, n_replaced: &mut u64) -> std::result::Result<Draft, Bad> {
    let key = sample.get("sample_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    if key.trim().is_empty() {
        return Err((None, "no sample_id".to_owned()));
    }
    let place = format!("sample {key}");
    let Some(Value::Object(conversation)) = sample.get_mut("conversation").map(Value::take) else {
        return Err((Some(place), "no conversation".to_owned()));
    };
    let turns = turns(&key, &conversation, n_replaced).map_err(|reason| (Some(place.clone()), reason))?;
    if turns.is_empty() {
        return Err((Some(place), "no message in it".to_owned()));
    }
    let n_bytes = turns.iter().map(|turn| turn.text.len() as u64 + 1).sum::<u64>();
    if n_bytes > bytes_max {
        return Err((Some(place), too_large("", n_bytes, bytes_max).reason));
    }
    let speakers: Vec<&str> =
        ["speaker_a", "speaker_b"].iter().filter_map(|name| conversation.get(*name).and_then(Value::as_str)).collect();
    let title = if speakers.is_empty() { key.clone() } else { speakers.join(" and ") };
    Ok(Draft { key: Some(key), ..Draft::new(title, SourceKind::Conversation, DraftBody::Turns(turns)) })
}

fn turns(
    sample: &str,
    conversation: &Map<String, Value>,
    n_replaced: &mut u64,
) -> std::result::Result<Vec<DraftTurn>, String> {
    let mut sessions: Vec<(u32, &Value)> = conversation
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix("session_")?.parse().ok()?, value)))
        .collect();
    sessions.sort_by_key(|(number, _)| *number);
    let mut out = Vec::new();
    let mut ids = DerivedIds::default();
    for (number, session) in sessions {
        let time = conversation.get(&format!("session_{number}_date_time")).and_then(Value::as_str);
        let said_at = time.and_then(session_time);
        let list = session.as_array().ok_or_else(|| format!("session_{number} is not an array"))?;
        for (idx, message) in list.iter().enumerate() {
            let text = body(message).ok_or_else(|| format!("session_{number}, turn {}: no text", idx + 1))?;
            let text = clean(&text, n_replaced).into_owned();
            let author = clean(field(message, "speaker").unwrap_or_default(), n_replaced).into_owned();
            let id = match field(message, "dia_id") {
                Some(id) => format!("{sample}/{id}"),
                None => format!("{sample}/{}", ids.next(&author, Role::Unknown, said_at, &text)),
            };
            out.push(DraftTurn {
                id,
                author,
                role: Role::Unknown,
                said_at,
                origin: if said_at.is_some() { TimeOrigin::Inferred } else { TimeOrigin::Unknown },
                reply_to: None,
                session: Some(number.saturating_sub(1)),
                text,
                metadata: metadata(message),
            });
        }
    }
    Ok(out)
}

fn field<'a>(message: &'a Value, name: &str) -> Option<&'a str> {
    message.get(name).and_then(Value::as_str)
}

fn body(message: &Value) -> Option<String> {
    let text = field(message, "text")?;
    Some(match field(message, "blip_caption") {
        Some(caption) => format!("{text}\n[image: {caption}]"),
        None => text.to_owned(),
    })
}

fn metadata(message: &Value) -> BTreeMap<String, String> {
    let mut metadata = BTreeMap::new();
    for name in ["blip_caption", "query"] {
        if let Some(value) = field(message, name) {
            metadata.insert(name.to_owned(), value.to_owned());
        }
    }
    match message.get("img_url") {
        Some(Value::String(url)) => {
            metadata.insert("img_url".to_owned(), url.clone());
        }
        Some(Value::Array(urls)) => {
            let urls: Vec<&str> = urls.iter().filter_map(Value::as_str).collect();
            metadata.insert("img_url".to_owned(), urls.join(" "));
        }
        _ => {}
    }
    metadata
}

/// Reads `4:04 pm on 20 January, 2023`; the archive names no zone, UTC is taken.
fn session_time(text: &str) -> Option<Timestamp> {
    NaiveDateTime::parse_from_str(text.trim(), "%I:%M %p on %d %B, %Y").ok().map(|at| Timestamp::from(at.and_utc()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Part;

    #[test]
    fn session_times_are_read() {
        assert_eq!(session_time("4:04 pm on 20 January, 2023").unwrap().to_string(), "2023-01-20T16:04:00Z");
        assert_eq!(session_time("12:48 am on 1 February, 2023").unwrap().to_string(), "2023-02-01T00:48:00Z");
        assert_eq!(session_time("soon"), None);
    }

    /// Skipped where the data is not there.
    #[test]
    fn the_real_file_has_seven_conversations() {
        let folder = std::env::var("STRATA_DATA").unwrap_or_else(|_| "../../../shared/data".to_owned());
        let path = std::path::Path::new(&folder).join("locomo/locomo.dev.json");
        if !path.is_file() {
            eprintln!("skipped: no data at {}", path.display());
            return;
        }
        let mut counts = Vec::new();
        let parts = [Part::file("locomo.dev.json", &path, path.metadata().unwrap().len())];
        let input = Input::new(&parts, "locomo.dev.json", 1 << 26);
        let head = parts[0].head(1 << 16).unwrap();
        assert_eq!(super::super::choose(&Head::new(&head, "locomo.dev.json")).unwrap().name(), "locomo");
        Locomo
            .read(&input, &mut |event| {
                let Event::Draft(Draft { body: DraftBody::Turns(turns), .. }) = event else { panic!() };
                assert!(turns.iter().all(|turn| turn.said_at.is_some()));
                counts.push(turns.len());
                Ok(())
            })
            .unwrap();
        assert_eq!((counts.len(), counts.iter().sum::<usize>()), (7, 4279));
    }
}
