//! Finds the mails in an mbox file, line by line.
//!
//! A mail begins behind a line `From sender date` that is followed by a header field; other lines that
//! begin with `From ` are words. Where `Content-Length` leads exactly to the next such line or to the
//! end, it is believed over what stands between. `>From ` loses one `>`, unless a mail so measured
//! holds lines that were not escaped (mboxcl2).
//!
//! Format: RFC 4155, and the mboxo, mboxrd, mboxcl and mboxcl2 of older programs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::LazyLock;

use regex::bytes::Regex;

/// A header has at most so many bytes that are looked at.
pub(super) const HEADER_BYTES_MAX: usize = 256 << 10;
/// So many bytes of a line are held at once.
const LINE_BYTES: u64 = 64 << 10;

/// Where a mail lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Its first byte, behind the line that begins it.
    pub start: u64,
    /// Behind its last byte.
    pub end: u64,
    /// Nothing in it is escaped.
    pub is_plain: bool,
}

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static ENVELOPE: LazyLock<Regex> = LazyLock::new(|| {
    let months = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec";
    let day = format!(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?:\d{{1,2}} +)?(?:{months})\b.*\d{{1,2}}:\d{{2}}");
    Regex::new(&format!(r"^From (?:.*\b{day}.*|(?:-|MAILER-DAEMON|[^ ]+@[^ ]+)?)\s*$")).unwrap()
});

/// Whether a file begins as an mbox does.
pub(super) fn is_mbox(head: &[u8]) -> bool {
    let mut lines = head.split_inclusive(|byte| *byte == b'\n');
    let is_first = lines.next().is_some_and(|line| line.starts_with(b"From ") && ENVELOPE.is_match(line));
    is_first && lines.next().is_some_and(is_field)
}

/// Whether a line is a field of a header.
pub(super) fn is_field(line: &[u8]) -> bool {
    let name = line.iter().position(|byte| *byte == b':').unwrap_or(0);
    name > 0 && line[..name].iter().all(|byte| (33..127).contains(byte))
}

/// Whether a line has nothing on it.
pub(super) fn is_blank(line: &[u8]) -> bool {
    matches!(line, b"\n" | b"\r\n")
}

/// Takes the escapes of a mail off its lines.
pub(super) fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let n_marks = line.iter().take_while(|byte| **byte == b'>').count();
        let is_escaped = n_marks > 0 && line[n_marks..].starts_with(b"From ");
        out.extend_from_slice(&line[usize::from(is_escaped)..]);
    }
    out
}

/// Finds the mails of `file` and hands on each with its header; the bytes before the first.
///
/// # Errors
/// The disk's.
pub(super) fn split(file: File, found: &mut dyn FnMut(Stretch, &[u8])) -> io::Result<u64> {
    let peek = file.try_clone()?;
    let n_bytes = file.metadata()?.len();
    let mut scan = Scan { peek, n_bytes, open: None, candidate: None, blank: 0, n_before: None };
    // The two handles share one place to read: the reader says each time where it is.
    let mut lines = BufReader::with_capacity(1 << 20, At { file, at: 0 });
    let mut line = Vec::new();
    let (mut at, mut is_start) = (0_u64, true);
    loop {
        line.clear();
        let n = (&mut lines).take(LINE_BYTES).read_until(b'\n', &mut line)? as u64;
        if n == 0 {
            break;
        }
        scan.line(at, &line, is_start, found)?;
        is_start = line.ends_with(b"\n");
        at += n;
    }
    scan.close(at, found);
    Ok(scan.n_before.unwrap_or(at))
}

/// A file that is read from a place of its own.
struct At {
    file: File,
    at: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.seek(SeekFrom::Start(self.at))?;
        let n = self.file.read(buffer)?;
        self.at += n as u64;
        Ok(n)
    }
}

/// A mail whose end is not yet found.
struct Open {
    stretch: Stretch,
    header: Vec<u8>,
    in_header: bool,
    /// Up to here `Content-Length` is believed.
    measured: u64,
}

struct Scan {
    peek: File,
    n_bytes: u64,
    open: Option<Open>,
    /// A line that may begin a mail: where it is, and where what is before it ends.
    candidate: Option<(u64, u64)>,
    /// The bytes of the blank line before this one, 0 where it was none.
    blank: u64,
    n_before: Option<u64>,
}

impl Scan {
    fn line(&mut self, at: u64, line: &[u8], is_start: bool, found: &mut dyn FnMut(Stretch, &[u8])) -> io::Result<()> {
        if let Some((from, end)) = self.candidate.take()
            && is_field(line)
        {
            self.n_before.get_or_insert(from);
            self.close_at(end, found);
            let stretch = Stretch { start: at, end: at, is_plain: false };
            self.open = Some(Open { stretch, header: Vec::new(), in_header: true, measured: 0 });
        }
        let is_from = is_start && line.starts_with(b"From ");
        if is_from && self.open.as_ref().is_some_and(|open| at < open.measured) {
            self.open.iter_mut().for_each(|open| open.stretch.is_plain = true);
        } else if is_from && ENVELOPE.is_match(line) {
            self.candidate = Some((at, at - self.blank));
        } else if is_start && is_blank(line) {
            self.end_header(at + line.len() as u64)?;
        } else if let Some(open) = self.open.as_mut().filter(|open| open.in_header) {
            let room = HEADER_BYTES_MAX.saturating_sub(open.header.len());
            open.header.extend_from_slice(&line[..line.len().min(room)]);
        }
        self.blank = if is_start && is_blank(line) { line.len() as u64 } else { 0 };
        Ok(())
    }

