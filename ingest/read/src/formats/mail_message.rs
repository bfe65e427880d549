//! One mail's bytes to what it says, by the `mail-parser` crate.
//!
//! Its words are its text parts; HTML is made text only where there is no other text. Everything else in
//! it is named as an attachment and not kept.
//!
//! Format: RFC 5322, MIME (RFC 2045 to 2049).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use mail_parser::decoders::html::html_to_text;
use mail_parser::{Address, DateTime, HeaderName, HeaderValue, Message, MessageParser, MimeHeaders, PartType};
use model::Timestamp;
use regex::Regex;

use super::mail_quoted::{marks, written};
use super::said::seconds;
use crate::json::clean;

/// A mail as it is kept.
#[derive(Debug, Default)]
pub(super) struct Mail {
    /// Its own id.
    pub id: Option<String>,
    /// Its author's name, else address.
    pub author: String,
    /// When it was sent, and whether that was concluded.
    pub at: Option<(Timestamp, bool)>,
    /// The id it answers.
    pub reply_to: Option<String>,
    /// Its subject without `Re:` and the like.
    pub topic: Option<String>,
    /// Its words.
    pub text: String,
    /// Characters replaced.
    pub n_replaced: u64,
    /// What else it says.
    pub metadata: BTreeMap<String, String>,
}

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static CLOCK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(\d{1,2}:\d{2})(:\d{2})?\s*(\(?[A-Za-z+-].*)?\s*$").unwrap());

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static BLOCK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)<(?:div|li|tr|table|ul|ol|h[1-6]|blockquote|pre|hr|p)\b|</(?:div|h[1-6]|table)\s*>").unwrap()
});

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static BLANKS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[ \t]*\n[ \t\n]*\n[ \t]*|[ \t]*\n[ \t]*").unwrap());

/// The ids that a header names: the one that began the thread first, its own last.
pub(super) fn ids(header: &[u8]) -> Vec<String> {
    let parser = MessageParser::new().with_message_ids().default_header_ignore();
    let Some(message) = parser.parse_headers(header) else { return Vec::new() };
    let mut ids = named(message.references());
    if ids.is_empty() {
        ids.extend(named(message.in_reply_to()).into_iter().take(1));
    }
    ids.extend(own_id(&message));
    ids
}

/// Reads a mail; `None` where it is none: no field that says whose it is and no words.
pub(super) fn mail(bytes: &[u8]) -> Option<Mail> {
    let message = MessageParser::default().parse(bytes)?;
    let mut mail = Mail::default();
    let (text, attachments) = body(&message, &mut mail.n_replaced);
    mail.text = text;
    let sender = message.from().or_else(|| message.sender());
    mail.author = sender.and_then(first_name).unwrap_or_default();
    mail.id = own_id(&message);
    let sent = sent(&message);
    mail.at = moment(&message, sent.as_ref());
    mail.reply_to = named(message.in_reply_to()).into_iter().next().or_else(|| named(message.references()).pop());
    mail.reply_to = mail.reply_to.take().filter(|id| mail.id.as_ref() != Some(id));
    let subject = message.subject().map(str::trim).filter(|subject| !subject.is_empty());
    mail.topic = message.thread_name().map(str::trim).filter(|topic| !topic.is_empty()).or(subject).map(str::to_owned);
    let is_any = sender.is_some() || subject.is_some() || mail.id.is_some() || sent.is_some();
    if !is_any && mail.text.trim().is_empty() && attachments.is_empty() {
        return None;
    }
    let found = marks(&mail.text);
    let mut note = |name: &str, value: String| {
        if !value.is_empty() {
            let value = clean(&value, &mut mail.n_replaced).into_owned();
            mail.metadata.insert(name.to_owned(), value);
        }
    };
    note("subject", subject.unwrap_or_default().to_owned());
    note("from", sender.map(people).unwrap_or_default());
    note("to", message.to().map(people).unwrap_or_default());
    note("cc", message.cc().map(people).unwrap_or_default());
    note("zone", sent.map(|(date, _)| zone(&date)).unwrap_or_default());
    note("labels", labels(&message));
    note("attachments", attachments.join("\n"));
    note("quoted", written(&found.quoted));
    note("signature", written(found.signature.as_slice()));
    Some(mail)
}

