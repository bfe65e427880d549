//! Finds what in a mail's text are not its author's words: what it quotes, and its signature.
//!
//! Knows lines alone. Quoted are lines behind `>`, the line that says whose they are, and all below the
//! mark of a forwarded or answered mail. A signature begins at a line `-- `.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// What is not the author's, as bytes of the text, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// What is quoted.
    pub quoted: Vec<Range<usize>>,
    /// The signature.
    pub signature: Option<Range<usize>>,
}

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static ATTRIBUTION: LazyLock<Regex> = LazyLock::new(|| {
    let words = "wrote|writes|schrieb|a écrit|escribió|ha scritto|schreef|skrev|escreveu|napisał(?:a|\\(a\\))?";
    Regex::new(&format!(r"(?s)\A\s*\S.*\b(?:{words})\b.{{0,200}}:\s*\z")).unwrap()
});

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static BELOW: LazyLock<Regex> = LazyLock::new(|| {
    let words = "original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht|\
                 message d'origine|message transféré|mensaje original|mensaje reenviado|messaggio originale";
    Regex::new(&format!(r"(?i)^\s*-{{2,}}\s*(?:{words})\b.*-{{2,}}\s*$")).unwrap()
});

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static HEAD_LINES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A(?:From|Von|De|Da):\s.*\n(?:.*\n)?(?:Sent|Date|Gesendet|Envoyé|Enviado|Inviato):\s").unwrap()
});

/// Finds what is quoted in `text` and its signature.
pub(super) fn marks(text: &str) -> Marks {
    let lines = lines(text);
    let mut marks = Marks::default();
    let end_own = lines.iter().position(|line| is_below(text, line)).unwrap_or(lines.len());
    let mut idx = 0;
    while idx < end_own {
        if !text[lines[idx].clone()].starts_with('>') {
            idx += 1;
            continue;
        }
        let first = attribution(text, &lines, idx);
        while idx < end_own && text[lines[idx].clone()].starts_with('>') {
            idx += 1;
        }
        marks.quoted.push(lines[first].start..lines[idx - 1].end);
    }
    if let Some(line) = lines.get(end_own) {
        marks.quoted.push(line.start..text.len());
    }
    marks.signature = signature(text, &lines[..end_own], &marks.quoted);
    marks
}

/// Ranges as metadata hold them: `0..12,40..90`.
pub(super) fn written(ranges: &[Range<usize>]) -> String {
    let all: Vec<String> = ranges.iter().map(|range| format!("{}..{}", range.start, range.end)).collect();
    all.join(",")
}

/// The lines of `text`, each with its end.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let ranges = text.split_inclusive('\n').map(|line| {
        start += line.len();
        start - line.len()..start
    });
    ranges.collect()
}

/// Whether all from this line on is another mail.
fn is_below(text: &str, line: &Range<usize>) -> bool {
    let this = &text[line.clone()];
    match this.as_bytes().first() {
        Some(b'-' | b' ' | b'\t') => BELOW.is_match(this),
        Some(b'F' | b'V' | b'D') => HEAD_LINES.is_match(&text[line.start..]),
        _ => false,
    }
}

/// The line that says whose words are quoted from `idx` on, which may be broken in two, or `idx`.
fn attribution(text: &str, lines: &[Range<usize>], idx: usize) -> usize {
    let is_blank = |idx: usize| text[lines[idx].clone()].trim().is_empty();
    let Some(mut last) = idx.checked_sub(1) else { return idx };
    if is_blank(last) {
        let Some(above) = last.checked_sub(1) else { return idx };
        last = above;
    }
    let says = |first: usize| ATTRIBUTION.is_match(&text[lines[first].start..lines[last].end]);
    if says(last) {
        return last;
    }
    match last.checked_sub(1) {
        Some(first) if !is_blank(first) && !text[lines[first].clone()].starts_with('>') && says(first) => first,
        _ => idx,
    }
}

/// The signature: from the last line `-- ` of one's own to what is quoted next, or to the end.
fn signature(text: &str, own: &[Range<usize>], quoted: &[Range<usize>]) -> Option<Range<usize>> {
    let is_mark = |line: &&Range<usize>| matches!(text[(*line).clone()].trim_end_matches('\n'), "-- " | "--");
    let start = own.iter().rev().find(is_mark)?.start;
    let end = quoted.iter().map(|range| range.start).find(|at| *at > start);
    let end = end.unwrap_or_else(|| own.last().map_or(text.len(), |line| line.end));
    Some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> (Vec<&str>, Option<&str>) {
        let Marks { quoted, signature } = marks(text);
        (quoted.into_iter().map(|range| &text[range]).collect(), signature.map(|range| &text[range]))
    }

    #[test]
    fn quoted_lines_go_with_the_line_that_says_whose_they_are() {
        let text = "Yes.\n\nOn Mon, Ana <a@example.org>\nwrote:\n> Tea?\n>\n> Now?\nGladly.\n> Else?\n";
        let quoted = vec!["On Mon, Ana <a@example.org>\nwrote:\n> Tea?\n>\n> Now?\n", "> Else?\n"];
        assert_eq!(cut(text), (quoted, None));
        assert_eq!(cut("Am 1. Mai schrieb Ana:\n\n> Tee?").0, ["Am 1. Mai schrieb Ana:\n\n> Tee?"]);
        assert_eq!(cut("I said:\nnothing > all\n"), (vec![], None));
    }

    #[test]
    fn all_below_another_mails_head_is_quoted() {
        let text = "Fine.\n-- \nBo\n\n-----Original Message-----\nFrom: Ana\nTea?\n";
        assert_eq!(cut(text), (vec!["-----Original Message-----\nFrom: Ana\nTea?\n"], Some("-- \nBo\n\n")));
        assert_eq!(
            cut("Fine.\nFrom: Ana\nSent: Monday\nTo: Bo\n\nTea?").0,
            ["From: Ana\nSent: Monday\nTo: Bo\n\nTea?"]
        );
        assert_eq!(cut("From: here on\nit is mine\n").0, Vec::<&str>::new());
    }

    #[test]
    fn a_signature_ends_where_a_quote_begins() {
        assert_eq!(cut("Hi\n-- \nBo\n> Tea?\n"), (vec!["> Tea?\n"], Some("-- \nBo\n")));
        assert_eq!(cut("Hi\n--- \nBo"), (vec![], None));
        assert_eq!(written(&[0..2, 5..9]), "0..2,5..9");
    }
}
