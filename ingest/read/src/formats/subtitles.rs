//! Reads subtitles and captions: WebVTT, SubRip (`.srt`) and SubViewer (`.sbv`).
//!
//! A cue is cut to fit a screen, so cues are joined to passages: a turn runs on until another voice speaks, nobody
//! does for a while, or it is long enough and a sentence ends. A turn's id is when it begins, so that a corrected
//! text replaces the one it corrects. `<v Name>` names the author; markup for the eye is left out.
//!
//! Format: WebVTT, W3C, sections 4 and 6; the other two as players read them.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use regex::Regex;

use super::said::{Conversation, Said};
use super::{Emit, Event, Head, Input, Reader, extension, file_name, role_named, whole};
use crate::decode::Trouble;
use crate::seam::Result;

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static TIMES: LazyLock<Regex> = LazyLock::new(|| {
    let time = r"((?:\d{1,4}:)?\d{1,2}:\d{1,2}(?:[.,]\d{1,6})?)";
    Regex::new(&format!(r"^\s*{time}(?:\s*-->\s*|,){time}(?:\s|$)")).unwrap()
});
#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static MARKUP: LazyLock<Regex> = LazyLock::new(|| {
    let voice = r"<v(?:\.[^\s<>]*)?\s+(?<voice>[^<>]+)>|(?<end></v>)";
    let look = r"</?(?:b|i|u|s|c|v|lang|ruby|rt|font)(?:[.\s=][^<>]*)?>|<[\d:.]+>|\{\\[^{}]*\}";
    Regex::new(&format!("(?i){voice}|{look}")).unwrap()
});

/// After a pause of so many milliseconds another passage begins.
const PAUSE_MS: u64 = 5000;
/// A passage with so many bytes ends with its sentence,
const PASSAGE_BYTES: usize = 400;
/// and with so many it ends anywhere.
const PASSAGE_BYTES_MAX: usize = 2000;
/// Cues so near to each other touch.
const TOUCH_MS: u64 = 100;

/// The reader of subtitles.
pub(super) struct Subtitles;

impl Reader for Subtitles {
    fn name(&self) -> &'static str {
        "subtitles"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let is_named = matches!(extension(head.name).as_str(), "vtt" | "srt" | "sbv");
        let text = String::from_utf8_lossy(head.bytes);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if is_webvtt(text) {
            return 95;
        }
        // SubRip in a file of another name: a number, then times.
        let mut lines = text.lines();
        let begins = lines.next().is_some_and(is_number) && lines.next().is_some_and(|line| TIMES.is_match(line));
        match (is_named, begins) {
            (true, _) => 90,
            (false, true) => 85,
            (false, false) => 0,
        }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let decoded = match whole(input) {
            Ok(decoded) => decoded,
            Err(trouble) => return emit(Event::Trouble(trouble)),
        };
        let file = cues(&decoded.text);
        if file.cues.is_empty() {
            return emit(Event::Trouble(Trouble::new(
                "line 1",
                "no cue with its times and a text",
                "import it as text with --format text",
            )));
        }
        let mut chat = passages(file);
        chat.title.get_or_insert_with(|| file_name(input.name).to_owned());
        chat.n_replaced += decoded.n_replaced;
        chat.metadata.extend(decoded.metadata());
        chat.remarks.extend(decoded.remarks());
        emit(chat.finish(file_name(input.name), input.source_bytes_max))
    }
}

fn is_webvtt(text: &str) -> bool {
    text.strip_prefix("WEBVTT").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']))
}

fn is_number(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
}

/// What a file says of itself, and its cues.
#[derive(Debug, Default)]
struct File {
    title: Option<String>,
    language: Option<String>,
    cues: Vec<Cue>,
}

/// One cue: its lines with who says each.
#[derive(Debug)]
struct Cue {
    start_ms: u64,
    end_ms: u64,
    lines: Vec<(String, String)>,
}

