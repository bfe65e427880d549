//! Reads what a Google account did, out of Takeout: My Activity, the histories of YouTube, Chrome and places.
//!
//! An activity is an event: `Searched for …`, `Watched …`, a page that was visited. A source is a month of
//! one file, so that a timeline of years is neither one source nor ten thousand. JSON and HTML are read;
//! both begin with the newest, and a month goes on as soon as another begins.
//!
//! Format: Takeout, `MyActivity.json` and `.html`, `watch-history.json`, `BrowserHistory.json`.

use std::collections::BTreeMap;

use model::{Role, Timestamp};

use super::activity_page::cells;
use super::records::{self, Stop};
use super::said::{Conversation, Said, seconds, written};
use super::{Emit, Event, Head, Input, Reader, file_name};
use crate::decode::Trouble;
use crate::json::{Bad, Kind, Pull, Value, array, field, number, parse, text};
use crate::seam::Result;

/// The reader of a Google account's activities.
pub(super) struct Activity;

/// The list of pages in Chrome's history.
const PAGES: &str = "Browser History";
/// The list of places in a month's timeline.
const PLACES: &str = "timelineObjects";

impl Reader for Activity {
    fn name(&self) -> &'static str {
        "activity"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        let is_list = shape.kind == Some(Kind::Array) && shape.has_all(2, &["header", "title", "time"]);
        let is_history = shape.has(1, PAGES) && (shape.has(3, "time_usec") || shape.has(3, "url"));
        let is_timeline = shape.has(1, PLACES) && (shape.has(3, "placeVisit") || shape.has(3, "activitySegment"));
        let has = |needle: &[u8]| memchr::memmem::find(head.bytes, needle).is_some();
        let is_page = shape.kind.is_none() && has(b"mdl-typography--title") && has(b"outer-cell");
        if is_list || is_history || is_timeline || is_page { 96 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let mut months = Months { input, open: None, n_done: 0 };
        let read = activities(input, &mut months, emit);
        let is_whole = read.is_ok();
        months.close(!is_whole, emit)?;
        if months.n_done == 0 && is_whole {
            emit(Event::Trouble(Trouble::new("", "no activity in it", "nothing to do: the account did nothing here")))?;
        }
        records::settle(read, emit)
    }
}

/// One thing that was done.
pub(super) struct Deed {
    /// Where: a product's name.
    pub product: String,
    /// What.
    pub text: String,
    /// What with.
    pub url: Option<String>,
    /// When, and whether a time zone had to be assumed.
    pub at: Option<(Timestamp, bool)>,
}

/// The month that is being read.
struct Months<'a> {
    input: &'a Input<'a>,
    open: Option<(String, Conversation)>,
    n_done: u64,
}

impl Months<'_> {
    fn take(&mut self, deed: &Deed, emit: &mut Emit<'_>) -> Result<()> {
        let month = deed.at.map_or_else(
            || self.open.as_ref().map_or_else(|| "undated".to_owned(), |(month, _)| month.clone()),
            |(at, _)| at.to_string().chars().take(7).collect(),
        );
        if self.open.as_ref().is_some_and(|(open, _)| *open != month) {
            self.close(false, emit)?;
        }
        let (month, chat) = self.open.get_or_insert_with(|| {
            let about = BTreeMap::from([("product".to_owned(), deed.product.clone())]);
            let chat = Conversation { part: Some(month.clone()), metadata: about, ..Conversation::default() };
            (month, chat)
        });
        chat.title.get_or_insert_with(|| format!("{}, {month}", deed.product));
        let url = deed.url.iter().map(|url| ("url".to_owned(), url.clone()));
        chat.say(Said {
            author: &deed.product,
            role: Some(Role::System),
            at: deed.at.map(|(at, _)| at),
            is_inferred: deed.at.is_some_and(|(_, is_inferred)| is_inferred),
            text: &deed.text,
            metadata: url.collect(),
            ..Said::default()
        });
        self.n_done += 1;
        Ok(())
    }

    /// Hands on the month, oldest first.
    fn close(&mut self, is_cut: bool, emit: &mut Emit<'_>) -> Result<()> {
        let Some((_, mut chat)) = self.open.take() else { return Ok(()) };
        chat.is_cut |= is_cut;
        chat.reverse();
        chat.sort_by_time();
        emit(chat.finish(file_name(self.input.name), self.input.source_bytes_max))
    }
}

