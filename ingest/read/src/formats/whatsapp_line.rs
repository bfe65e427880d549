//! How a WhatsApp message begins: its date and time in the many ways phones write them.

use std::sync::LazyLock;

use chrono::{NaiveDate, NaiveDateTime};
use model::Timestamp;
use regex::Regex;

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    // `m` are marks of writing direction; `\s` and `\d` are those of every script.
    let m = r"[\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{feff}]*";
    let half = r"(?i:[ap]\s?\.?\s?m\b\.?|上午|下午|午前|午後|오전|오후|ص|م|π\.?μ\.?|μ\.?μ\.?)";
    let date = format!(
        r"(?<first>\d{{1,4}}){m}\s?(?<separator>[./-]){m}\s?(?<middle>\d{{1,2}}){m}\s?[./-]{m}\s?(?<last>\d{{1,4}}){m}\.?"
    );
    let time = format!(
        r"(?<before>{half})?\s?{m}(?<hour>\d{{1,2}})[:.](?<minute>\d{{2}})(?:[:.](?<second>\d{{2}}))?{m}\s?(?<after>{half})?"
    );
    let between = r"[,،]?\s+(?:(?:klo|at|um|kl\.?|à|alle)\s)?";
    let close = r"(?<close>\]|\s[-–—](?:\s|$))";
    Regex::new(&format!(r"^{m}(?<open>\[?){m}{date}{between}{time}{m}{close}\s?")).unwrap()
});

/// The first digits of the scripts that number with ten of them.
const ZEROS: &[u32] = &[
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0xf20,
    0x1040, 0xff10,
];

/// In which order a date is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// 31.12.2024
    Dmy,
    /// 12/31/2024
    Mdy,
    /// 2024-12-31
    Ymd,
}

/// The beginning of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header<'t> {
    /// The three numbers of its date, and whether the first and the last have four digits.
    date: [u32; 3],
    is_long: [bool; 2],
    separator: char,
    hour: u32,
    minute: u32,
    second: u32,
    has_half: bool,
    /// Whether date and time stand in brackets, as on iOS.
    pub is_bracketed: bool,
    /// What follows: an author and a text, or an event.
    pub rest: &'t str,
}

/// Reads how a line begins a message; `None` where it begins none.
pub(super) fn header(line: &str) -> Option<Header<'_>> {
    let found = HEADER.captures(line)?;
    let text = |name: &str| found.name(name).map(|found| found.as_str());
    let half = text("before").or_else(|| text("after"));
    let (mut hour, minute) = (number(text("hour")?)?, number(text("minute")?)?);
    let second = text("second").map_or(Some(0), number)?;
    if let Some(half) = half {
        hour = hour % 12 + if is_after_noon(half) { 12 } else { 0 };
    }
    let is_bracketed = !text("open")?.is_empty();
    if hour > 23 || minute > 59 || second > 59 || is_bracketed != (text("close")? == "]") {
        return None;
    }
    let (first, last) = (text("first")?, text("last")?);
    Some(Header {
        date: [number(first)?, number(text("middle")?)?, number(last)?],
        is_long: [first.chars().count() == 4, last.chars().count() == 4],
        separator: text("separator")?.chars().next()?,
        hour,
        minute,
        second,
        has_half: half.is_some(),
        is_bracketed,
        rest: &line[found.get(0)?.end()..],
    })
}

impl Header<'_> {
    /// When it was said, for the clock on the phone's wall; `None` where there is no such day.
    pub fn at(&self, order: Order) -> Option<Timestamp> {
        self.read(order).map(|at| Timestamp::from(at.and_utc()))
    }

    fn read(&self, order: Order) -> Option<NaiveDateTime> {
        let [a, b, c] = self.date;
        let (year, month, day) = match order {
            Order::Dmy => (c, b, a),
            Order::Mdy => (c, a, b),
            Order::Ymd => (a, b, c),
        };
        // WhatsApp is of this century; the Buddhist calendar of Thai phones is ahead by 543 years.
        let year = match year {
            0..=99 => year + 2000,
            2500..=2650 => year - 543,
            2000..=2499 => year,
            _ => return None,
        };
        let day = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)?;
        day.and_hms_opt(self.hour, self.minute, self.second)
    }
}