    /// The header is at its end; `at` is where the body begins.
    fn end_header(&mut self, at: u64) -> io::Result<()> {
        let Some(open) = self.open.as_mut().filter(|open| open.in_header) else { return Ok(()) };
        open.in_header = false;
        let Some(end) = content_length(&open.header).and_then(|n| at.checked_add(n)) else { return Ok(()) };
        if end > self.n_bytes {
            return Ok(());
        }
        let mut next = Vec::new();
        self.peek.seek(SeekFrom::Start(end))?;
        (&self.peek).take(1024).read_to_end(&mut next)?;
        let n_ends = next.iter().take(4).take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let next = next[n_ends..].split(|byte| *byte == b'\n').next().unwrap_or_default();
        if next.is_empty() || (next.starts_with(b"From ") && ENVELOPE.is_match(next)) {
            open.measured = end;
        }
        Ok(())
    }

    /// The file is at its end.
    fn close(&mut self, at: u64, found: &mut dyn FnMut(Stretch, &[u8])) {
        self.close_at(at - self.blank, found);
    }

    fn close_at(&mut self, end: u64, found: &mut dyn FnMut(Stretch, &[u8])) {
        if let Some(open) = self.open.take() {
            let end = end.max(open.stretch.start).max(open.measured);
            found(Stretch { end, ..open.stretch }, &open.header);
        }
    }
}

fn content_length(header: &[u8]) -> Option<u64> {
    let line = header
        .split(|byte| *byte == b'\n')
        .find(|line| line.len() > 15 && line[..15].eq_ignore_ascii_case(b"content-length:"))?;
    std::str::from_utf8(&line[15..]).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn mails(text: &str) -> (Vec<String>, u64) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let mut found = Vec::new();
        let n_before = split(file, &mut |stretch, _| found.push(stretch)).unwrap();
        let mails = found.iter().map(|stretch| {
            let mail = &text[stretch.start as usize..stretch.end as usize];
            if stretch.is_plain { mail.to_owned() } else { String::from_utf8(unescape(mail.as_bytes())).unwrap() }
        });
        (mails.collect(), n_before)
    }

    const FROM: &str = "From a@example.org Mon Jun  1 10:00:00 2026\n";

    #[test]
    fn lines_that_only_look_like_a_beginning_are_words() {
        let first = "A: 1\n\nFrom what I know\nFrom: here\nFrom Mon Jun 1 10:00 2026 on\nit is\n";
        let text = format!("{FROM}{first}\n{FROM}A: 2\n\n>From me\n>>From us\n");
        assert_eq!(mails(&text), (vec![first.to_owned(), "A: 2\n\nFrom me\n>From us\n".to_owned()], 0));
    }

    #[test]
    fn senders_are_written_in_many_ways() {
        let froms = [
            "From 1799@xxx Mon Jun 01 10:00:00 +0000 2026\n",
            "From - Mon Jun  1 10:00:00 2026\n",
            "From ana at example.org  Mon Jun  1 10:00:00 2026\r\n",
            "From MAILER-DAEMON Mon, 01 Jun 2026 10:00:00 +0000\n",
            "From a@example.org\n",
            "From - \n",
        ];
        let text: String = froms.iter().map(|from| format!("{from}A: 1\n\nhi\n\n")).collect();
        assert_eq!(mails(&text), (vec!["A: 1\n\nhi\n".to_owned(); froms.len()], 0));
    }

    #[test]
    fn a_length_is_believed_where_it_leads_to_the_next_mail() {
        let body = format!("hi\n\n{FROM}B: 1\n>From x\n");
        let mail = |n: usize| format!("A: 1\nContent-Length: {n}\n\n{body}");
        let text = |n: usize| format!("{FROM}{}\n{FROM}A: 2\n\nho\n", mail(n));
        let n = body.len();
        assert_eq!(mails(&text(n)).0, [mail(n), "A: 2\n\nho\n".to_owned()]);
        assert_eq!(mails(&text(n - 5)).0.len(), 3);
    }

    #[test]
    fn words_that_begin_like_a_mail_are_kept_in_every_flavour() {
        // Report 14 and its siblings: unescaped, escaped once and twice, in a quoted part, without a blank line
        // before the next mail; each with both line ends.
        let bodies = [
            ("From the harbour we sailed.\n", "From the harbour we sailed.\n"),
            ("hi\n\nFrom here on it is calm.\nNo field.\n", "hi\n\nFrom here on it is calm.\nNo field.\n"),
            (">From me\n>>From us\n> From them\n", "From me\n>From us\n> From them\n"),
            (
                "--b\n\n> From a@example.org Mon Jun  1 10:00:00 2026\n--b--\n",
                "--b\n\n> From a@example.org Mon Jun  1 10:00:00 2026\n--b--\n",
            ),
            (
                "From a@example.org Mon Jun  1 10:00:00 2026\nis how a box begins.\n",
                "From a@example.org Mon Jun  1 10:00:00 2026\nis how a box begins.\n",
            ),
        ];
        for (body, expected) in bodies {
            for blank in ["", "\n"] {
                let text = format!("{FROM}A: 1\n\n{body}{blank}{FROM}A: 2\n\nho\n");
                let parts = [format!("A: 1\n\n{expected}"), "A: 2\n\nho\n".to_owned()];
                assert_eq!(mails(&text), (parts.to_vec(), 0));
                let parts = parts.map(|part| part.replace('\n', "\r\n"));
                assert_eq!(mails(&text.replace('\n', "\r\n")), (parts.to_vec(), 0));
            }
        }
    }

    #[test]
    fn what_stands_before_the_first_mail_is_counted() {
        assert_eq!(mails(&format!("words\n{FROM}A: 1\n\nhi\n")), (vec!["A: 1\n\nhi\n".to_owned()], 6));
        assert_eq!(mails("words\n"), (vec![], 6));
    }
}