fn activities(input: &Input<'_>, months: &mut Months<'_>, emit: &mut Emit<'_>) -> std::result::Result<(), Stop> {
    let mut pull = records::pull(input)?;
    match pull.kind()? {
        Some(Kind::Array) => list(&mut pull, listed, months, emit),
        Some(Kind::Object) => {
            pull.enter()?;
            while let Some(name) = pull.next_name()? {
                match name.as_str() {
                    PAGES if pull.kind()? == Some(Kind::Array) => list(&mut pull, visited, months, emit)?,
                    PLACES if pull.kind()? == Some(Kind::Array) => list(&mut pull, stayed, months, emit)?,
                    _ => pull.skip()?,
                }
            }
            Ok(())
        }
        _ => {
            let reader = input.open().map_err(Bad::Io)?;
            cells(reader, input.source_bytes_max, &mut |deed| match deed {
                Ok(deed) => months.take(&deed, emit),
                Err(trouble) => emit(Event::Trouble(trouble)),
            })
        }
    }
}

fn list(
    pull: &mut Pull<'_>,
    read: impl Fn(&Value<'_>) -> Option<Deed>,
    months: &mut Months<'_>,
    emit: &mut Emit<'_>,
) -> std::result::Result<(), Stop> {
    pull.enter()?;
    while pull.next_element()? {
        let record = pull.value()?;
        let place = record.place();
        let mut n_replaced = 0;
        let deed = match record.bytes {
            Some(bytes) => parse(bytes, &mut n_replaced, &read),
            None => Err(format!("{} bytes in one activity", record.n_bytes)),
        };
        let trouble = match deed {
            Ok(Some(deed)) => {
                months.take(&deed, emit)?;
                if let Some((_, chat)) = &mut months.open {
                    chat.n_replaced += n_replaced;
                }
                continue;
            }
            Ok(None) => Trouble::new(place, "an activity without words", "nothing to do: it says nothing"),
            Err(reason) => Trouble::new(place, reason, "the activities beside it went in"),
        };
        if let Some((_, chat)) = &mut months.open {
            chat.is_cut = true;
        }
        emit(Event::Trouble(trouble))?;
    }
    Ok(())
}

/// An entry of My Activity or of YouTube's history: what was done, and with whose what.
fn listed(entry: &Value<'_>) -> Option<Deed> {
    let mut lines: Vec<&str> = text(field(entry, "title")).into_iter().collect();
    let below = array(field(entry, "subtitles")).iter().filter_map(|line| text(field(line, "name")));
    lines.extend(below.chain(text(field(entry, "description"))));
    Some(Deed {
        product: text(field(entry, "header")).unwrap_or("Google").to_owned(),
        url: text(field(entry, "titleUrl")).map(str::to_owned),
        at: text(field(entry, "time")).and_then(written),
        text: Some(lines.join("\n")).filter(|text| !text.trim().is_empty())?,
    })
}

/// A page in Chrome's history.
fn visited(entry: &Value<'_>) -> Option<Deed> {
    let url = text(field(entry, "url"));
    Some(Deed {
        product: "Chrome".to_owned(),
        text: format!("Visited {}", text(field(entry, "title")).or(url)?),
        url: url.map(str::to_owned),
        at: number(field(entry, "time_usec")).and_then(|micros| seconds(micros / 1e6)).map(|at| (at, false)),
    })
}

/// A place where someone stayed, or a way between two.
fn stayed(entry: &Value<'_>) -> Option<Deed> {
    let (visit, way) = (field(entry, "placeVisit"), field(entry, "activitySegment"));
    let place = field(visit, "location");
    let lines: Vec<&str> = ["name", "address"].into_iter().filter_map(|name| text(field(place, name))).collect();
    let text_of = |lines: Vec<&str>| format!("Was at {}", lines.join("\n"));
    let moved = || Some(format!("Moved: {}", text(field(way, "activityType"))?.to_lowercase().replace('_', " ")));
    let during = if *visit == Value::Null { field(way, "duration") } else { field(visit, "duration") };
    Some(Deed {
        product: "Location".to_owned(),
        text: if lines.is_empty() { moved()? } else { text_of(lines) },
        url: None,
        at: text(field(during, "startTimestamp")).and_then(written),
    })
}