/// The order in which the dates of a file are written, and whether the dates themselves say so.
///
/// Taken is the order that makes days of most dates, then the one in which time runs backwards least,
/// then the one that spans the shortest time; where all are alike, the custom of the way it is written.
pub(super) fn order(headers: &[&Header<'_>]) -> (Order, bool) {
    if headers.iter().any(|header| header.is_long[0]) {
        return (Order::Ymd, true);
    }
    let is_long = headers.iter().any(|header| header.is_long[1]);
    let is_american = headers.first().is_some_and(|header| header.separator == '/' && header.has_half);
    let mut orders = vec![Order::Dmy, Order::Mdy];
    if is_american {
        orders.reverse();
    }
    if !is_long {
        orders.push(Order::Ymd);
    }
    let cost = |order: Order| {
        let times: Vec<Option<NaiveDateTime>> = headers.iter().map(|header| header.read(order)).collect();
        let n_bad = times.iter().filter(|at| at.is_none()).count();
        let times: Vec<NaiveDateTime> = times.into_iter().flatten().collect();
        let n_back = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
        let span = times.iter().max().zip(times.iter().min()).map_or(0, |(max, min)| (*max - *min).num_days());
        (n_bad, n_back, span)
    };
    let costs: Vec<(usize, usize, i64)> = orders.iter().map(|order| cost(*order)).collect();
    let best = costs.iter().min().copied().unwrap_or_default();
    let n_best = costs.iter().filter(|cost| **cost == best).count();
    let chosen = costs.iter().position(|cost| *cost == best).unwrap_or_default();
    (orders[chosen], n_best == 1)
}

/// A text without the marks of writing direction around it.
pub(super) fn strip_marks(text: &str) -> &str {
    let is_mark =
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    text.trim_start_matches(is_mark).trim_end_matches(is_mark)
}

fn is_after_noon(half: &str) -> bool {
    half.starts_with(['p', 'P']) || matches!(half, "下午" | "午後" | "오후" | "م") || half.starts_with('μ')
}

/// A number in the digits of any script.
fn number(text: &str) -> Option<u32> {
    text.chars().try_fold(0_u32, |number, digit| {
        let zero = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&u32::from(digit)))?;
        Some(number * 10 + (u32::from(digit) - zero))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(line: &str, order: Order, at: &str, rest: &str) {
        let found = header(line).unwrap_or_else(|| panic!("{line:?} begins no message"));
        assert_eq!(found.at(order).map(|at| at.to_string()).as_deref(), Some(at), "{line:?}");
        assert_eq!(found.rest, rest, "{line:?}");
    }

    #[test]
    fn dates_are_read_as_phones_write_them() {
        use Order::{Dmy, Mdy, Ymd};
        check("[31.12.24, 23:05:09] Ana: hi", Dmy, "2024-12-31T23:05:09Z", "Ana: hi");
        check("\u{200e}[31/12/2024, 11:05:09\u{202f}PM] Ana: hi", Dmy, "2024-12-31T23:05:09Z", "Ana: hi");
        check("[12-31-2024, 23:05:09] Ana: hi", Mdy, "2024-12-31T23:05:09Z", "Ana: hi");
        check("[31/12/2024 23:05:09] Ana: hi", Dmy, "2024-12-31T23:05:09Z", "Ana: hi");
        check("12/31/24, 12:05 AM - Ana: hi", Mdy, "2024-12-31T00:05:00Z", "Ana: hi");
        check("31/12/24, 11:05 p. m. - Ana: hi", Dmy, "2024-12-31T23:05:00Z", "Ana: hi");
        check("2024-12-31 23:05 - Ana: hi", Ymd, "2024-12-31T23:05:00Z", "Ana: hi");
        check("31.12.2024 klo 23.05 - Ana: hi", Dmy, "2024-12-31T23:05:00Z", "Ana: hi");
        check("2024/12/31 下午11:05 - Ana: hi", Ymd, "2024-12-31T23:05:00Z", "Ana: hi");
        check("2024. 12. 31. 오후 11:05 - Ana: hi", Ymd, "2024-12-31T23:05:00Z", "Ana: hi");
        check("\u{200f}٣١\u{200f}/١٢\u{200f}/٢٠٢٤، ١١:٠٥ م - Ana: hi", Dmy, "2024-12-31T23:05:00Z", "Ana: hi");
        check("31/12/2567 23:05 - Ana: hi", Dmy, "2024-12-31T23:05:00Z", "Ana: hi");
    }

    #[test]
    fn what_is_no_beginning_is_told() {
        for line in
            ["Ana: hi", "31.12.24: done", "[31.12.24, 23:05:09 Ana: hi", "31/12/24, 25:05 - Ana", "10:30 - Ana: hi", ""]
        {
            assert!(header(line).is_none(), "{line:?}");
        }
    }

    fn order_of(lines: &[&str]) -> (Order, bool) {
        let headers: Vec<Header<'_>> = lines.iter().map(|line| header(line).unwrap()).collect();
        order(&headers.iter().collect::<Vec<_>>())
    }

    #[test]
    fn the_order_is_that_of_all_dates_of_the_file() {
        assert_eq!(order_of(&["1/2/24, 10:00 - A: a", "13/2/24, 10:00 - A: a"]), (Order::Dmy, true));
        assert_eq!(order_of(&["2/1/24, 10:00 - A: a", "2/13/24, 10:00 - A: a"]), (Order::Mdy, true));
        assert_eq!(
            order_of(&["1/2/24, 10:00 - A: a", "2/2/24, 10:00 - A: a", "1/3/24, 10:00 - A: a"]),
            (Order::Dmy, true)
        );
        assert_eq!(order_of(&["24/2/1, 10:00 - A: a", "24/2/28, 10:00 - A: a"]), (Order::Ymd, true));
        assert_eq!(order_of(&["5/5/2024, 10:00 - A: a"]), (Order::Dmy, false));
        assert_eq!(order_of(&["5/4/24, 10:00 AM - A: a"]), (Order::Mdy, false));
    }

    proptest! {
        #[test]
        fn any_line_is_read_without_panic(line in "\\[?[0-9٠-٩]{0,5}[./-][0-9]{0,3}[./-][0-9]{0,5}[, ]{0,2}[0-9]{0,3}[:.][0-9]{0,3}( [AP]M)?[\\] -]{0,3}\\PC{0,20}") {
            if let Some(found) = header(&line) {
                for order in [Order::Dmy, Order::Mdy, Order::Ymd] {
                    let _ = found.at(order);
                }
            }
        }
    }
}
