//! Reads reStructuredText, AsciiDoc, Org and LaTeX: one file, one document.
//!
//! The raw text is kept; a scan over its lines gives title and headings. Nothing is expanded or included.

use std::sync::LazyLock;

use model::SourceKind;
use regex::Regex;

use super::{Draft, DraftBody, Emit, Event, Head, Input, Reader, extension, file_name, whole};
use crate::seam::Result;

/// So many headings are named in the metadata.
const HEADINGS_MAX: usize = 32;
/// A longer line is no heading.
const TITLE_BYTES_MAX: usize = 500;

/// The reader of these markups.
pub(super) struct Markup;

/// A markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rst,
    AsciiDoc,
    Org,
    Latex,
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        match extension(&name).as_str() {
            "rst" | "rest" => Some(Self::Rst),
            // Sphinx gives its sources out under this ending.
            "txt" if name.ends_with(".rst.txt") => Some(Self::Rst),
            "adoc" | "asciidoc" => Some(Self::AsciiDoc),
            "org" => Some(Self::Org),
            "tex" | "latex" | "ltx" => Some(Self::Latex),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Rst => "reStructuredText",
            Self::AsciiDoc => "AsciiDoc",
            Self::Org => "Org",
            Self::Latex => "LaTeX",
        }
    }
}

impl Reader for Markup {
    fn name(&self) -> &'static str {
        "markup"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        if Kind::of(head.name).is_some() { 60 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let decoded = match whole(input) {
            Ok(decoded) => decoded,
            Err(trouble) => return emit(Event::Trouble(trouble)),
        };
        let kind = Kind::of(input.name).unwrap_or(Kind::Rst);
        let found = outline(&decoded.text, kind);
        let title = found.title.or_else(|| found.headings.first().cloned());
        let (mut metadata, remarks) = (decoded.metadata(), decoded.remarks());
        metadata.insert("markup".to_owned(), kind.name().to_owned());
        if !found.headings.is_empty() {
            let named = &found.headings[..found.headings.len().min(HEADINGS_MAX)];
            metadata.insert("headings".to_owned(), named.join("\n"));
        }
        let title = title.unwrap_or_else(|| file_name(input.name).to_owned());
        let draft = Draft::new(title, SourceKind::Document, DraftBody::Text(decoded.text));
        emit(Event::Draft(Draft { metadata, remarks, n_replaced: decoded.n_replaced, ..draft }))
    }
}

/// What a document is called, and its headings in order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outline {
    title: Option<String>,
    headings: Vec<String>,
}

fn outline(text: &str, kind: Kind) -> Outline {
    let mut found = match kind {
        Kind::Rst => Outline { title: None, headings: rst(text) },
        Kind::AsciiDoc => asciidoc(text),
        Kind::Org => org(text),
        Kind::Latex => latex(text),
    };
    found.headings.retain(|heading| !heading.is_empty());
    found
}

/// Headings of reStructuredText: the one line of a paragraph that is underlined along its whole length.
fn rst(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut headings = Vec::new();
    for (idx, pair) in lines.windows(2).enumerate() {
        let [line, under] = pair else { continue };
        let Some(mark) = rule(under) else { continue };
        let before = idx.checked_sub(1).and_then(|before| lines.get(before)).copied().unwrap_or("");
        let is_over = rule(before) == Some(mark) && before.len() == under.len();
        let words = line.trim_start();
        let is_first = is_over || before.is_empty() || before.starts_with(".. ");
        let is_in_place = is_over || words.len() == line.len();
        if is_first
            && is_in_place
            && line.len() <= TITLE_BYTES_MAX
            && !words.starts_with(".. ")
            && rule(line).is_none()
            && words.chars().any(char::is_alphanumeric)
            && (under.len() >= 4 || under.len() >= words.chars().count())
        {
            headings.push(rst_words(words));
        }
    }
    headings
}

/// The character that makes up a whole line, at least twice.
fn rule(line: &str) -> Option<u8> {
    let first = *line.as_bytes().first().filter(|byte| byte.is_ascii_punctuation())?;
    (line.len() >= 2 && line.bytes().all(|byte| byte == first)).then_some(first)
}

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static RST_INLINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"``(?<a>[^`]+)``|(?::[\w:+.-]+:)?`[~!]?(?<b>[^`<]+?)(?:\s*<[^`]*>)?`_{0,2}|\*\*?(?<c>[^*\s][^*]*)\*\*?|\\(?<d>\S)")
        .unwrap()
});

/// A heading without its inline markup.
fn rst_words(line: &str) -> String {
    RST_INLINE.replace_all(line, "$a$b$c$d").trim().to_owned()
}

/// The headings of AsciiDoc, `= Title` at the beginning of a line; none within its verbatim blocks.
fn asciidoc(text: &str) -> Outline {
    let mut found = Outline::default();
    let mut fence: Option<&str> = None;
    for line in text.lines().map(str::trim_end) {
        if let Some(open) = fence {
            fence = (line != open).then_some(open);
            continue;
        }
        let is_fence =
            line.starts_with("```") || (line.len() >= 4 && matches!(rule(line), Some(b'-' | b'.' | b'+' | b'/')));
        if is_fence {
            fence = Some(if line.starts_with("```") { "```" } else { line });
            continue;
        }
        let words = line.trim_start_matches('=');
        let level = line.len() - words.len();
        if (1..=6).contains(&level) && words.starts_with(' ') && line.len() <= TITLE_BYTES_MAX {
            let words = words.trim().to_owned();
            if level == 1 {
                found.title.get_or_insert_with(|| words.clone());
            }
            found.headings.push(words);
        }
    }
    found
}

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static ORG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^\*+[ \t]+(?:(?:TODO|DONE|NEXT|WAITING)[ \t]+)?(?:\[#.\][ \t]+)?(?<words>.*?)(?:[ \t]+:[\w@#%:]+:)?[ \t]*$",
    )
    .unwrap()
});

