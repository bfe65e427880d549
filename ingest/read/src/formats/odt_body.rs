//! Writes the body of an OpenDocument file as Markdown.

use std::collections::HashMap;

use super::html_text::Writer;
use super::xml::{Node, Tag};

/// Elements whose content is no text of the document's flow.
const LEFT_OUT: &[&str] = &[
    "tracked-changes",
    "forms",
    "scripts",
    "font-face-decls",
    "binary-data",
    "note-citation",
    "event-listeners",
    "sequence-decls",
    "variable-decls",
    "user-field-decls",
    "dde-connection-decls",
    "shapes",
    "settings",
    "content-validations",
    "calculation-settings",
    "label-ranges",
    "named-expressions",
    "database-ranges",
    "header",
    "footer",
    "tracked-change",
    "desc",
    "title",
    "image-map",
    "ruby-text",
];
/// So many spaces, or columns, are written for one that is repeated.
const REPEATED_MAX: usize = 64;

/// A list that is open.
struct List {
    style: String,
    is_ordered: bool,
}

/// A flow of paragraphs: the body, a note, a comment.
#[derive(Default)]
struct Flow {
    writer: Writer,
    /// Paragraphs that are open: those of a text box lie in the one around it.
    paragraphs: Vec<(Option<u8>, String)>,
    /// Finished paragraphs of text boxes.
    boxed: Vec<String>,
    lists: Vec<List>,
    label: String,
    about: String,
}

/// Writes what it is given, node by node.
#[derive(Default)]
pub(super) struct Story {
    path: Vec<String>,
    n_left_out: usize,
    has_body: bool,
    flows: Vec<Flow>,
    flow: Flow,
    /// Notes and comments with their labels.
    pub notes: Vec<(String, String)>,
    n_notes: usize,
    /// By the name of a list's style: for each level from 1, whether it has numbers.
    levels: HashMap<(String, u32), bool>,
    list_style: String,
    numbers: HashMap<(String, usize), u32>,
    n_columns: usize,
    /// Bytes of text.
    pub n_bytes: u64,
    /// The first heading.
    pub heading: Option<String>,
}

impl Story {
    /// Takes the next node.
    pub fn take(&mut self, node: &Node) {
        match node {
            Node::Start(tag) => {
                let is_left_out = self.n_left_out > 0 || LEFT_OUT.contains(&tag.name.as_str());
                self.n_left_out += usize::from(is_left_out);
                if !is_left_out {
                    self.start(tag);
                }
                self.path.push(tag.name.clone());
            }
            Node::End(name) => {
                self.path.pop();
                if self.n_left_out > 0 {
                    self.n_left_out -= 1;
                } else {
                    self.end(name);
                }
            }
            Node::Text(text) if self.n_left_out == 0 => self.text(text),
            Node::Text(_) => {}
        }
    }

    /// Another entry begins: what was open in the one before it, if that is damaged, is not.
    pub fn begin(&mut self) {
        self.path.clear();
        self.n_left_out = 0;
    }

    /// The Markdown of all that was taken, without the notes.
    pub fn finish(&mut self) -> String {
        while let Some(outer) = self.flows.pop() {
            self.end_note(outer);
        }
        while !self.flow.paragraphs.is_empty() {
            self.end_paragraph();
        }
        std::mem::take(&mut self.flow.writer).finish()
    }

    fn text(&mut self, text: &str) {
        match self.path.last().map(String::as_str) {
            Some("creator") if self.flow.paragraphs.is_empty() => {
                self.flow.about.push_str(&format!(" by {}", text.trim()));
            }
            Some("date") if self.flow.paragraphs.is_empty() => {
                self.flow.about.push_str(&format!(", {}", text.trim()));
            }
            _ => self.push(text),
        }
    }

    fn push(&mut self, text: &str) {
        if let Some((_, paragraph)) = self.flow.paragraphs.last_mut() {
            self.n_bytes += text.len() as u64;
            paragraph.push_str(text);
        }
    }