/// A mail's words, and the names of what is attached.
fn body(message: &Message<'_>, n_replaced: &mut u64) -> (String, Vec<String>) {
    let mut attached: BTreeSet<u32> = message.attachments.iter().copied().collect();
    let mut texts: Vec<String> = Vec::new();
    for id in &message.text_body {
        match message.part(*id).map(|part| &part.body) {
            Some(PartType::Text(text)) => texts.push(text.to_string()),
            Some(PartType::Html(html)) => texts.push(from_html(html)),
            _ => _ = attached.insert(*id),
        }
    }
    if texts.iter().all(|text| text.trim().is_empty()) {
        let html = message.html_bodies().filter_map(|part| match &part.body {
            PartType::Html(html) => Some(from_html(html)),
            _ => None,
        });
        texts.extend(html);
    }
    let lost = message.text_bodies().filter(|part| part.is_encoding_problem).filter_map(|part| part.text_contents());
    *n_replaced += lost.map(|text| text.matches('\u{fffd}').count() as u64).sum::<u64>();
    let texts: Vec<String> = texts.iter().map(|text| plain(text)).filter(|text| !text.is_empty()).collect();
    let text = clean(&texts.join("\n"), n_replaced).into_owned();
    let names = attached.into_iter().filter_map(|id| {
        let part = message.part(id)?;
        let kind = || {
            let kind = part.content_type()?;
            Some(
                kind.c_subtype.as_ref().map_or_else(|| kind.c_type.to_string(), |sub| format!("{}/{sub}", kind.c_type)),
            )
        };
        let name = part.attachment_name().map(|name| name.replace(['\r', '\n'], " "));
        let name = name.filter(|name| !name.trim().is_empty());
        let kind = kind().unwrap_or_else(|| "text/plain".to_owned());
        let n_bytes = part.contents().len();
        Some(name.map_or_else(|| format!("{kind}, {n_bytes} bytes"), |name| format!("{name}, {kind}, {n_bytes} bytes")))
    });
    (text, names.collect())
}

/// A text with plain line ends and none behind its last line.
fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").trim_end_matches(['\r', '\n']).to_owned()
}

/// What a page says: blocks on lines of their own.
fn from_html(html: &str) -> String {
    let broken = BLOCK.replace_all(html, "<br>$0").replace("</td>", "</td> ");
    let text = html_to_text(&broken);
    let text = BLANKS.replace_all(
        &text,
        |found: &regex::Captures<'_>| {
            if found[0].matches('\n').count() > 1 { "\n\n" } else { "\n" }
        },
    );
    text.trim().to_owned()
}

/// The folders that Gmail says a mail lies in, a line each.
fn labels(message: &Message<'_>) -> String {
    let labels =
        message.header(HeaderName::Other("X-Gmail-Labels".into())).and_then(HeaderValue::as_text).unwrap_or_default();
    let labels: BTreeSet<&str> = labels.split(',').map(str::trim).filter(|label| !label.is_empty()).collect();
    labels.into_iter().collect::<Vec<_>>().join("\n")
}

fn own_id(message: &Message<'_>) -> Option<String> {
    message.message_id().map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned)
}

/// The ids that a field names.
fn named(value: &HeaderValue<'_>) -> Vec<String> {
    let ids: Vec<&str> = match value {
        HeaderValue::Text(id) => vec![id],
        HeaderValue::TextList(ids) => ids.iter().map(AsRef::as_ref).collect(),
        _ => Vec::new(),
    };
    ids.into_iter().map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned).collect()
}