/// The cues of a file, in its order; those without a text are left out.
///
/// Text that has lost its times belongs to the cue before it.
fn cues(text: &str) -> File {
    let is_webvtt = is_webvtt(text.trim_start());
    let mut file = File::default();
    let lines: Vec<&str> = text.trim_start().lines().map(str::trim).collect();
    for (idx, block) in lines.split(|line| line.is_empty()).filter(|block| !block.is_empty()).enumerate() {
        if is_webvtt && idx == 0 {
            header(block, &mut file);
        }
        let first = block.iter().position(|line| TIMES.is_match(line));
        let first_word = block[0].split_whitespace().next().unwrap_or_default();
        let is_note = is_webvtt && (idx == 0 || matches!(first_word, "NOTE" | "STYLE" | "REGION"));
        let mut rest = match first {
            Some(first) => &block[first..],
            None if is_note => continue,
            None => block,
        };
        if first.is_none() && is_number(block[0]) {
            rest = &block[1..];
        }
        while !rest.is_empty() {
            let times = times(rest[0]);
            rest = if times.is_some() { &rest[1..] } else { rest };
            let n = rest.iter().position(|line| TIMES.is_match(line)).unwrap_or(rest.len());
            // Where the blank line between two cues is lost, a number is the second one's.
            let is_numbered = n > 0 && n < rest.len() && is_number(rest[n - 1]);
            let body = spoken(&rest[..n - usize::from(is_numbered)], is_webvtt);
            rest = &rest[n..];
            match (times, file.cues.last_mut()) {
                (Some((start_ms, end_ms)), _) => file.cues.push(Cue { start_ms, end_ms, lines: body }),
                (None, Some(cue)) => cue.lines.extend(body),
                (None, None) => {}
            }
        }
    }
    file.cues.retain(|cue| !cue.lines.is_empty());
    file
}

/// The title and the language that a WebVTT file's first lines give.
fn header(block: &[&str], file: &mut File) {
    let title = block[0].trim_start_matches("WEBVTT").trim_start_matches([' ', '\t', '-', ':']).trim_end();
    file.title = (!title.is_empty()).then(|| title.to_owned());
    let language = block.iter().find_map(|line| line.strip_prefix("Language:"));
    file.language = language.map(|language| language.trim().to_owned()).filter(|language| !language.is_empty());
}

fn times(line: &str) -> Option<(u64, u64)> {
    let found = TIMES.captures(line)?;
    Some((milliseconds(found.get(1)?.as_str())?, milliseconds(found.get(2)?.as_str())?))
}

/// `1:02:03.5`, `02:03,500` as milliseconds.
fn milliseconds(time: &str) -> Option<u64> {
    let (whole, part) = time.split_once(['.', ',']).unwrap_or((time, ""));
    let seconds = whole.split(':').try_fold(0_u64, |sum, part| Some(sum * 60 + part.parse::<u64>().ok()?))?;
    let part: u64 = format!("{part:0<3}").get(..3)?.parse().ok()?;
    Some(seconds * 1000 + part)
}

/// The lines of a cue without markup, each with its voice.
fn spoken(lines: &[&str], is_webvtt: bool) -> Vec<(String, String)> {
    let mut spoken = Vec::new();
    let mut voice = String::new();
    // Times that cannot be read are no words.
    for line in lines.iter().filter(|line| !line.contains("-->")) {
        let mut at = 0;
        let mut words = String::new();
        let mut close = |words: &mut String, voice: &str| {
            let words = std::mem::take(words);
            let words = if is_webvtt { unescaped(&words) } else { words };
            let words: Vec<&str> = words.split_whitespace().collect();
            if !words.is_empty() {
                spoken.push((voice.to_owned(), words.join(" ")));
            }
        };
        for found in MARKUP.captures_iter(line) {
            let Some(tag) = found.get(0) else { continue };
            words.push_str(&line[at..tag.start()]);
            at = tag.end();
            if let Some(name) = found.name("voice") {
                close(&mut words, &voice);
                voice = unescaped(name.as_str().trim());
            } else if found.name("end").is_some() {
                close(&mut words, &voice);
                voice.clear();
            }
        }
        words.push_str(&line[at..]);
        close(&mut words, &voice);
    }
    spoken
}