    fn start(&mut self, tag: &Tag) {
        let number = |name: &str| tag.get(name).and_then(|value| value.parse::<usize>().ok());
        match tag.name.as_str() {
            "list-style" => tag.get("name").unwrap_or("").clone_into(&mut self.list_style),
            "list-level-style-bullet" | "list-level-style-number" => {
                let level = number("level").and_then(|level| u32::try_from(level).ok()).unwrap_or(1);
                let format = tag.get("num-format").unwrap_or("");
                let is_ordered = tag.name.ends_with("number") && !format.is_empty();
                self.levels.insert((self.list_style.clone(), level), is_ordered);
            }
            "body" => self.has_body = true,
            _ if !self.has_body => {}
            "p" => self.flow.paragraphs.push((None, String::new())),
            "h" => {
                let level = number("outline-level").unwrap_or(1).clamp(1, 6);
                self.flow.paragraphs.push((u8::try_from(level).ok(), String::new()));
            }
            "s" => self.push(&" ".repeat(number("c").unwrap_or(1).min(REPEATED_MAX))),
            "tab" => self.push(" "),
            "line-break" => self.push("\n"),
            "note-body" => self.start_note(""),
            "annotation" => self.start_note("Comment"),
            _ if !self.flow.paragraphs.is_empty() => {}
            "list" => self.start_list(tag),
            "list-item" => self.start_item(tag),
            "page" => self.start_page(tag.get("name")),
            "table" => {
                if self.path.last().is_some_and(|outer| outer == "spreadsheet") {
                    self.start_page(tag.get("name"));
                }
                self.flow.writer.start("table");
            }
            "table-row" => self.flow.writer.start("tr"),
            "table-cell" | "covered-table-cell" => {
                self.n_columns = number("number-columns-repeated").unwrap_or(1).clamp(1, REPEATED_MAX);
                self.flow.writer.start("td");
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if !self.has_body {
            return;
        }
        match name {
            "p" | "h" => self.end_paragraph(),
            "note-body" | "annotation" => {
                if let Some(outer) = self.flows.pop() {
                    self.end_note(outer);
                }
            }
            _ if !self.flow.paragraphs.is_empty() => {}
            "list" => self.end_list(),
            "list-item" => self.flow.writer.end("li"),
            "table" => self.flow.writer.end("table"),
            "table-row" => self.flow.writer.end("tr"),
            "table-cell" | "covered-table-cell" => {
                self.flow.writer.end("td");
                // A repeated cell at the end of a row is there for its looks.
                for _ in 1..std::mem::replace(&mut self.n_columns, 1).min(8) {
                    self.flow.writer.start("td");
                    self.flow.writer.end("td");
                }
            }
            _ => {}
        }
    }

    /// A slide or a sheet begins: its name is a heading.
    fn start_page(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            self.flow.writer.start("h2");
            self.flow.writer.words(name);
            self.flow.writer.end("h2");
        }
    }

    fn start_note(&mut self, about: &str) {
        self.n_notes += 1;
        let label = format!("{}{}", if about.is_empty() { "" } else { "c" }, self.n_notes);
        self.push(&format!("[^{label}]"));
        let flow = Flow { label, about: about.to_owned(), ..Flow::default() };
        self.flows.push(std::mem::replace(&mut self.flow, flow));
    }

    fn end_note(&mut self, outer: Flow) {
        while !self.flow.paragraphs.is_empty() {
            self.end_paragraph();
        }
        let flow = std::mem::replace(&mut self.flow, outer);
        let text = flow.writer.finish();
        if !text.trim().is_empty() {
            let about = if flow.about.is_empty() { String::new() } else { format!("{}: ", flow.about) };
            self.notes.push((flow.label, format!("{about}{}", text.trim())));
        }
    }

    fn start_list(&mut self, tag: &Tag) {
        let outer = self.flow.lists.last().map(|list| list.style.clone());
        let style = tag.get("style-name").map(str::to_owned).or(outer).unwrap_or_default();
        let depth = self.flow.lists.len() + 1;
        let level = u32::try_from(depth).unwrap_or(1);
        let is_ordered = self.levels.get(&(style.clone(), level)).copied().unwrap_or(false);
        let is_counted_on = tag.get("continue-numbering") == Some("true") || tag.get("continue-list").is_some();
        if !is_counted_on {
            self.numbers.remove(&(style.clone(), depth));
        }
        self.flow.writer.start(if is_ordered { "ol" } else { "ul" });
        self.flow.lists.push(List { style, is_ordered });
    }

    fn start_item(&mut self, tag: &Tag) {
        let depth = self.flow.lists.len();
        if let Some(list) = self.flow.lists.last().filter(|list| list.is_ordered) {
            let next = self.numbers.entry((list.style.clone(), depth)).or_insert(1);
            if let Some(start) = tag.get("start-value").and_then(|value| value.parse().ok()) {
                *next = start;
            }
            self.flow.writer.number(*next);
            *next = next.saturating_add(1);
        }
        self.flow.writer.start("li");
    }

    fn end_list(&mut self) {
        if let Some(list) = self.flow.lists.pop() {
            self.flow.writer.end(if list.is_ordered { "ol" } else { "ul" });
        }
    }

    fn end_paragraph(&mut self) {
        let Some((level, text)) = self.flow.paragraphs.pop() else { return };
        if !self.flow.paragraphs.is_empty() {
            return self.flow.boxed.push(text);
        }
        let level = level.filter(|_| self.flows.is_empty());
        if level.is_some() && self.heading.is_none() && !text.trim().is_empty() {
            self.heading = Some(text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        self.write(level, &text);
        for text in std::mem::take(&mut self.flow.boxed) {
            self.write(None, &text);
        }
    }

    fn write(&mut self, level: Option<u8>, text: &str) {
        let name = level.map_or_else(|| "p".to_owned(), |level| format!("h{level}"));
        self.flow.writer.start(&name);
        for (idx, line) in text.split('\n').enumerate() {
            if idx > 0 && level.is_none() {
                self.flow.writer.void("br");
            } else if idx > 0 {
                self.flow.writer.words(" ");
            }
            self.flow.writer.words(line);
        }
        self.flow.writer.end(&name);
    }
}
