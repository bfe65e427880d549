//! The mails that the parser's authors collected, against the JSON that they expect of them.
//!
//! Skipped where the data is not there.

use std::path::Path;

use regex::Regex;
use serde_json::Value;

use super::mail_message::{Mail, ids, mail};
use super::real::data;

/// The value of the last field `name` of a mail's own header, as the JSON has it.
fn field<'j>(json: &'j Value, name: &str, kind: &str) -> Option<&'j Value> {
    let headers = json["parts"][0]["headers"].as_array()?;
    headers.iter().rfind(|header| header["name"] == name)?["value"].get(kind)
}

/// The first person of an address, name before address.
fn person(address: &Value) -> Option<&str> {
    let groups = address["Group"].as_array().into_iter().flatten().map(|group| &group["addresses"]);
    let people = groups.chain(address.get("List")).filter_map(Value::as_array).flatten();
    let mut named = people.filter_map(|one| one["name"].as_str().or(one["address"].as_str()));
    named.find(|name| !name.trim().is_empty()).map(str::trim)
}

/// The moment of a date as seconds since 1970, by the calendar.
fn moment(date: &Value) -> i64 {
    let n = |name: &str| date[name].as_i64().unwrap();
    let day = chrono::NaiveDate::from_ymd_opt(n("year") as i32, n("month") as u32, n("day") as u32).unwrap();
    let local = day.and_hms_opt(n("hour") as u32, n("minute") as u32, n("second") as u32).unwrap();
    let offset = n("tz_hour") * 3600 + n("tz_minute") * 60;
    let sign = if date["tz_before_gmt"] == true { -1 } else { 1 };
    local.and_utc().timestamp() - sign * offset
}

/// Letters and digits alone: what is left of a page's text without its layout.
fn letters(text: &str) -> String {
    text.chars().filter(|char| char.is_alphanumeric()).collect()
}

/// The texts of a mail, and whether one of them is a page.
fn texts(json: &Value) -> (String, bool) {
    let tags = Regex::new(r"(?is)<(head|style|title)\b.*?</(head|style|title)>|<[^>]*>").unwrap();
    let entities = [
        ("&nbsp;", "\u{a0}"),
        ("&auml;", "ä"),
        ("&ouml;", "ö"),
        ("&uuml;", "ü"),
        ("&szlig;", "ß"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&amp;", "&"),
    ];
    let mut is_page = false;
    let mut of = |list: &str| {
        let bodies = json[list].as_array().unwrap().iter().filter_map(|id| {
            let body = &json["parts"][id.as_u64().unwrap() as usize]["body"];
            let Some(html) = body["Html"].as_str() else { return body["Text"].as_str().map(str::to_owned) };
            is_page = true;
            let text = tags.replace_all(html, "").into_owned();
            Some(entities.iter().fold(text, |text, (name, char)| text.replace(name, char)))
        });
        let plain = bodies.map(|text| text.replace("\r\n", "\n").trim_end_matches(['\r', '\n']).to_owned());
        plain.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n").replace('\0', "\u{fffd}")
    };
    let text = of("text_body");
    // Where no text part says anything, the page does.
    let text = if text.trim().is_empty() && !letters(&of("html_body")).is_empty() { of("html_body") } else { text };
    (text, is_page)
}

/// What differs between a mail as read and as expected.
fn differences(read: &Mail, json: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let mut compare = |what: &str, read: &str, expected: &str| {
        if read != expected {
            let at = read.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
            let near = |text: &str| String::from_utf8_lossy(&text.as_bytes()[at..text.len().min(at + 80)]).into_owned();
            out.push(format!("{what}, byte {at}: {:?}, expected {:?}", near(read), near(expected)));
        }
    };
    let subject = field(json, "subject", "Text").and_then(Value::as_str).unwrap_or("").trim();
    compare("subject", read.metadata.get("subject").map_or("", String::as_str), subject);
    let from = field(json, "from", "Address").or_else(|| field(json, "sender", "Address"));
    compare("from", &read.author, from.and_then(person).unwrap_or(""));
    if let Some(date) = field(json, "date", "DateTime") {
        let at = read.at.map(|(at, _)| at.as_micros() / 1_000_000);
        compare("date", &format!("{at:?}"), &format!("{:?}", Some(moment(date))));
    } else if field(json, "received", "Received").is_none() {
        compare("date", &format!("{:?}", read.at), "None");
    }
    let (text, is_page) = texts(json);
    match is_page {
        true => compare("text", &letters(&read.text), &letters(&text)),
        false => compare("text", &read.text, &text),
    }
    out
}

fn compare(folder: &Path, n: &mut usize) -> String {
    let mut out = String::new();
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            out += &compare(&path, n);
        }
        if path.extension().is_none_or(|end| end != "eml") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();

        let wire = bytes.iter().fold(Vec::new(), |mut wire, byte| {
            if *byte == b'\n' && !wire.ends_with(b"\r") {
                wire.push(b'\r');
            }
            wire.push(*byte);
            wire
        });
        for (bytes, end) in [(&bytes, "json"), (&wire, "crlf.json")] {
            let json = path.with_extension(end);
            let expected: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
            let read = mail(bytes).unwrap_or_default();
            *n += 1;
            for line in differences(&read, &expected) {
                out += &format!("{}: {line}\n", json.display());
            }
        }
    }
    out
}