/// When it was sent, and whether its time zone was given.
fn sent(message: &Message<'_>) -> Option<(DateTime, bool)> {
    let raw = message.header_raw(HeaderName::Date).unwrap_or_default().trim_end();
    let zone = CLOCK.captures(raw).and_then(|found| Some(found.get(3)?.as_str()));
    let date = message.date().filter(|date| date.is_valid()).copied().or_else(|| {
        // Seconds or the zone may be missing, which the parser needs.
        let found = CLOCK.captures(raw)?;
        let seconds = found.get(2).map_or(":00", |found| found.as_str());
        let date = format!("{}{}{seconds} {}\n", &raw[..found.get(0)?.start()], &found[1], zone.unwrap_or("+0000"));
        DateTime::parse_rfc822(&date).filter(DateTime::is_valid)
    })?;
    Some((date, zone.is_some()))
}

/// When it was sent, else when it was received here; whether that, or the time zone, was concluded.
fn moment(message: &Message<'_>, sent: Option<&(DateTime, bool)>) -> Option<(Timestamp, bool)> {
    let (date, is_inferred) = match sent {
        Some((date, is_zoned)) => (*date, !is_zoned),
        None => (message.received().and_then(|received| received.date()).filter(DateTime::is_valid)?, true),
    };
    Some((seconds(date.to_timestamp() as f64)?, is_inferred))
}

/// The sender's offset from UTC, where it has one.
fn zone(date: &DateTime) -> String {
    if (date.tz_hour, date.tz_minute) == (0, 0) {
        return String::new();
    }
    format!("{}{:02}:{:02}", if date.tz_before_gmt { '-' } else { '+' }, date.tz_hour, date.tz_minute)
}

/// The name of the first of some people, else the address.
fn first_name(people: &Address<'_>) -> Option<String> {
    let name = |name: Option<&str>| name.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
    people.iter().find_map(|one| name(one.name()).or_else(|| name(one.address())))
}

/// People as mails write them: `Ana <ana@example.org>, bo@example.org`.
fn people(people: &Address<'_>) -> String {
    let one = people.iter().filter_map(|one| match (one.name(), one.address()) {
        (Some(name), Some(address)) => Some(format!("{name} <{address}>")),
        (name, address) => name.or(address).map(str::to_owned),
    });
    one.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_lines() {
        let html = "<html><head><title>no</title></head><body><p>A&amp;B</p>c<div>d</div>e<br/>f<ul><li>g<li>h</ul>\
                    <table><tr><td>1</td><td>2</td></tr></table></body></html>";
        assert_eq!(from_html(html), "A&B\nc\nd\ne\nf\n\ng\nh\n\n1 2");
    }

    #[test]
    fn a_time_without_a_zone_is_concluded() {
        let at = |date: &str| mail(format!("From: a\nDate: {date}\n\nhi\n").as_bytes()).unwrap().at;
        let (given, is_inferred) = at("Mon, 1 Jun 2026 10:00:00 -0230").unwrap();
        assert_eq!((given.to_string().as_str(), is_inferred), ("2026-06-01T12:30:00Z", false));
        assert!(!at("1 Jun 2026 10:00 GMT").unwrap().1);
        assert!(at("1 Jun 2026 10:00").unwrap().1);
        assert_eq!(at("soon"), None);
    }

    #[test]
    fn ids_begin_with_the_thread() {
        let header = b"Message-ID: <c@x>\nIn-Reply-To: <b@x>\nReferences: <a@x>\n <b@x>\n\n";
        assert_eq!(ids(header), ["a@x", "b@x", "c@x"]);
        assert_eq!(ids(b"In-Reply-To: <b@x> (Ana's of Monday)\n\n"), ["b@x"]);
        assert_eq!(ids(b"Subject: hi\n\n"), Vec::<String>::new());
        assert!(mail(b"\n\n").is_none());
    }
}
