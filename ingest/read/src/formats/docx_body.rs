//! Writes a stretch of WordprocessingML (a body, a note, a comment) as Markdown.
//!
//! Kept: what a reader of the document sees in its flow, with inserted text, fields' results and text boxes (after the
//! paragraph that holds them). Left out: deleted and moved-away text, fields' instructions, the older form of what is
//! given in two.

use std::collections::HashMap;

use super::docx_styles::{Marker, Numbered, Styles};
use super::html_text::Writer;
use super::xml::{Node, Tag};

/// Elements whose content is not read.
const LEFT_OUT: &[&str] = &[
    "del",
    "moveFrom",
    "instrText",
    "delText",
    "delInstrText",
    "pPrChange",
    "rPrChange",
    "sectPrChange",
    "tblPrChange",
    "tblGridChange",
    "tcPrChange",
    "trPrChange",
    "numberingChange",
    "fldData",
    "binData",
];
/// A cell spans at most so many columns.
const SPAN_MAX: u32 = 64;

/// A reference to a note, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Note {
    /// `footnote`, `endnote` or `comment`.
    pub kind: &'static str,
    /// Its id in the file.
    pub id: String,
}

/// The notes that were referred to, each with its label.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// In the order in which they were met.
    pub met: Vec<(Note, String)>,
    labels: HashMap<Note, String>,
    n_comments: usize,
}

impl Notes {
    fn label(&mut self, kind: &'static str, id: &str) -> String {
        let note = Note { kind, id: id.to_owned() };
        if let Some(label) = self.labels.get(&note) {
            return label.clone();
        }
        let label = if kind == "comment" {
            self.n_comments += 1;
            format!("c{}", self.n_comments)
        } else {
            (self.met.len() - self.n_comments + 1).to_string()
        };
        self.labels.insert(note.clone(), label.clone());
        self.met.push((note, label.clone()));
        label
    }
}

/// A paragraph that is open.
#[derive(Default)]
struct Paragraph {
    style: String,
    outline: Option<u8>,
    num: Option<u32>,
    level: Option<u8>,
    /// A line break is `\n`, a page break `\f`.
    text: String,
    /// Its end is deleted: the next one goes on with it.
    goes_on: bool,
    /// Where the reading aid of a word began.
    ruby: Option<usize>,
    aid: String,
    /// The fields open when it began.
    n_fields: usize,
    began: usize,
}

/// What a part of the path is looked at for.
struct Open {
    name: String,
    /// Of an `AlternateContent`: one of its forms was read.
    has_choice: bool,
}

/// Writes what it is given, node by node.
pub(super) struct Story<'a> {
    styles: &'a Styles,
    notes: &'a mut Notes,
    writer: Writer,
    path: Vec<Open>,
    /// So many elements of the path are left out.
    n_left_out: usize,
    /// The row at this depth of the path is deleted.
    deleted_row: Option<usize>,
    paragraphs: Vec<Paragraph>,
    /// Paragraphs of text boxes, which wait for the end of the one around them.
    boxed: Vec<Paragraph>,
    /// Open fields: whether what is met is the instruction.
    fields: Vec<bool>,
    lists: Vec<(Numbered, bool)>,
    counters: HashMap<Numbered, u32>,
    carried: String,
    n_began: usize,
    /// Columns that the open cell spans beyond its own.
    n_span: u32,
    /// Bytes of text.
    pub n_bytes: u64,
    /// The first heading or title.
    pub heading: Option<String>,
    /// Files that are put in whole and not read.
    pub n_embedded: u32,
    /// It is a note or a comment: it has no headings.
    pub is_note: bool,
}

impl<'a> Story<'a> {
    pub fn new(styles: &'a Styles, notes: &'a mut Notes) -> Self {
        Self {
            styles,
            notes,
            writer: Writer::default(),
            path: Vec::new(),
            n_left_out: 0,
            deleted_row: None,
            paragraphs: Vec::new(),
            boxed: Vec::new(),
            fields: Vec::new(),
            lists: Vec::new(),
            counters: HashMap::new(),
            carried: String::new(),
            n_began: 0,
            n_span: 0,
            n_bytes: 0,
            heading: None,
            n_embedded: 0,
            is_note: false,
        }
    }

    /// Takes the next node.
    pub fn take(&mut self, node: &Node) {
        match node {
            Node::Start(tag) => {
                let is_left_out = self.n_left_out > 0 || self.is_left_out(tag);
                self.n_left_out += usize::from(is_left_out);
                if !is_left_out && self.deleted_row.is_none() {
                    self.start(tag);
                }
                self.path.push(Open { name: tag.name.clone(), has_choice: false });
            }
            Node::End(name) => {
                self.path.pop();
                if self.n_left_out > 0 {
                    self.n_left_out -= 1;
                } else if self.deleted_row == Some(self.path.len()) {
                    self.deleted_row = None;
                    self.end(name);
                } else if self.deleted_row.is_none() {
                    self.end(name);
                }
            }
            Node::Text(text) => {
                let is_kept = self.n_left_out == 0 && self.deleted_row.is_none();
                if is_kept && self.parent() == "t" && !self.is_instruction() {
                    self.push(text);
                }
            }
        }
    }

