//! Text to blocks: stretches of prose or code that no sentence crosses.
//!
//! Plain text goes by lines: a blank line, a list item, a heading, a rule and a table row break, a
//! wrapped line does not. Markdown goes by its structure.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

use read::markdown_options;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// Sentences.
    Prose,
    /// Lines.
    Code,
}

/// A stretch of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub range: Range<usize>,
    pub kind: BlockKind,
}

/// A line at least this long was wrapped by a program: its end is no end.
const WRAPPED_CHARS_MIN: usize = 40;

/// The blocks of Markdown: its leaf blocks, in order, without a gap.
pub(super) fn markdown(text: &str) -> Vec<Block> {
    let mut borders = vec![0, text.len()];
    let mut code: Vec<Range<usize>> = Vec::new();
    for (event, range) in Parser::new_ext(text, markdown_options()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::MetadataBlock(_)) => {
                borders.extend([range.start, range.end]);
                code.push(range);
            }
            Event::Start(
                Tag::Paragraph
                | Tag::Heading { .. }
                | Tag::BlockQuote(_)
                | Tag::List(_)
                | Tag::Item
                | Tag::FootnoteDefinition(_)
                | Tag::Table(_)
                | Tag::TableHead
                | Tag::TableRow,
            )
            | Event::Rule => borders.extend([range.start, range.end]),
            Event::HardBreak => borders.push(range.end),
            _ => {}
        }
    }
    borders.retain(|&at| text.is_char_boundary(at));
    borders.sort_unstable();
    borders.dedup();
    let mut blocks = Vec::new();
    let mut code = code.into_iter().peekable();
    for pair in borders.windows(2) {
        let range = pair[0]..pair[1];
        while code.next_if(|code| code.end <= range.start).is_some() {}
        let is_code = code.peek().is_some_and(|code| code.start <= range.start && range.end <= code.end);
        let kind = if is_code { BlockKind::Code } else { BlockKind::Prose };
        blocks.push(Block { range, kind });
    }
    blocks
}

/// The blocks of plain text, in order; what lies between them has no letter or digit.
pub(super) fn plain(text: &str) -> Vec<Block> {
    let mut blocks = Blocks::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        blocks.take(line, at);
        at += line.len();
    }
    blocks.flush(at);
    blocks.done
}

/// What a line is in itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Blank,
    Fence,
    /// No letter or digit: an underline, a border of a table.
    Rule,
    Heading,
    /// Starts a block of its own and may go on: a list item, a table row, a directive, a field.
    Start,
    Doctest,
    Words,
}

/// Gathers lines to blocks.
#[derive(Default)]
struct Blocks<'a> {
    done: Vec<Block>,
    open: Option<(usize, BlockKind)>,
    /// The fence that opened the code we are in.
    fence: Option<&'a str>,
    /// The indent of the line that announced literal lines with `::`.
    literal: Option<usize>,
    previous: &'a str,
}

impl<'a> Blocks<'a> {
    fn take(&mut self, line: &'a str, at: usize) {
        let words = line.trim();
        let kind = line_kind(words);
        if let Some(fence) = self.fence {
            if kind == LineKind::Fence && words.starts_with(fence) && words.trim_start_matches(&fence[..1]).is_empty() {
                self.fence = None;
                self.flush(at + line.len());
            }
            return;
        }
        if let Some(indent) = self.literal
            && kind != LineKind::Blank
        {
            if indent_of(line) > indent {
                self.enter(BlockKind::Code, at);
                return;
            }
            self.literal = None;
            self.flush(at);
        }
        match kind {
            LineKind::Blank => self.blank(at),
            LineKind::Fence => {
                self.flush(at);
                self.fence = words.get(..3);
                self.open = Some((at, BlockKind::Code));
            }
            LineKind::Rule => self.flush(at),
            LineKind::Heading => {
                self.flush(at);
                self.open = Some((at, BlockKind::Prose));
                self.flush(at + line.len());
            }
            LineKind::Start => {
                self.flush(at);
                self.open = Some((at, BlockKind::Prose));
            }
            LineKind::Doctest => self.enter(BlockKind::Code, at),
            LineKind::Words => self.words(line, at),
        }
        if kind != LineKind::Blank {
            self.previous = line;
        }
    }

    fn blank(&mut self, at: usize) {
        let announced = self.previous.trim_end().ends_with("::");
        if self.literal.is_some() {
            return;
        }
        self.flush(at);
        self.literal = announced.then(|| indent_of(self.previous));
        self.previous = "";
    }

    fn words(&mut self, line: &'a str, at: usize) {
        match self.open {
            // The output of a doctest.
            Some((_, BlockKind::Code)) => {}
            Some((_, BlockKind::Prose)) if is_wrapped(self.previous, line) => {}
            _ => {
                self.flush(at);
                self.open = Some((at, BlockKind::Prose));
            }
        }
    }

    fn enter(&mut self, kind: BlockKind, at: usize) {
        if self.open.is_none_or(|(_, open)| open != kind) {
            self.flush(at);
            self.open = Some((at, kind));
        }
    }

    fn flush(&mut self, at: usize) {
        if let Some((start, kind)) = self.open.take() {
            self.done.push(Block { range: start..at, kind });
        }
    }
}

fn line_kind(words: &str) -> LineKind {
    if words.is_empty() {
        LineKind::Blank
    } else if words.starts_with("```") || words.starts_with("~~~") {
        LineKind::Fence
    } else if words.starts_with(">>> ") {
        LineKind::Doctest
    } else if !words.chars().any(char::is_alphanumeric) {
        // Smileys alone stand between two sentences as a rule does.
        LineKind::Rule
    } else if words.starts_with('#') && words.trim_start_matches('#').starts_with(' ') {
        LineKind::Heading
    } else if is_list_item(words) || words.starts_with(['|', '>']) || words.starts_with(".. ") || is_field(words) {
        LineKind::Start
    } else {
        LineKind::Words
    }
}

/// `- x`, `* x`, `• x`, `12. x`, `3) x`, `a) x`, `(iv) x`.
fn is_list_item(words: &str) -> bool {
    let rest = words.trim_start_matches('(');
    if let Some(after) = words.strip_prefix(['-', '*', '+', '•', '–']) {
        return after.starts_with([' ', '\t']);
    }
    let marker = rest.split([' ', '\t']).next().unwrap_or_default();
    if marker.len() == rest.len() || marker.len() > 5 {
        return false;
    }
    let Some(number) = marker.strip_suffix(['.', ')']) else { return false };
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let is_letter = marker.ends_with(')') && !number.is_empty() && number.bytes().all(|b| b.is_ascii_lowercase());
    is_number || is_letter
}

/// `:name: text`, a field of reStructuredText; not `:role:`text` within prose.
fn is_field(words: &str) -> bool {
    let Some((name, after)) = words.strip_prefix(':').and_then(|rest| rest.split_once(':')) else { return false };
    !name.is_empty() && (after.is_empty() || after.starts_with(' '))
}

/// Whether the break after `line` was made by wrapping: the line is long, or the next goes on in lower case.
fn is_wrapped(line: &str, next: &str) -> bool {
    let line = line.trim();
    let goes_on = next.trim_start().starts_with(char::is_lowercase) && !line.ends_with(['.', '!', '?', ':', ';']);
    line.chars().count() >= WRAPPED_CHARS_MIN || goes_on
}

/// The indent in columns; a tab counts as 8.
fn indent_of(line: &str) -> usize {
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).map(|c| if c == '\t' { 8 } else { 1 }).sum()
}