/// The headings of Org: stars at the beginning of a line, without keyword, priority and tags.
fn org(text: &str) -> Outline {
    let mut found = Outline::default();
    let mut is_block = false;
    for line in text.lines().filter(|line| line.len() <= TITLE_BYTES_MAX) {
        let start = line.trim_start();
        let begins = |mark: &str| start.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark));
        if begins("#+begin_") {
            is_block = true;
        } else if begins("#+end_") {
            is_block = false;
        } else if begins("#+title:") {
            let title = start["#+title:".len()..].trim();
            found.title = found.title.or(Some(title.to_owned()).filter(|title| !title.is_empty()));
        } else if let Some(words) = ORG.captures(line).and_then(|line| line.name("words"))
            // Org escapes such a line in a block; where it did not, or the block never ends, it is a heading.
            && !(is_block && start.len() < line.len())
        {
            is_block = false;
            found.headings.push(words.as_str().to_owned());
        }
    }
    found
}

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static LATEX: LazyLock<Regex> = LazyLock::new(|| {
    let heading =
        r"\\(?<name>title|part|chapter|section|subsection|subsubsection|paragraph)\*?\s*(?:\[[^\[\]]*\])?\s*\{";
    Regex::new(&format!(r"(?<skip>\\%|%[^\n]*|\\(?<edge>begin|end)\{{(?:verbatim|lstlisting|minted)\*?\}})|{heading}"))
        .unwrap()
});
#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static LATEX_MARK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\\[A-Za-z]+\*?\s*|\\(.)|[{}$]").unwrap());

/// The headings of LaTeX: the arguments of its sectioning commands, none in comments or verbatim text.
fn latex(text: &str) -> Outline {
    let mut found = Outline::default();
    let mut is_verbatim = false;
    for command in LATEX.captures_iter(text) {
        if let Some(edge) = command.name("edge") {
            is_verbatim = edge.as_str() == "begin";
        }
        let (Some(name), Some(whole)) = (command.name("name"), command.get(0)) else { continue };
        let Some(words) = braced(&text[whole.end()..]).filter(|_| !is_verbatim) else { continue };
        let words = LATEX_MARK.replace_all(words, "$1").replace('~', " ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if name.as_str() == "title" {
            found.title = found.title.or(Some(words).filter(|words| !words.is_empty()));
        } else {
            found.headings.push(words);
        }
    }
    found
}

/// What stands before the brace that closes, within the bound on a heading.
fn braced(text: &str) -> Option<&str> {
    let mut n_open = 1_u32;
    let mut is_escaped = false;
    for (at, char) in text.char_indices().take_while(|(at, _)| *at <= TITLE_BYTES_MAX) {
        match char {
            _ if is_escaped => {}
            '{' => n_open += 1,
            '}' => n_open -= 1,
            _ => {}
        }
        is_escaped = char == '\\' && !is_escaped;
        if n_open == 0 {
            return text.get(..at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn headings_of_rst_are_underlined_along_their_length() {
        let text = "=====\nBeds\n=====\n\n:mod:`plums` --- *Keep* ``them``\n-----\n\nwords\n====\n\n  code\n  ====\n\n\
            two lines\nof words\n--------\n\n----\n\nEnd\n---\n";
        assert_eq!(rst(text), ["Beds", "plums --- Keep them", "words", "End"]);
    }

    #[test]
    fn headings_of_asciidoc_stand_outside_its_blocks() {
        let text = "= Beds\n:toc:\n\n== Plums\n\n----\n== no\n----\n\n=== Pears\n=no\n";
        let found = outline(text, Kind::AsciiDoc);
        assert_eq!(
            (found.title.as_deref(), &found.headings[..]),
            (Some("Beds"), &["Beds", "Plums", "Pears"].map(String::from)[..])
        );
    }

    #[test]
    fn headings_of_org_are_without_keyword_and_tags() {
        let text =
            "#+TITLE: Beds\n* TODO [#A] Plums  :fruit:tree:\n#+begin_src\n  * no\n#+end_src\n** Pears\n*bold* no\n";
        let found = outline(text, Kind::Org);
        assert_eq!(
            (found.title.as_deref(), &found.headings[..]),
            (Some("Beds"), &["Plums", "Pears"].map(String::from)[..])
        );
    }

    #[test]
    fn headings_of_latex_are_its_commands_arguments() {
        let text = "\\title{The \\emph{Beds}}\n%\\section{no}\n\\section*{Plums \\& {pears}}\n\\begin{verbatim}\n\
            \\section{no}\n\\end{verbatim}\n\\subsection[short]{50\\% of~it}\n\\section{never ends";
        let found = outline(text, Kind::Latex);
        let headings = ["Plums & pears", "50% of it"].map(String::from);
        assert_eq!((found.title.as_deref(), &found.headings[..]), (Some("The Beds"), &headings[..]));
    }

    proptest! {
        #[test]
        fn any_text_has_an_outline(text in "(=+|\\*+ |#\\+(begin|end)_|\\\\section\\{|[{}%\\\\`:]|\\PC{0,3}|\n|----){0,60}") {
            for kind in [Kind::Rst, Kind::AsciiDoc, Kind::Org, Kind::Latex] {
                prop_assert!(outline(&text, kind).headings.iter().all(|heading| !heading.is_empty()));
            }
        }
    }
}