/// Writes out what WebVTT escapes.
fn unescaped(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", "\u{a0}"), ("&lrm;", "\u{200e}"), ("&rlm;", "\u{200f}")];
    let text = marks.iter().fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain));
    text.replace("&amp;", "&")
}

/// Takes off each cue the lines that it repeats from the one before it, where the file rolls: captions made while
/// someone speaks show every line twice.
fn unroll(cues: &mut [Cue]) {
    let repeated: Vec<usize> = cues.windows(2).map(|pair| n_repeated(&pair[0], &pair[1])).collect();
    let n = repeated.iter().filter(|n| **n > 0).count();
    // A refrain repeats itself now and then; captions that roll do it all the time.
    if n >= 3 && n * 3 >= cues.len() {
        for (cue, n) in cues.iter_mut().skip(1).zip(repeated) {
            cue.lines.drain(..n);
        }
    }
}

fn n_repeated(before: &Cue, cue: &Cue) -> usize {
    if cue.start_ms > before.end_ms + TOUCH_MS {
        return 0;
    }
    let longest = before.lines.len().min(cue.lines.len()).min(4);
    (1..=longest).rev().find(|n| before.lines.ends_with(&cue.lines[..*n])).unwrap_or(0)
}

/// What is being said.
#[derive(Default)]
struct Passage {
    author: String,
    start_ms: u64,
    end_ms: u64,
    text: String,
}

/// Joins cues to turns.
fn passages(mut file: File) -> Conversation {
    unroll(&mut file.cues);
    let mut chat = Conversation { title: file.title, ..Conversation::default() };
    chat.metadata.extend(file.language.map(|language| ("language".to_owned(), language)));
    let mut ids: HashMap<u64, u32> = HashMap::new();
    let mut open = Passage::default();
    for cue in &file.cues {
        for (author, words) in &cue.lines {
            let is_new = *author != open.author
                || cue.start_ms > open.end_ms.saturating_add(PAUSE_MS)
                || open.text.len() + words.len() > PASSAGE_BYTES_MAX
                || (open.text.len() >= PASSAGE_BYTES && ends_sentence(&open.text));
            if is_new {
                say(std::mem::take(&mut open), &mut ids, &mut chat);
                open = Passage { author: author.clone(), start_ms: cue.start_ms, ..Passage::default() };
            } else if open.text.is_empty() {
                open.start_ms = cue.start_ms;
            }
            // A dash begins what another person says.
            let joint = if words.starts_with(['-', '–', '—']) { "\n" } else { " " };
            open.text.push_str(if open.text.is_empty() { "" } else { joint });
            open.text.push_str(words);
            open.end_ms = open.end_ms.max(cue.end_ms);
        }
    }
    say(open, &mut ids, &mut chat);
    chat
}

fn ends_sentence(text: &str) -> bool {
    let text = text.trim_end_matches(['"', '\'', '”', '’', '»', ')', ']', '」', '』']);
    text.ends_with(['.', '!', '?', '…', '。', '！', '？', '؟', '।', '♪'])
}

fn say(passage: Passage, ids: &mut HashMap<u64, u32>, chat: &mut Conversation) {
    if passage.text.is_empty() {
        return;
    }
    let start = written(passage.start_ms);
    let nth = ids.entry(passage.start_ms).or_insert(0);
    *nth += 1;
    let id = if *nth == 1 { start.clone() } else { format!("{start}#{nth}") };
    let end = written(passage.end_ms);
    chat.say(Said {
        id: Some(&id),
        author: &passage.author,
        role: Some(role_named(&passage.author)),
        text: &passage.text,
        metadata: BTreeMap::from([("start".to_owned(), start), ("end".to_owned(), end)]),
        ..Said::default()
    });
}

