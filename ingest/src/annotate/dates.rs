//! Dates, absolute and relative, as half-open intervals of whole days: `2023-03-15/2023-03-16`.
//!
//! Relative ones go by the day the turn was said; where that is unknown they are left alone. A date
//! without a year is the one nearest to that day. Of `5/6/2024` the day comes first unless it cannot.

use std::sync::LazyLock;

use chrono::{Datelike, Days, Months, NaiveDate, Weekday};
use regex::{Captures, Regex};

use super::pattern;

type Interval = (NaiveDate, NaiveDate);
type Rule = fn(&Captures<'_>, Option<NaiveDate>) -> Option<Interval>;

macro_rules! month {
    () => {
        r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
    };
}
macro_rules! weekday {
    () => {
        r"(monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
    };
}
macro_rules! number {
    () => {
        r"(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|a couple of|a few)"
    };
}

/// The rules in order of precedence: what an earlier one has matched no later one reads again.
static RULES: LazyLock<Vec<(Regex, Rule)>> = LazyLock::new(|| {
    vec![
        (pattern(r"\b(\d{4})-(\d{1,2})-(\d{1,2})(?:\b|T)"), iso_day as Rule),
        (pattern(r"\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b"), slashed),
        (pattern(concat!(r"(?i)\b", month!(), r"\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?\b")), month_day),
        (pattern(concat!(r"(?i)\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? ", month!(), r"\b\.?(?:,? (\d{4})\b)?")), day_month),
        (pattern(concat!(r"(?i)\b", month!(), r",? (?:of )?(\d{4})\b")), month_year),
        (pattern(r"\b(\d{4})-(\d{2})\b"), iso_month),
        (
            pattern(concat!(r"(?i)\b(?:in|since|by|until|during|last|this|next|early|late|mid) ", month!(), r"\b")),
            bare_month,
        ),
        (pattern(r"(?i)\b(?:in|since|by|until|from|of|during|year) ((?:1[89]|20)\d{2})\b"), year),
        (
            pattern(
                r"(?i)\b(day before yesterday|yesterday|last night|today|tonight|this (?:morning|afternoon|evening)|day after tomorrow|tomorrow)\b",
            ),
            day_word,
        ),
        (
            pattern(concat!(
                r"(?i)\b",
                number!(),
                r" (day|week|month|year)s? (ago|before|earlier|after|later|from now)\b"
            )),
            ago,
        ),
        (pattern(concat!(r"(?i)\b(in) ", number!(), r" (day|week|month|year)s?\b")), within),
        (pattern(r"(?i)\b(last|past|this|next) (weekend|week|month|year)\b"), period),
        (pattern(concat!(r"(?i)\b(?:(last|this|next|on|this past|this coming|every) )?", weekday!(), r"\b")), weekday),
    ]
});

/// Finds the dates in `text`, said on `day`; in no particular order.
pub(super) fn find(text: &str, day: Option<NaiveDate>) -> Vec<String> {
    // Most sentences hold no date; a cheap look spares thirteen patterns.
    if !may_hold_one(text) {
        return Vec::new();
    }
    let mut taken: Vec<(usize, usize)> = Vec::new();
    let mut found = Vec::new();
    for (pattern, rule) in RULES.iter() {
        for captures in pattern.captures_iter(text) {
            let Some(whole) = captures.get(0) else { continue };
            let (start, end) = (whole.start(), whole.end());
            if taken.iter().any(|&(s, e)| start < e && s < end) {
                continue;
            }
            if let Some((from, to)) = rule(&captures, day) {
                taken.push((start, end));
                found.push(format!("{from}/{to}"));
            }
        }
    }
    found
}

static LOOK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\d|day|night|morning|evening|afternoon|week|month|year|tomorrow|january|february|march|april|may|june|july|august|september|october|november|december",
    )
});

fn may_hold_one(text: &str) -> bool {
    LOOK.is_match(text)
}

fn group<'t>(captures: &Captures<'t>, n: usize) -> Option<&'t str> {
    captures.get(n).map(|found| found.as_str())
}

