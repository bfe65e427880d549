//! Answers on the terminal: a table for people, one JSON value a line for programs.
//!
//! Results go to stdout, all else to stderr. Every answer comes as the wire's message, so that
//! `--store` and `--server` print the same. Remembered text is made harmless before a terminal sees it.

pub mod hit;
pub mod import;
pub mod progress;
pub mod source;

use std::io::{self, IsTerminal, StdoutLock, Write};

use index::model::Timestamp;
use prost_types::Timestamp as WireTime;
use serde_json::Value;

/// Where results go and how they look.
pub struct Out {
    json: bool,
    colour: bool,
    stdout: StdoutLock<'static>,
}

impl Out {
    /// Results to stdout: as JSON where asked for, with colours only on a terminal and without `NO_COLOR`.
    pub fn new(json: bool) -> Self {
        let stdout = io::stdout().lock();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { json, colour: !json && !plain && stdout.is_terminal(), stdout }
    }

    /// Whether results are JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Writes one JSON value on one line.
    ///
    /// # Errors
    /// When stdout is gone.
    pub fn value(&mut self, value: &Value) -> io::Result<()> {
        writeln!(self.stdout, "{value}")
    }

    /// Writes one line for people.
    ///
    /// # Errors
    /// When stdout is gone.
    pub fn line(&mut self, line: impl AsRef<str>) -> io::Result<()> {
        writeln!(self.stdout, "{}", line.as_ref())
    }

    /// Writes bytes as they are.
    ///
    /// # Errors
    /// When stdout is gone.
    pub fn raw(&mut self) -> &mut dyn Write {
        &mut self.stdout
    }

    /// `text` in bold.
    pub fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    /// `text` in a fainter colour.
    pub fn faint(&self, text: &str) -> String {
        self.paint("2", text)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Ends the output: what is still buffered is written.
impl Drop for Out {
    fn drop(&mut self) {
        // A reader that went away has seen what it wanted.
        let _ = self.stdout.flush();
    }
}

/// `text` on one line that cannot steer a terminal: white space folded, control and direction
/// characters shown as `�`.
pub fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().map(|c| if is_steering(c) { '\u{fffd}' } else { c }));
    }
    out
}

/// As [`harmless`], with line breaks kept.
pub fn harmless_lines(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c,
        c if is_steering(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The first `chars_max` characters of `text` on one line, with an ellipsis where it goes on.
pub fn snippet(text: &str, chars_max: usize) -> String {
    let line = harmless(text);
    match line.char_indices().nth(chars_max) {
        None => line,
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
    }
}

/// A wire time as RFC 3339.
pub fn rfc3339(at: &WireTime) -> String {
    let micros = at.seconds.saturating_mul(1_000_000).saturating_add(i64::from(at.nanos) / 1_000);
    Timestamp::from_micros(micros).to_string()
}

/// A wire time as people read it: `2024-05-14 10:00`.
pub fn minutes(at: &WireTime) -> String {
    let text = rfc3339(at);
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_text_cannot_steer_a_terminal() {
        assert_eq!(harmless("a\u{1b}[2J\n b\u{202e}c"), "a\u{fffd}[2J b\u{fffd}c");
        assert_eq!(harmless_lines("a\n\u{7}b"), "a\n\u{fffd}b");
    }

    #[test]
    fn snippets_end_on_a_character() {
        assert_eq!(snippet("größer als", 3), "grö…");
        assert_eq!(snippet("kurz", 10), "kurz");
    }

    #[test]
    fn times_are_read_by_people_and_programs() {
        let at = WireTime { seconds: 1_709_287_200, nanos: 0 };
        assert_eq!(rfc3339(&at), "2024-03-01T10:00:00Z");
        assert_eq!(minutes(&at), "2024-03-01 10:00");
    }
}
