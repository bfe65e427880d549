//! Reads IRC logs of the usual clients and bots: one line a message or event.
//!
//! A line is `<nick> words`, `* nick does`, or an event (`***`, `-->`, `<--`, `-!-`), behind its time. A
//! time without a date takes it from the lines that say that a day began, else from the file's name
//! (`2009-01-14-channel.log`); a time without either is unknown. No zone is written: UTC, inferred.

use std::sync::LazyLock;

use chrono::{Datelike, NaiveDate, NaiveTime};
use model::{Role, Timestamp};
use regex::Regex;

use super::said::{Conversation, Said};
use super::{Emit, Event, Head, Input, Reader, extension, file_name, whole};
use crate::decode::Trouble;
use crate::seam::Result;

/// The reader of IRC logs.
pub(super) struct Irc;

/// So many lines are looked at to know a file.
const LINES_LOOKED_AT: usize = 30;

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    let date = r"(?:(?<date>\d{4}-\d{2}-\d{2})[T ]|(?<day>\d{1,2}) (?<month>[A-Z][a-z]{2}) |(?<month_first>[A-Z][a-z]{2}) (?<day_last>\d{1,2}) )?";
    let time = r"(?<time>\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?";
    let what = r"(?:<[@+%~& ]?(?<nick>[^<>\s!]+)(?<host>![^<>\s]*)?>(?:[ \t](?<said>.*))?|\* (?<does>\S+.*)|(?<event>(?:\*\*\*|-->|<--|-!-|={2,3}|-- ?).*))$";
    Regex::new(&format!(r"^\[?{date}{time}\]?[ \t]+{what}")).unwrap()
});

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static DAY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:---|\*{3,4}) .*?([A-Z][a-z]{2}) (\d{1,2})(?: \d{2}:\d{2}:\d{2})? (\d{4})").unwrap()
});

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static NAMED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\d{4})-?(\d{2})-?(\d{2})").unwrap());

impl Reader for Irc {
    fn name(&self) -> &'static str {
        "irc"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        if !matches!(extension(head.name).as_str(), "log" | "txt" | "weechatlog" | "") {
            return 0;
        }
        let text = String::from_utf8_lossy(head.bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(LINES_LOOKED_AT).collect();
        let n_read = lines.iter().filter(|line| LINE.is_match(line) || DAY.is_match(line)).count();
        let is_said = lines.iter().filter_map(|line| LINE.captures(line)).any(|line| line.name("nick").is_some());
        if is_said && n_read * 4 >= lines.len() * 3 { 88 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let decoded = match whole(input) {
            Ok(decoded) => decoded,
            Err(trouble) => return emit(Event::Trouble(trouble)),
        };
        let mut log = Log { day: named_day(input.name), ..Log::default() };
        let n_odd = decoded.text.lines().filter(|line| !line.trim().is_empty() && !log.line(line)).count();
        if n_odd > 0 {
            let reason = format!("{n_odd} lines are neither messages nor events");
            emit(Event::Trouble(Trouble::new("", reason, "import it as text with --format text")))?;
        }
        let mut chat = log.chat;
        chat.is_cut = n_odd > 0;
        chat.n_replaced += decoded.n_replaced;
        chat.metadata.extend(decoded.metadata());
        chat.remarks.extend(decoded.remarks());
        chat.title = Some(file_name(input.name).to_owned());
        emit(chat.finish(file_name(input.name), input.source_bytes_max))
    }
}

#[derive(Default)]
struct Log {
    chat: Conversation,
    day: Option<NaiveDate>,
}

impl Log {
    /// Takes a line; whether it was one of a log.
    fn line(&mut self, line: &str) -> bool {
        let Some(found) = LINE.captures(line) else {
            let Some(day) = DAY.captures(line) else { return false };
            let date = format!("{} {} {}", &day[2], &day[1], &day[3]);
            self.day = NaiveDate::parse_from_str(&date, "%d %b %Y").ok().or(self.day);
            return true;
        };
        let text = |name: &str| found.name(name).map(|found| found.as_str());
        if let Some(date) = text("date") {
            self.day = date.parse().ok().or(self.day);
        }
        let month = text("month").or_else(|| text("month_first"));
        if let (Some(day), Some(month), Some(known)) = (text("day").or_else(|| text("day_last")), month, self.day) {
            let date = format!("{day} {month} {}", known.year());
            self.day = NaiveDate::parse_from_str(&date, "%d %b %Y").ok().or(self.day);
        }
        let at = text("time").and_then(|time| moment(self.day, time));
        let (author, role, words) = match (text("nick"), text("does"), text("event")) {
            // A proxy that notes the sender's host marks words with whether the nick was identified.
            (Some(nick), _, _) => {
                let said = text("said").unwrap_or_default();
                let plain =
                    if found.name("host").is_some() { said.strip_prefix(['+', '-']).unwrap_or(said) } else { said };
                (nick, Role::Unknown, plain)
            }
            (_, Some(does), _) => (does.split(' ').next().unwrap_or_default(), Role::Unknown, does),
            (_, _, event) => ("", Role::System, event.unwrap_or_default()),
        };
        self.chat.say(Said { author, role: Some(role), at, is_inferred: true, text: words, ..Said::default() });
        true
    }
}

fn moment(day: Option<NaiveDate>, time: &str) -> Option<Timestamp> {
    let time = ["%H:%M:%S", "%H:%M"].iter().find_map(|format| NaiveTime::parse_from_str(time, format).ok())?;
    Some(Timestamp::from(day?.and_time(time).and_utc()))
}

/// The day in a file's name.
fn named_day(name: &str) -> Option<NaiveDate> {
    let found = NAMED.captures(file_name(name))?;
    NaiveDate::from_ymd_opt(found[1].parse().ok()?, found[2].parse().ok()?, found[3].parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_told_from_other_text() {
        let sure = |text: &str| Irc.recognises(&Head::new(text.as_bytes(), "a.log"));
        assert!(sure("[10:00] <ana> hi\n[10:01] * bo waves\n") > 0);
        assert!(sure("2005-01-08T23:33:54  *** bot has joined #x\n2005-01-08T23:34:46  <ana> works\n") > 0);
        assert_eq!(sure("10:00:01 INFO started <main>\n10:00:02 WARN slow\n"), 0);
        assert_eq!(sure("Ana: hi\nBo: hi\n"), 0);
    }
}