fn int(captures: &Captures<'_>, n: usize) -> Option<u32> {
    group(captures, n)?.parse().ok()
}

fn one_day(day: NaiveDate) -> Option<Interval> {
    Some((day, day.checked_add_days(Days::new(1))?))
}

fn one_month(year: i32, month: u32) -> Option<Interval> {
    let first = NaiveDate::from_ymd_opt(year, month, 1)?;
    Some((first, first.checked_add_months(Months::new(1))?))
}

fn one_year(year: i32) -> Option<Interval> {
    Some((NaiveDate::from_ymd_opt(year, 1, 1)?, NaiveDate::from_ymd_opt(year.checked_add(1)?, 1, 1)?))
}

fn year_of(captures: &Captures<'_>, n: usize) -> Option<i32> {
    i32::try_from(int(captures, n)?).ok().filter(|year| (1000..=2999).contains(year))
}

fn month_named(name: &str) -> Option<u32> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let start = name.get(..3)?.to_lowercase();
    let idx = MONTHS.iter().position(|month| *month == start)?;
    u32::try_from(idx + 1).ok()
}

fn iso_day(c: &Captures<'_>, _: Option<NaiveDate>) -> Option<Interval> {
    one_day(NaiveDate::from_ymd_opt(year_of(c, 1)?, int(c, 2)?, int(c, 3)?)?)
}

fn iso_month(c: &Captures<'_>, _: Option<NaiveDate>) -> Option<Interval> {
    one_month(year_of(c, 1)?, int(c, 2)?)
}

fn slashed(c: &Captures<'_>, _: Option<NaiveDate>) -> Option<Interval> {
    let (first, second, year) = (int(c, 1)?, int(c, 2)?, year_of(c, 3)?);
    let day = NaiveDate::from_ymd_opt(year, second, first).or_else(|| NaiveDate::from_ymd_opt(year, first, second))?;
    one_day(day)
}

fn month_day(c: &Captures<'_>, day: Option<NaiveDate>) -> Option<Interval> {
    named_day(group(c, 1)?, int(c, 2)?, year_of(c, 3), day)
}

fn day_month(c: &Captures<'_>, day: Option<NaiveDate>) -> Option<Interval> {
    named_day(group(c, 2)?, int(c, 1)?, year_of(c, 3), day)
}

fn named_day(month: &str, day_of_month: u32, year: Option<i32>, said: Option<NaiveDate>) -> Option<Interval> {
    let month = month_named(month)?;
    match year {
        Some(year) => one_day(NaiveDate::from_ymd_opt(year, month, day_of_month)?),
        None => one_day(nearest(said?, |year| NaiveDate::from_ymd_opt(year, month, day_of_month))?),
    }
}

/// The date of last year, this or next that lies nearest to the day it was said.
fn nearest(said: NaiveDate, of: impl Fn(i32) -> Option<NaiveDate>) -> Option<NaiveDate> {
    (-1..=1).filter_map(|shift| of(said.year() + shift)).min_by_key(|date| (*date - said).num_days().abs())
}

fn month_year(c: &Captures<'_>, _: Option<NaiveDate>) -> Option<Interval> {
    one_month(year_of(c, 2)?, month_named(group(c, 1)?)?)
}

fn bare_month(c: &Captures<'_>, said: Option<NaiveDate>) -> Option<Interval> {
    let name = group(c, 1)?;
    // `in may` is a typo, `this may` and `by mar` are not months.
    if !name.starts_with(char::is_uppercase) {
        return None;
    }
    let month = month_named(name)?;
    let first = nearest(said?, |year| NaiveDate::from_ymd_opt(year, month, 1))?;
    one_month(first.year(), month)
}

fn year(c: &Captures<'_>, _: Option<NaiveDate>) -> Option<Interval> {
    one_year(year_of(c, 1)?)
}

