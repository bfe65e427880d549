//! Puts a conversation together, message by message, for the readers of chats.
//!
//! Keeps what they share in one place: ids for messages without one, NUL replaced and counted, the bound
//! on a source, a title where the archive has none. Turns keep the order in which they are said here.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDateTime};
use model::{IdHasher, Role, SourceKind, TimeOrigin, Timestamp};

use super::records::Stop;
use super::{DerivedIds, Draft, DraftBody, DraftTurn, Emit, Event, too_large};
use crate::decode::Trouble;
use crate::json::{Pull, Value, clean, parse};

/// A title is at most so many characters of the first message.
const TITLE_CHARS_MAX: usize = 80;
/// What a turn takes beside its text, roughly: it counts against the bound on a source.
const TURN_BYTES: u64 = 64;

/// One message.
#[derive(Debug, Default)]
pub(super) struct Said<'a> {
    /// The archive's id of it.
    pub id: Option<&'a str>,
    /// Who says it, as the archive names them.
    pub author: &'a str,
    /// Their part.
    pub role: Option<Role>,
    /// When.
    pub at: Option<Timestamp>,
    /// Whether that time was concluded and not given, as where the archive names no time zone.
    pub is_inferred: bool,
    /// The id it answers.
    pub reply_to: Option<String>,
    /// What.
    pub text: &'a str,
    /// What else there is to say of it.
    pub metadata: BTreeMap<String, String>,
}

/// A conversation that is being put together.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// The archive's id of it.
    pub key: Option<String>,
    /// Where it lies in a claimed folder.
    pub part: Option<String>,
    /// Its title, where the archive has one.
    pub title: Option<String>,
    /// When it was exported, or last changed.
    pub exported_at: Option<Timestamp>,
    /// What else there is to say of it.
    pub metadata: BTreeMap<String, String>,
    /// Characters replaced.
    pub n_replaced: u64,
    /// What was assumed or guessed of it.
    pub remarks: Vec<String>,
    /// Something of it could not be read.
    pub is_cut: bool,
    /// Messages without an id are told apart by author, moment and order alone, so that one whose words
    /// were edited or taken back is still the same.
    pub is_told_by_moment: bool,
    /// What was said, in order.
    pub turns: Vec<DraftTurn>,
    /// Ids for messages without one.
    pub ids: DerivedIds,
    /// Its bytes so far, as they count against the bound on a source.
    pub n_bytes: u64,
    /// Beyond so many bytes no more is kept: it is over the bound on a source, and only counted.
    pub bytes_max: Option<u64>,
}

impl Conversation {
    /// Adds a message; returns its id.
    pub fn say(&mut self, said: Said<'_>) -> String {
        let Said { id, author, role, at, is_inferred, reply_to, text, metadata } = said;
        let role = role.unwrap_or(Role::Unknown);
        let text = clean(text, &mut self.n_replaced).into_owned();
        let author = clean(author, &mut self.n_replaced).into_owned();
        let known_by = if self.is_told_by_moment && at.is_some() { "" } else { text.as_str() };
        let id = id.map_or_else(|| self.ids.next(&author, role, at, known_by), str::to_owned);
        self.n_bytes += text.len() as u64 + TURN_BYTES;
        if self.bytes_max.is_some_and(|bytes_max| self.n_bytes > bytes_max) {
            self.turns = Vec::new();
            self.ids = DerivedIds::default();
            return id;
        }
        let origin = match at {
            None => TimeOrigin::Unknown,
            Some(_) if is_inferred => TimeOrigin::Inferred,
            Some(_) => TimeOrigin::Given,
        };
        self.turns.push(DraftTurn {
            id: id.clone(),
            author,
            role,
            said_at: at,
            origin,
            reply_to,
            session: None,
            text,
            metadata,
        });
        id
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.n_bytes == 0
    }

    /// Puts the turns in the order of their times; those at one time, or without one, keep theirs.
    pub fn sort_by_time(&mut self) {
        let mut last = None;
        let mut keyed: Vec<(Option<Timestamp>, DraftTurn)> = std::mem::take(&mut self.turns)
            .into_iter()
            .map(|turn| {
                // A message without a time stays behind the one before it.
                last = turn.said_at.or(last);
                (last, turn)
            })
            .collect();
        keyed.sort_by_key(|(at, _)| *at);
        self.turns = keyed.into_iter().map(|(_, turn)| turn).collect();
    }

    /// Reverses the order of the turns, for archives that begin with the newest.
    pub fn reverse(&mut self) {
        self.turns.reverse();
    }

