//! A snippet of HTML, as chat services write one into a message, to the text a reader of it sees.
//!
//! Tags go, line breaks and paragraphs become line ends, a link keeps its address beside its label, named
//! and numbered characters are written out. Anything that is no tag stays as it is: `a < b` is no tag.
//! Whole pages are not for here.

/// A piece of HTML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'h> {
    /// Text, with its characters as they are written.
    Text(&'h str),
    /// What stands between `<` and `>` of a tag that opens or stands alone.
    Open(&'h str),
    /// The name of a tag that closes.
    Close(&'h str),
}

/// Goes through the pieces of `html` in order.
pub(super) fn pieces(html: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = html;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((tag, after)) = tag(rest) {
            rest = after;
            return Some(match tag.strip_prefix('/') {
                Some(name) => Piece::Close(name.trim()),
                None => Piece::Open(tag),
            });
        }
        // Here stands no tag: text up to the next place where one may begin.
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[first..].find('<').map_or(rest.len(), |at| first + at);
        let (text, after) = rest.split_at(end);
        rest = after;
        Some(Piece::Text(text))
    })
}

/// The tag that `html` begins with, and what follows it.
fn tag(html: &str) -> Option<(&str, &str)> {
    let inner = html.strip_prefix('<')?;
    let is_tag = inner.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/' || first == '!');
    let end = if is_tag { inner.find('>')? } else { return None };
    Some((&inner[..end], &inner[end + 1..]))
}

/// The name of a tag in lower case: `a` of `a href="x"`.
pub(super) fn tag_name(tag: &str) -> String {
    let end = tag.find(|char: char| char.is_whitespace() || char == '/').unwrap_or(tag.len());
    tag[..end].to_ascii_lowercase()
}

/// The value of an attribute of a tag, its characters written out.
pub(super) fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut rest = tag;
    loop {
        let at = rest.find(name)?;
        let before = rest[..at].chars().next_back();
        let after = rest[at + name.len()..].trim_start();
        rest = &rest[at + name.len()..];
        let Some(value) = after.strip_prefix('=').map(str::trim_start) else { continue };
        if !before.is_some_and(char::is_whitespace) {
            continue;
        }
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''));
        let value = match quote {
            Some(quote) => value[1..].split(quote).next(),
            None => value.split([' ', '/', '>']).next(),
        };
        return value.map(entities).filter(|value| !value.is_empty());
    }
}

/// The text of a snippet.
pub(super) fn plain(html: &str) -> String {
    let mut text = Plain::default();
    pieces(html).for_each(|piece| text.take(piece));
    text.done()
}

/// A text that is put together piece by piece.
#[derive(Debug, Default)]
pub(super) struct Plain {
    out: String,
    /// The address of the link that is open, and where its label begins.
    link: Option<(String, usize)>,
}

impl Plain {
    /// Takes the next piece.
    pub fn take(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Text(text) => self.out.push_str(&entities(text)),
            Piece::Open(tag) => match tag_name(tag).as_str() {
                "br" => self.out.push('\n'),
                "p" | "div" | "li" | "tr" | "blockquote" | "pre" => self.line(),
                "a" => self.link = attribute(tag, "href").map(|href| (href, self.out.len())),
                "img" => self.out.push_str(&attribute(tag, "alt").unwrap_or_default()),
                _ => {}
            },
            Piece::Close(name) => match name.to_ascii_lowercase().as_str() {
                "p" | "div" | "li" | "tr" | "blockquote" | "pre" => self.line(),
                "a" => self.unlink(),
                _ => {}
            },
        }
    }

    /// The text, without space around it.
    pub fn done(mut self) -> String {
        self.unlink();
        self.out.trim().to_owned()
    }

    fn line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    /// Writes the address of a link behind its label, where the label is another.
    fn unlink(&mut self) {
        let Some((href, from)) = self.link.take() else { return };
        let label = self.out.get(from..).unwrap_or_default().trim();
        if label.is_empty() {
            self.out.push_str(&href);
        } else if label != href && !href.ends_with(label) {
            self.out.push_str(&format!(" ({href})"));
        }
    }
}

/// A text with its named and numbered characters written out. Two numbers that are the halves of one
/// character, as some programs write them, become that character.
pub(super) fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut half: Option<u32> = None;
    while let Some(at) = rest.find('&') {
        if at > 0 && half.take().is_some() {
            out.push('\u{fffd}');
        }
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let name = rest[1..].find(';').filter(|end| *end <= 10).map(|end| &rest[1..=end]);
        let Some(code) = name.and_then(code) else {
            out.push('&');
            rest = &rest[1..];
            continue;
        };
        rest = &rest[name.map_or(0, str::len) + 2..];
        match (half.take(), code) {
            (None, 0xD800..=0xDBFF) => half = Some(code),
            (Some(high), 0xDC00..=0xDFFF) => {
                let whole = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00);
                out.push(char::from_u32(whole).unwrap_or('\u{fffd}'));
            }
            (before, code) => {
                if before.is_some() {
                    out.push('\u{fffd}');
                }
                out.push(char::from_u32(code).filter(|char| *char != '\0').unwrap_or('\u{fffd}'));
            }
        }
    }
    if half.is_some() {
        out.push('\u{fffd}');
    }
    out.push_str(rest);
    out
}

/// The character of a name or number.
fn code(name: &str) -> Option<u32> {
    if let Some(number) = name.strip_prefix('#') {
        return match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => number.parse().ok(),
        };
    }
    let char = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "emsp" => ' ',
        "hellip" => '…',
        "ndash" => '–',
        "mdash" => '—',
        _ => return None,
    };
    Some(u32::from(char))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_snippet_reads_as_it_looks() {
        for (html, expected) in [
            ("one<br/>two", "one\ntwo"),
            ("<p>one</p><p>two &amp; three</p>", "one\ntwo & three"),
            ("<a href=\"https://x.org/a\">the page</a>!", "the page (https://x.org/a)!"),
            ("<a href=\"https://x.org\">https://x.org</a>", "https://x.org"),
            ("<a href='https://x.org'>x.org</a>", "x.org"),
            ("a < b and c > d, 1<2", "a < b and c > d, 1<2"),
            ("<b>bold</b> &lt;tag&gt; &unknown; & alone", "bold <tag> &unknown; & alone"),
            ("&#55357;&#56832; &#x1F600; &#55357;!", "😀 😀 \u{fffd}!"),
            ("<unclosed", "<unclosed"),
        ] {
            assert_eq!(plain(html), expected, "{html}");
        }
    }

    #[test]
    fn attributes_are_found_by_their_whole_name() {
        let tag = "quote data-author=\"no\" author='Ana &amp; Bo' timestamp=12";
        assert_eq!(attribute(tag, "author").as_deref(), Some("Ana & Bo"));
        assert_eq!(attribute(tag, "timestamp").as_deref(), Some("12"));
        assert_eq!(attribute(tag, "messageid"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(html in "[<>&;#a-zA-Z0-9\"'= /é😀\n]{0,60}") {
            let _ = (plain(&html), attribute(&html, "a"), entities(&html));
        }
    }
}