/// Milliseconds as `01:02:03.500`.
fn written(ms: u64) -> String {
    let seconds = ms / 1000;
    format!("{:02}:{:02}:{:02}.{:03}", seconds / 3600, seconds / 60 % 60, seconds % 60, ms % 1000)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(text: &str) -> Vec<(String, String, String)> {
        let turns = passages(cues(text)).turns;
        turns.into_iter().map(|turn| (turn.id, turn.author, turn.text)).collect()
    }

    fn texts(text: &str) -> Vec<String> {
        said(text).into_iter().map(|(_, _, text)| text).collect()
    }

    #[test]
    fn a_sentence_over_two_cues_is_one_turn_until_a_pause() {
        let srt = "1\n00:00:01,000 --> 00:00:02,000\n<i>The pears\nare</i>\n\n\
                   2\n00:00:02,100 --> 00:00:03,000\nripe.\n\n\
                   3\n00:00:20,000 --> 00:00:21,000\n{\\an8}Later.";
        assert_eq!(texts(srt), ["The pears are ripe.", "Later."]);
        assert_eq!(said(srt)[1].0, "00:00:20.000");
    }

    #[test]
    fn voices_are_authors_and_notes_say_nothing() {
        let vtt = "WEBVTT - Talk\n\nNOTE by\nhand\n\n00:01.000 --> 00:02.000\n<v Ana>Salt &amp; <c.x>oil</c>?</v>\n\n\
                   id-7\n00:02.000 --> 00:03.000 align:left\n<v.loud Bo B.>Both.\nYes.";
        let expected = [("00:00:01.000", "Ana", "Salt & oil?"), ("00:00:02.000", "Bo B.", "Both. Yes.")];
        assert_eq!(said(vtt), expected.map(|(id, author, text)| (id.to_owned(), author.to_owned(), text.to_owned())));
        assert_eq!(cues(vtt).title.as_deref(), Some("Talk"));
    }

    #[test]
    fn a_text_without_times_and_one_without_a_blank_line_are_kept() {
        assert_eq!(texts("1\n00:00:01,0 --> 00:00:02,0\na\n\n2\nb\n3\n00:00:03,0 --> 00:00:04,0\nc"), ["a c"]);
        assert_eq!(texts("1\n00:00:01,0 --> 00:00:02,0\na\n\n2\nb\n\n3\n00:00:03,0 --> 00:00:04,0\nc"), ["a b c"]);
        assert_eq!(texts("1\n00:00:01,0 --> 00:00:02,0\na\n\n2\n00:x --> 00:00:03,0\nb"), ["a b"]);
        assert_eq!(texts("0:00:01.0,0:00:02.0\nso 1 < 2\n0:00:03.0,0:00:04.0\n<b>yes</b>"), ["so 1 < 2 yes"]);
    }

    #[test]
    fn captions_that_roll_are_said_once_and_a_refrain_twice() {
        let cue = |at: u32, text: &str| format!("00:00:0{at}.000 --> 00:00:0{}.000\n{text}\n\n", at + 1);
        let rolls = [cue(1, "one"), cue(2, "one\ntwo"), cue(3, "two\nthree"), cue(4, "three"), cue(5, "three\nfour")];
        assert_eq!(texts(&format!("WEBVTT\n\n{}", rolls.concat())), ["one two three four"]);
        let refrain = [cue(1, "la"), cue(2, "la"), cue(3, "lo")];
        assert_eq!(texts(&format!("WEBVTT\n\n{}", refrain.concat())), ["la la lo"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(
            is_webvtt in any::<bool>(),
            text in "(0:1:2.[0-9]{1,3} --> 9:8:7\n|<v \\PC{0,3}>|\\PC{0,9}|\n){0,20}",
        ) {
            let _ = said(&format!("{}{text}", if is_webvtt { "WEBVTT\n\n" } else { "" }));
        }
    }
}