    /// The Markdown of all that was taken.
    pub fn finish(mut self) -> String {
        while !self.paragraphs.is_empty() {
            self.end_paragraph();
        }
        if !self.carried.is_empty() {
            self.write(Paragraph::default());
        }
        self.close_lists(0);
        self.writer.finish()
    }

    fn parent(&self) -> &str {
        self.path.last().map_or("", |open| &open.name)
    }

    fn around(&self) -> &str {
        self.path.len().checked_sub(2).and_then(|at| self.path.get(at)).map_or("", |open| &open.name)
    }

    fn is_instruction(&self) -> bool {
        self.fields.iter().any(|is_instruction| *is_instruction)
    }

    fn is_left_out(&mut self, tag: &Tag) -> bool {
        if self.parent() == "AlternateContent" {
            let is_first = matches!(tag.name.as_str(), "Choice" | "Fallback")
                && self.path.last_mut().is_some_and(|open| !std::mem::replace(&mut open.has_choice, true));
            return !is_first;
        }
        // Of a row or a paragraph's end this says that it is deleted; of runs it holds what is.
        let is_mark = tag.name == "del" && matches!(self.parent(), "trPr" | "rPr");
        !is_mark && LEFT_OUT.contains(&tag.name.as_str())
    }

    fn start(&mut self, tag: &Tag) {
        let value = || tag.get("val").unwrap_or("");
        let parent_is = |story: &Self, name: &str| story.parent() == name;
        match tag.name.as_str() {
            "p" => self.start_paragraph(),
            "pStyle" if parent_is(self, "pPr") => self.set(|p| value().clone_into(&mut p.style)),
            "outlineLvl" if parent_is(self, "pPr") => self.set(|p| p.outline = value().parse().ok()),
            "numId" if parent_is(self, "numPr") => self.set(|p| p.num = value().parse().ok()),
            "ilvl" if parent_is(self, "numPr") => self.set(|p| p.level = value().parse().ok()),
            "del" if self.around() == "pPr" => self.set(|p| p.goes_on = true),
            "del" if parent_is(self, "trPr") => {
                self.deleted_row = self.path.iter().rposition(|open| open.name == "tr");
            }
            "tab" | "ptab" if parent_is(self, "r") => self.push(" "),
            "cr" => self.push("\n"),
            "br" if parent_is(self, "r") || parent_is(self, "p") => {
                self.push(if matches!(tag.get("type"), Some("page" | "column")) { "\u{c}" } else { "\n" });
            }
            "noBreakHyphen" => self.push("\u{2011}"),
            "sym" => {
                let char = tag.get("char").and_then(|hex| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32);
                self.push(&char.map(String::from).unwrap_or_default());
            }
            "footnoteReference" => self.refer("footnote", tag),
            "endnoteReference" => self.refer("endnote", tag),
            "commentReference" => self.refer("comment", tag),
            "fldChar" => self.field(tag.get("fldCharType").unwrap_or("")),
            "rt" => self.set(|p| p.ruby = Some(p.text.len())),
            "altChunk" | "subDoc" => self.n_embedded += 1,
            "tbl" | "tr" | "tc" if self.paragraphs.is_empty() => self.start_table_part(&tag.name),
            "gridSpan" if parent_is(self, "tcPr") => {
                self.n_span = value().parse::<u32>().unwrap_or(1).saturating_sub(1).min(SPAN_MAX);
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "p" => self.end_paragraph(),
            "rt" => self.set(|p| {
                if let Some(at) = p.ruby.take().filter(|at| *at <= p.text.len()) {
                    p.aid = p.text.split_off(at);
                }
            }),
            "ruby" => self.set(|p| {
                let aid = std::mem::take(&mut p.aid);
                if !aid.trim().is_empty() {
                    p.text.push_str(&format!("({aid})"));
                }
            }),
            "tc" if self.paragraphs.is_empty() => {
                self.close_lists(0);
                self.writer.end("td");
                for _ in 0..std::mem::take(&mut self.n_span) {
                    self.writer.start("td");
                    self.writer.end("td");
                }
            }
            "tr" if self.paragraphs.is_empty() => self.writer.end("tr"),
            "tbl" if self.paragraphs.is_empty() => self.writer.end("table"),
            _ => {}
        }
    }

    fn start_table_part(&mut self, name: &str) {
        self.close_lists(0);
        self.n_span = 0;
        self.writer.start(match name {
            "tbl" => "table",
            "tr" => "tr",
            _ => "td",
        });
    }

    fn start_paragraph(&mut self) {
        self.n_began += 1;
        let text = if self.paragraphs.is_empty() { std::mem::take(&mut self.carried) } else { String::new() };
        let (n_fields, began) = (self.fields.len(), self.n_began);
        self.paragraphs.push(Paragraph { text, n_fields, began, ..Paragraph::default() });
    }

    fn end_paragraph(&mut self) {
        let Some(paragraph) = self.paragraphs.pop() else { return };
        // An instruction that is still open here has lost its end: what follows is text again.
        for is_instruction in self.fields.iter_mut().skip(paragraph.n_fields) {
            *is_instruction = false;
        }
        if !self.paragraphs.is_empty() {
            return self.boxed.push(paragraph);
        }
        if paragraph.goes_on {
            self.carried = paragraph.text;
        } else {
            self.write(paragraph);
        }
        let mut boxed = std::mem::take(&mut self.boxed);
        boxed.sort_by_key(|paragraph| paragraph.began);
        boxed.into_iter().for_each(|paragraph| self.write(paragraph));
    }

    fn set(&mut self, change: impl FnOnce(&mut Paragraph)) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            change(paragraph);
        }
    }

    fn push(&mut self, text: &str) {
        if self.is_instruction() {
            return;
        }
        self.n_bytes += text.len() as u64;
        self.set(|paragraph| paragraph.text.push_str(text));
    }

    fn refer(&mut self, kind: &'static str, tag: &Tag) {
        if let Some(id) = tag.get("id") {
            let label = self.notes.label(kind, id);
            self.push(&format!("[^{label}]"));
        }
    }

    fn field(&mut self, kind: &str) {
        match kind {
            "begin" => self.fields.push(true),
            "separate" => self.fields.last_mut().into_iter().for_each(|is_instruction| *is_instruction = false),
            _ => {
                self.fields.pop();
            }
        }
    }

    fn write(&mut self, mut paragraph: Paragraph) {
        if paragraph.text.trim().is_empty() {
            return;
        }
        let text = std::mem::take(&mut paragraph.text);
        let style = paragraph.style.as_str();
        if let Some(level) = self.styles.heading(style, paragraph.outline).filter(|_| !self.is_note) {
            self.close_lists(0);
            if self.heading.is_none() {
                self.heading = Some(text.split_whitespace().collect::<Vec<_>>().join(" "));
            }
            let name = format!("h{level}");
            self.writer.start(&name);
            self.writer.words(&text.replace(['\n', '\u{c}'], " "));
            return self.writer.end(&name);
        }
        if let Some((place, marker)) = self.styles.item(style, paragraph.num, paragraph.level) {
            self.item(place, marker);
            self.lines(&text);
            return self.writer.end("li");
        }
        self.close_lists(0);
        let name = if self.styles.is_quote(style) { "blockquote" } else { "p" };
        self.writer.start(name);
        self.lines(&text);
        self.writer.end(name);
    }

    fn lines(&mut self, text: &str) {
        for (idx, page) in text.split('\u{c}').enumerate() {
            if idx > 0 {
                self.writer.flush();
            }
            for (idx, line) in page.split('\n').enumerate() {
                if idx > 0 {
                    self.writer.void("br");
                }
                self.writer.words(line);
            }
        }
    }

    fn item(&mut self, place: Numbered, marker: Marker) {
        let is_ordered = matches!(marker, Marker::Number(_));
        let n_kept = self.lists.iter().take_while(|(open, _)| open.level <= place.level).count();
        self.close_lists(n_kept);
        if self.lists.last().is_some_and(|(open, ordered)| {
            open.level == place.level && (*ordered != is_ordered || open.num != place.num)
        }) {
            self.close_lists(self.lists.len() - 1);
        }
        if self.lists.last().is_none_or(|(open, _)| open.level < place.level) {
            self.writer.start(if is_ordered { "ol" } else { "ul" });
            self.lists.push((place, is_ordered));
        }
        self.counters.retain(|open, _| open.num != place.num || open.level <= place.level);
        if let Marker::Number(start) = marker {
            let next = self.counters.entry(place).or_insert(start);
            self.writer.number(*next);
            *next = next.saturating_add(1);
        }
        self.writer.start("li");
    }

    fn close_lists(&mut self, n_kept: usize) {
        while self.lists.len() > n_kept {
            if let Some((_, is_ordered)) = self.lists.pop() {
                self.writer.end(if is_ordered { "ol" } else { "ul" });
            }
        }
    }
}