#[test]
fn mails_say_what_is_expected_of_them() {
    let Some(data) = data() else {
        eprintln!("skipped: no data");
        return;
    };
    let mut n = 0;
    let differ = compare(&data.join("exports/email"), &mut n);
    assert!(differ.is_empty(), "these differ:\n{differ}");
    assert_eq!(n, 2 * 107);
}

/// All mails under `folder`.
fn mails(folder: &Path, out: &mut Vec<Vec<u8>>) {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            mails(&path, out);
        } else if path.extension().is_some_and(|end| end == "eml") {
            out.push(std::fs::read(&path).unwrap());
        }
    }
}

/// Damages `bytes` in one of five ways; `next(n)` is a number below `n`.
fn damage(bytes: &mut Vec<u8>, all: &[Vec<u8>], next: &mut impl FnMut(usize) -> usize) {
    if bytes.is_empty() {
        return;
    }
    let (at, n) = (next(bytes.len()), next(60));
    let to = (at + n).min(bytes.len());
    match next(5) {
        0 => bytes[at] = next(256) as u8,
        1 => _ = bytes.drain(at..to),
        2 => {
            let stretch = bytes[at..to].to_vec();
            let place = next(bytes.len());
            bytes.splice(place..place, stretch);
        }
        3 => {
            let other = &all[next(all.len())];
            let from = next(other.len());
            let stretch = other[from..(from + 200).min(other.len())].to_vec();
            bytes.splice(at..at, stretch);
        }
        _ => bytes.truncate(at),
    }
}

/// With `STRATA_DAMAGED=n` so many are tried.
#[test]
fn damaged_mails_stop_nothing() {
    let Some(data) = data() else {
        eprintln!("skipped: no data");
        return;
    };
    let mut all = Vec::new();
    mails(&data.join("exports/email"), &mut all);
    let mut seed = 12345_u64;
    let mut next = |n: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % n.max(1) as u64) as usize
    };
    let n = std::env::var("STRATA_DAMAGED").ok().and_then(|n| n.parse().ok()).unwrap_or(5000);
    let mut n_read = 0;
    for _ in 0..n {
        let mut bytes = all[next(all.len())].clone();
        for _ in 0..1 + next(8) {
            damage(&mut bytes, &all, &mut next);
        }
        ids(&bytes);
        n_read += usize::from(mail(&bytes).is_some());
    }
    assert!(n_read > n / 2);
}
