//! My Activity as a page: its cells, one after the other, in memory of the largest cell.
//!
//! A cell is a head with the product, then lines: what was done, perhaps more of it, and the date last.
//! Dates are written in English; what follows the time is the zone, which older pages leave out.

use std::io::Read;

use chrono::{Duration, NaiveDateTime};
use memchr::memmem;
use model::Timestamp;

use super::activity::Deed;
use super::records::Stop;
use super::snippet::{Piece, Plain, attribute, pieces, plain};
use crate::decode::{Trouble, too_large};
use crate::json::Bad;
use crate::seam::Result;

/// What a cell begins with.
const CELL: &[u8] = b"<div class=\"outer-cell";
/// So much is read at once.
const READ_BYTES: u64 = 64 << 10;

/// Takes what a cell says, or why it says nothing.
pub(super) type TakeDeed<'a> = dyn FnMut(std::result::Result<Deed, Trouble>) -> Result<()> + 'a;

/// Goes through the cells of a page; one is at most `bytes_max` long.
pub(super) fn cells(mut reader: impl Read, bytes_max: u64, take: &mut TakeDeed<'_>) -> std::result::Result<(), Stop> {
    let mut buffer: Vec<u8> = Vec::new();
    let (mut base, mut n_looked_at, mut is_in_cell) = (0_u64, 0, false);
    loop {
        // The mark that the buffer begins with is the cell's own.
        let from = n_looked_at.max(usize::from(is_in_cell));
        if let Some(at) = buffer.get(from..).and_then(|rest| memmem::find(rest, CELL)) {
            let end = from + at;
            if is_in_cell {
                take(cell(&buffer[..end], base))?;
            }
            buffer.drain(..end);
            base += end as u64;
            (n_looked_at, is_in_cell) = (0, true);
            continue;
        }
        n_looked_at = buffer.len().saturating_sub(CELL.len());
        if !is_in_cell {
            // What stands before the first cell is the page's style.
            buffer.drain(..n_looked_at);
            base += n_looked_at as u64;
            n_looked_at = 0;
        }
        if buffer.len() as u64 > bytes_max {
            take(Err(too_large(&format!("byte {base}"), buffer.len() as u64, bytes_max)))?;
            is_in_cell = false;
            continue;
        }
        if reader.by_ref().take(READ_BYTES).read_to_end(&mut buffer).map_err(Bad::Io)? == 0 {
            break;
        }
    }
    if is_in_cell {
        take(cell(&buffer, base))?;
    }
    Ok(())
}

fn cell(html: &[u8], offset: u64) -> std::result::Result<Deed, Trouble> {
    let html = String::from_utf8_lossy(html);
    let none = |reason| Trouble::new(format!("byte {offset}"), reason, "export My Activity as JSON and import that");
    let product = between(&html, "mdl-typography--title\">", "</p>").map(plain).unwrap_or_default();
    let body =
        between(&html, "mdl-typography--body-1\">", "</div>").ok_or_else(|| none("an activity without words"))?;
    let mut lines: Vec<String> = Vec::new();
    let (mut line, mut url) = (Plain::default(), None);
    for piece in pieces(body) {
        match piece {
            Piece::Open(tag) if tag.starts_with("br") => lines.push(std::mem::take(&mut line).done()),
            // Where a link leads is beside the text, not in it.
            Piece::Open(tag) => url = url.or_else(|| attribute(tag, "href")),
            Piece::Close(_) => {}
            Piece::Text(_) => line.take(piece),
        }
    }
    lines.push(line.done());
    lines.retain(|line| !line.is_empty());
    let at = lines.last().and_then(|line| moment(line));
    if at.is_some() {
        lines.pop();
    }
    if lines.is_empty() {
        return Err(none("an activity without words"));
    }
    let product = if product.is_empty() { "Google".to_owned() } else { product };
    Ok(Deed { product, text: lines.join("\n"), url, at })
}