fn day_word(c: &Captures<'_>, said: Option<NaiveDate>) -> Option<Interval> {
    let said = said?;
    let day = match group(c, 1)?.to_lowercase().as_str() {
        "day before yesterday" => said.checked_sub_days(Days::new(2)),
        "yesterday" | "last night" => said.checked_sub_days(Days::new(1)),
        "tomorrow" => said.checked_add_days(Days::new(1)),
        "day after tomorrow" => said.checked_add_days(Days::new(2)),
        _ => Some(said),
    };
    one_day(day?)
}

fn amount(word: &str) -> Option<u32> {
    const WORDS: [&str; 11] = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    let word = word.to_lowercase();
    match word.as_str() {
        "a" | "an" => Some(1),
        "a couple of" => Some(2),
        // Too vague for a day.
        "a few" => None,
        _ => word.parse().ok().or_else(|| u32::try_from(WORDS.iter().position(|w| *w == word)?).ok()),
    }
}

fn shifted(day: NaiveDate, n: u32, unit: &str, back: bool) -> Option<NaiveDate> {
    let (days, months) = match unit.to_lowercase().as_str() {
        "day" => (u64::from(n), 0),
        "week" => (u64::from(n) * 7, 0),
        "month" => (0, n),
        _ => (0, n * 12),
    };
    if back {
        day.checked_sub_days(Days::new(days))?.checked_sub_months(Months::new(months))
    } else {
        day.checked_add_days(Days::new(days))?.checked_add_months(Months::new(months))
    }
}

fn ago(c: &Captures<'_>, said: Option<NaiveDate>) -> Option<Interval> {
    let word = group(c, 3)?.to_lowercase();
    // `two days before` and `three weeks later` go by another event, which is not known here.
    let back = match word.as_str() {
        "ago" => true,
        "from now" => false,
        _ => return None,
    };
    one_day(shifted(said?, amount(group(c, 1)?)?, group(c, 2)?, back)?)
}

fn within(c: &Captures<'_>, said: Option<NaiveDate>) -> Option<Interval> {
    one_day(shifted(said?, amount(group(c, 2)?)?, group(c, 3)?, false)?)
}

fn period(c: &Captures<'_>, said: Option<NaiveDate>) -> Option<Interval> {
    let said = said?;
    let which = group(c, 1)?.to_lowercase();
    let step: i32 = match which.as_str() {
        "last" | "past" => -1,
        "next" => 1,
        _ => 0,
    };
    let monday = said.checked_sub_days(Days::new(u64::from(said.weekday().num_days_from_monday())))?;
    let week = if step < 0 {
        monday.checked_sub_days(Days::new(7))
    } else {
        monday.checked_add_days(Days::new(7 * u64::from(step > 0)))
    }?;
    let after = |day: NaiveDate, n: u64| day.checked_add_days(Days::new(n));
    match group(c, 2)?.to_lowercase().as_str() {
        "week" => Some((week, after(week, 7)?)),
        "weekend" => Some((after(week, 5)?, after(week, 7)?)),
        "month" => {
            let first = said.with_day(1)?;
            let month = if step < 0 {
                first.checked_sub_months(Months::new(1))
            } else {
                first.checked_add_months(Months::new(u32::from(step > 0)))
            }?;
            one_month(month.year(), month.month())
        }
        _ => one_year(said.year().checked_add(step)?),
    }
}

fn weekday(c: &Captures<'_>, said: Option<NaiveDate>) -> Option<Interval> {
    let said = said?;
    let which = group(c, 1).unwrap_or_default().to_lowercase();
    if which == "every" {
        return None;
    }
    let wanted: Weekday = group(c, 2)?.parse().ok()?;
    let n_back = (7 + said.weekday().num_days_from_monday() - wanted.num_days_from_monday()) % 7;
    let day = match which.as_str() {
        "next" | "this coming" | "this" => {
            said.checked_add_days(Days::new(u64::from(if n_back == 0 { 7 } else { 7 - n_back })))
        }
        "last" | "this past" => said.checked_sub_days(Days::new(u64::from(if n_back == 0 { 7 } else { n_back }))),
        // A bare weekday is told of more often than planned.
        _ => said.checked_sub_days(Days::new(u64::from(n_back))),
    };
    one_day(day?)
}