    /// Takes an array of messages; one that cannot be read is told, and those beside it go in.
    pub fn messages(
        &mut self,
        pull: &mut Pull<'_>,
        emit: &mut Emit<'_>,
        mut say: impl FnMut(&Value<'_>, &mut Self),
    ) -> Result<(), Stop> {
        self.bytes_max = Some(pull.bytes_max());
        pull.enter()?;
        while pull.next_element()? {
            let record = pull.value()?;
            let place = record.place();
            let mut n_replaced = 0;
            let read = match record.bytes {
                Some(bytes) => parse(bytes, &mut n_replaced, |message| say(message, self)),
                None => Err(format!("{} bytes in one message", record.n_bytes)),
            };
            self.n_replaced += n_replaced;
            if let Err(reason) = read {
                self.is_cut = true;
                emit(Event::Trouble(Trouble::new(place, reason, "the messages beside it went in")))?;
            }
        }
        Ok(())
    }

    /// The conversation as an event; `name` is its place and its title where nothing better is known. One
    /// in which nothing was said is no source.
    pub fn finish(mut self, name: &str, bytes_max: u64) -> Event {
        if self.is_empty() {
            return Event::Aside;
        }
        if self.n_bytes > bytes_max {
            let place = self.title.clone().or_else(|| self.key.clone()).unwrap_or_else(|| name.to_owned());
            return Event::Trouble(too_large(&format!("conversation {place}"), self.n_bytes, bytes_max));
        }
        let title = self.title.map(|title| clean(&title, &mut self.n_replaced).into_owned());
        let title = title.unwrap_or_else(|| first_line(&self.turns).unwrap_or_else(|| name.to_owned()));
        Event::Draft(Draft {
            key: self.key,
            exported_at: self.exported_at,
            metadata: self.metadata,
            n_replaced: self.n_replaced,
            remarks: self.remarks,
            is_complete: !self.is_cut,
            part: self.part,
            ..Draft::new(title, SourceKind::Conversation, DraftBody::Turns(self.turns))
        })
    }
}

/// The first line that someone says, cut to a title's length.
fn first_line(turns: &[DraftTurn]) -> Option<String> {
    let line = turns.iter().find_map(|turn| turn.text.lines().map(str::trim).find(|line| !line.is_empty()))?;
    Some(match line.char_indices().nth(TITLE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line.to_owned(),
    })
}

/// A key for a source whose archive gives it none: digest of what tells it from others.
pub(super) fn derived_key(fields: &[&str]) -> String {
    let hasher = fields.iter().fold(IdHasher::new("strata key v1"), |hasher, field| hasher.field(field.as_bytes()));
    hasher.finish().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A moment given in seconds since 1970; `None` where it is no moment people chat in.
pub(super) fn seconds(given: f64) -> Option<Timestamp> {
    let micros = (given * 1e6).round();
    // Years 1 to 9999: beyond them it is another unit or no time at all.
    (-6.2e16..2.6e17).contains(&micros).then_some(Timestamp::from_micros(micros as i64))
}

/// A moment given in seconds or in milliseconds since 1970, told apart by its size.
pub(super) fn epoch(given: f64) -> Option<Timestamp> {
    // 10¹¹ seconds are the year 5138, 10¹¹ milliseconds 1973.
    if given.abs() >= 1e11 { seconds(given / 1e3) } else { seconds(given) }
}

/// A moment written with its offset from UTC, or without one; whether it had none.
pub(super) fn written(text: &str) -> Option<(Timestamp, bool)> {
    let text = text.trim();
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Some((Timestamp::from(at.to_utc()), false));
    }
    let plain = text.strip_suffix(" UTC").unwrap_or(text);
    let formats = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];
    let at = formats.iter().find_map(|format| NaiveDateTime::parse_from_str(plain, format).ok())?;
    Some((Timestamp::from(at.and_utc()), plain.len() == text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_archives_write_them() {
        assert_eq!(seconds(1_736_478_630.905_399).unwrap().to_string(), "2025-01-10T03:10:30.905399Z");
        assert_eq!(epoch(1_600_000_000_000.0), seconds(1.6e9));
        assert_eq!(seconds(f64::NAN), None);
        assert_eq!(seconds(1e300), None);
        let at = |text| written(text).map(|(at, is_inferred)| (at.to_string(), is_inferred));
        assert_eq!(at("2024-03-01T12:00:00+02:00"), Some(("2024-03-01T10:00:00Z".to_owned(), false)));
        assert_eq!(at("2024-03-01T12:00:00"), Some(("2024-03-01T12:00:00Z".to_owned(), true)));
        assert_eq!(at("2024-03-01 12:00:00 UTC"), Some(("2024-03-01T12:00:00Z".to_owned(), false)));
        assert_eq!(at("soon"), None);
    }

    #[test]
    fn a_title_has_no_nul() {
        let mut chat = Conversation { title: Some("a\0b".to_owned()), ..Conversation::default() };
        chat.say(Said { text: "a", ..Said::default() });
        let Event::Draft(draft) = chat.finish("x", 100) else { panic!() };
        assert_eq!(draft.title, "a\u{fffd}b");
    }

    #[test]
    fn a_conversation_over_the_bound_is_counted_and_not_kept() {
        let mut chat = Conversation { bytes_max: Some(200), ..Conversation::default() };
        (0..10).for_each(|_| drop(chat.say(Said { text: "hello", ..Said::default() })));
        assert!(chat.turns.is_empty() && !chat.is_empty());
        let Event::Trouble(trouble) = chat.finish("x", 200) else { panic!() };
        assert_eq!(trouble.reason, "690 bytes, a source holds at most 200");
        let mut chat = Conversation { bytes_max: Some(200), ..Conversation::default() };
        chat.say(Said { text: "hello", ..Said::default() });
        assert_eq!(chat.turns.len(), 1);
    }

    #[test]
    fn a_message_without_a_time_stays_behind_the_one_before_it() {
        let mut chat = Conversation::default();
        for (text, at) in [("c", Some(3.0)), ("d", None), ("a", Some(1.0)), ("b", Some(1.0))] {
            chat.say(Said { text, at: at.and_then(seconds), ..Said::default() });
        }
        chat.sort_by_time();
        let texts: Vec<&str> = chat.turns.iter().map(|turn| turn.text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "c", "d"]);
    }
}