fn between<'t>(text: &'t str, begin: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(begin)?;
    Some(rest.split_once(end).map_or(rest, |(inner, _)| inner))
}

/// Hours by which a zone is before or behind UTC, as Google abbreviates it.
const ZONES: &[(&str, i64)] = &[
    ("UTC", 0),
    ("GMT", 0),
    ("BST", 1),
    ("CET", 1),
    ("CEST", 2),
    ("EST", -5),
    ("EDT", -4),
    ("CST", -6),
    ("CDT", -5),
    ("MST", -7),
    ("MDT", -6),
    ("PST", -8),
    ("PDT", -7),
];

/// A moment as a page writes it: `Feb 8, 2017, 12:32:39 AM UTC`; whether its zone is not known.
fn moment(given: &str) -> Option<(Timestamp, bool)> {
    let given = given.replace(['\u{202f}', '\u{a0}'], " ");
    let formats = ["%b %d, %Y, %I:%M:%S %p", "%d %b %Y, %H:%M:%S"];
    let read = |text: &str| formats.iter().find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
    if let Some(at) = read(given.trim()) {
        return Some((Timestamp::from(at.and_utc()), true));
    }
    let (date, zone) = given.trim().rsplit_once(' ')?;
    let at = read(date)?;
    let minutes = match ZONES.iter().find(|(name, _)| *name == zone) {
        Some((_, hours)) => Some(hours * 60),
        None => offset(zone),
    };
    let at = at.checked_sub_signed(Duration::minutes(minutes.unwrap_or_default()))?;
    Some((Timestamp::from(at.and_utc()), minutes.is_none()))
}

/// The minutes of `GMT+05:30`.
fn offset(zone: &str) -> Option<i64> {
    let rest = zone.strip_prefix("GMT")?;
    let sign = if rest.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = rest.get(1..)?.split_once(':').or_else(|| Some((rest.get(1..)?, "0")))?;
    let (hours, minutes) = (hours.parse::<i64>().ok()?, minutes.parse::<i64>().ok()?);
    ((0..24).contains(&hours) && (0..60).contains(&minutes)).then_some(sign * (hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_taken_off_and_unknown_ones_assumed() {
        let at = |text| moment(text).map(|(at, is_inferred)| (at.to_string(), is_inferred));
        let expected = |is_inferred| Some(("2024-03-05T15:04:05Z".to_owned(), is_inferred));
        assert_eq!(at("Mar 5, 2024, 3:04:05\u{202f}PM UTC"), expected(false));
        assert_eq!(at("Mar 5, 2024, 4:04:05 PM CET"), expected(false));
        assert_eq!(at("Mar 5, 2024, 8:34:05 PM GMT+05:30"), expected(false));
        assert_eq!(at("Mar 5, 2024, 3:04:05 PM"), expected(true));
        assert_eq!(at("Mar 5, 2024, 3:04:05 PM XYZ"), expected(true));
        assert_eq!(at("05.03.2024, 15:04:05"), None);
    }

    #[test]
    fn cells_are_found_however_the_page_is_read() {
        let one = "<div class=\"outer-cell x\"><p class=\"mdl-typography--title\">Maps<br></p>\
                   <div class=\"c mdl-typography--body-1\">Viewed <a href=\"https://x\">the pier</a><br>\
                   Mar 5, 2024, 3:04:05 PM UTC</div></div>";
        let page = format!("<html>{}{one}{one}</html>", " ".repeat(200_000));
        let mut deeds = Vec::new();
        let read = cells(page.as_bytes(), 1000, &mut |deed| {
            deeds.push(deed.map(|deed| (deed.product, deed.text, deed.url)));
            Ok(())
        });
        assert!(read.is_ok());
        let expected = Ok(("Maps".to_owned(), "Viewed the pier".to_owned(), Some("https://x".to_owned())));
        assert_eq!(deeds, [expected.clone(), expected]);
    }
}
