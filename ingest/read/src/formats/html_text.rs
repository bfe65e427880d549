//! Writes the elements of a page as Markdown, as they come.
//!
//! Markdown's own marks in a text are escaped only where they would be read as something else: a text is to be found
//! by the words that are in it.

use super::notebook::fence;

/// Lists, quotes and tables deeper than this are written as if they were this deep.
const DEPTH_MAX: usize = 6;
/// A table with a cell of more bytes is one for the looks of a page.
const CELL_BYTES_MAX: usize = 500;

/// A list that is open.
struct List {
    /// The next number, where it has numbers.
    next: Option<u32>,
    /// How far its items are indented.
    n_indent: usize,
}

/// A table that is open, and what was written before it.
#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
    before: String,
    lists: Vec<List>,
    n_quotes: usize,
    /// Whether a cell is open; its text is what is being written.
    is_cell: bool,
    /// Whether a cell holds a heading or a table: then it is for looks.
    is_layout: bool,
}

/// Writes Markdown.
#[derive(Default)]
pub(super) struct Writer {
    out: String,
    /// The words of the open block.
    block: String,
    heading: Option<usize>,
    is_pre: bool,
    lists: Vec<List>,
    /// Lists beyond [`DEPTH_MAX`].
    n_deeper_lists: u32,
    n_quotes: usize,
    tables: Vec<Table>,
    /// Tables beyond [`DEPTH_MAX`].
    n_deeper_tables: u32,
    /// The mark of an item that has no words yet.
    marker: Option<String>,
}

impl Writer {
    /// Adds words.
    pub fn words(&mut self, text: &str) {
        if self.is_pre {
            self.block.push_str(text);
            return;
        }
        for char in text.chars() {
            // A space that may not break is a space like any other once lines are gone.
            if !char.is_whitespace() {
                self.block.push(char);
            } else if !self.block.is_empty() && !self.block.ends_with([' ', '\n']) {
                self.block.push(' ');
            }
        }
    }

    /// An element without content.
    pub fn void(&mut self, name: &str) {
        match name {
            "br" if self.is_pre => self.block.push('\n'),
            "br" if self.block.ends_with('\n') => self.flush(),
            "br" if !self.block.is_empty() => {
                self.block.truncate(self.block.trim_end().len());
                self.block.push('\n');
            }
            "hr" => self.flush(),
            _ => {}
        }
    }

    /// An element begins.
    pub fn start(&mut self, name: &str) {
        if !is_block(name) {
            return;
        }
        self.flush();
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.heading = name[1..].parse().ok();
                if let Some(table) = self.tables.last_mut() {
                    table.is_layout = true;
                }
            }
            "pre" => self.is_pre = true,
            "blockquote" => self.n_quotes += 1,
            "ul" | "ol" if self.lists.len() == DEPTH_MAX => self.n_deeper_lists += 1,
            "ul" | "ol" => {
                // A list that opens an item stands below it; where there is nothing above, it stands in its place.
                if self.marker.take().is_some() && !is_item(self.out.rsplit('\n').next().unwrap_or("")) {
                    self.lists.last_mut().into_iter().for_each(|list| list.n_indent = 0);
                }
                self.lists.push(List { next: (name == "ol").then_some(1), n_indent: 0 });
            }
            "li" => self.item(),
            "table" => self.table(),
            "tr" if self.n_deeper_tables == 0 => {
                self.cell();
                self.tables.last_mut().into_iter().for_each(|table| table.rows.push(Vec::new()));
            }
            "td" | "th" if self.n_deeper_tables == 0 => {
                self.cell();
                self.tables.last_mut().into_iter().for_each(|table| table.is_cell = true);
            }
            _ => {}
        }
    }

    /// An element ends.
    pub fn end(&mut self, name: &str) {
        if !is_block(name) {
            return;
        }
        self.flush();
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading = None,
            "pre" => self.is_pre = false,
            "blockquote" => self.n_quotes = self.n_quotes.saturating_sub(1),
            "ul" | "ol" if self.n_deeper_lists > 0 => self.n_deeper_lists -= 1,
            "ul" | "ol" => {
                self.marker = None;
                self.lists.pop();
            }
            "li" => self.marker = None,
            "table" if self.n_deeper_tables > 0 => self.n_deeper_tables -= 1,
            "table" => self.end_table(),
            "td" | "th" | "tr" if self.n_deeper_tables == 0 => self.cell(),
            _ => {}
        }
    }

    /// The next item of the open list, where it has numbers, has the number `next`.
    pub fn number(&mut self, number: u32) {
        if let Some(next) = self.lists.last_mut().and_then(|list| list.next.as_mut()) {
            *next = number;
        }
    }

    fn item(&mut self) {
        let Some(list) = self.lists.last_mut() else {
            self.marker = Some("- ".to_owned());
            return;
        };
        let marker = match &mut list.next {
            None => "- ".to_owned(),
            Some(next) => {
                *next = next.saturating_add(1);
                format!("{}. ", *next - 1)
            }
        };
        list.n_indent = marker.len();
        self.marker = Some(marker);
    }

    fn table(&mut self) {
        if let Some(outer) = self.tables.last_mut() {
            outer.is_layout = true;
        }
        if self.tables.len() == DEPTH_MAX {
            self.n_deeper_tables += 1;
            return;
        }
        self.marker = None;
        self.tables.push(Table {
            before: std::mem::take(&mut self.out),
            lists: std::mem::take(&mut self.lists),
            n_quotes: std::mem::take(&mut self.n_quotes),
            ..Table::default()
        });
    }

    /// Ends the open cell, or what stands between cells.
    fn cell(&mut self) {
        self.marker = None;
        let Some(table) = self.tables.last_mut() else { return };
        let text = std::mem::take(&mut self.out);
        self.lists.clear();
        self.n_quotes = 0;
        if std::mem::take(&mut table.is_cell) {
            if table.rows.is_empty() {
                table.rows.push(Vec::new());
            }
            table.rows.last_mut().into_iter().for_each(|row| row.push(text.clone()));
        } else if !text.trim().is_empty() {
            // A caption, or words in a wrong place: they stand before the table.
            push_block(&text, &mut table.before);
        }
    }

    fn end_table(&mut self) {
        self.cell();
        let Some(table) = self.tables.pop() else { return };
        self.out = table.before;
        self.lists = table.lists;
        self.n_quotes = table.n_quotes;
        let cells = || table.rows.iter().flatten();
        let n_columns = table.rows.iter().map(Vec::len).max().unwrap_or(0);
        let is_layout = table.is_layout || n_columns < 2 || cells().any(|cell| cell.len() > CELL_BYTES_MAX);
        if is_layout {
            cells().for_each(|cell| push_block(cell, &mut self.out));
            return;
        }
        let rows = table.rows.iter().filter(|row| row.iter().any(|cell| !cell.trim().is_empty()));
        let mut lines = Vec::new();
        for row in rows {
            let cells = (0..n_columns).map(|idx| row.get(idx).map_or("", String::as_str));
            let cells: Vec<String> = cells.map(|cell| one_line(cell).replace('|', "\\|")).collect();
            lines.push(format!("| {} |", cells.join(" | ")));
            if lines.len() == 1 {
                lines.push(format!("|{}", " --- |".repeat(n_columns)));
            }
        }
        self.place(&lines.join("\n"), false);
    }

    /// Ends the open block.
    pub fn flush(&mut self) {
        let block = std::mem::take(&mut self.block);
        if block.trim().is_empty() {
            return;
        }
        if self.is_pre {
            let fence = fence(&block);
            return self.place(&format!("{fence}\n{}\n{fence}", block.trim_matches('\n').trim_end()), true);
        }
        match self.heading {
            Some(level) => {
                let marks = "######".get(..level).unwrap_or("#");
                self.place(&format!("{marks} {}", one_line(&block)), false);
            }
            None => {
                let lines: Vec<String> = block.trim().lines().map(escaped).collect();
                self.place(&lines.join("\n"), false);
            }
        }
    }

    /// Writes a block where it belongs: in its quotes and items.
    fn place(&mut self, block: &str, is_pre: bool) {
        if block.is_empty() {
            return;
        }
        let marker = self.marker.take();
        let n_indent: usize = self.lists.iter().map(|list| list.n_indent).sum();
        let quotes = "> ".repeat(self.n_quotes.min(DEPTH_MAX));
        let is_next_item =
            marker.is_some() && !self.out.is_empty() && is_item(self.out.rsplit('\n').next().unwrap_or(""));
        if !self.out.is_empty() {
            self.out.push_str(if is_next_item { "\n" } else { "\n\n" });
        }
        for (idx, line) in block.lines().enumerate() {
            let n_mark = marker.as_ref().map_or(0, String::len).min(n_indent);
            let mark = marker.as_deref().filter(|_| idx == 0);
            let indent = " ".repeat(if mark.is_some() { n_indent - n_mark } else { n_indent });
            self.out.push_str(if idx > 0 { "\n" } else { "" });
            self.out.push_str(&quotes);
            self.out.push_str(&indent);
            self.out.push_str(mark.unwrap_or(""));
            self.out.push_str(if is_pre { line } else { line.trim_end() });
        }
    }

    /// Where what is written next begins.
    pub fn mark(&mut self) -> usize {
        self.flush();
        self.out.len()
    }

    /// Whether a table is open: what is written is not yet in its place.
    pub fn is_in_table(&self) -> bool {
        !self.tables.is_empty()
    }

    /// What was written since a mark.
    pub fn since(&mut self, mark: usize) -> &str {
        self.flush();
        self.out.get(mark..).unwrap_or("")
    }

    /// Whether there are no words.
    pub fn is_blank(&self) -> bool {
        self.out.trim().is_empty() && self.tables.iter().all(|t| t.before.is_empty() && t.rows.is_empty())
    }

    /// Ends tables whose ends lack.
    pub fn close_tables(&mut self) {
        self.flush();
        while !self.tables.is_empty() {
            self.end_table();
        }
    }

    /// The Markdown of all that was written.
    pub fn finish(mut self) -> String {
        self.close_tables();
        self.out
    }
}

fn push_block(text: &str, out: &mut String) {
    let text = text.trim_matches('\n');
    if !text.trim().is_empty() {
        out.push_str(if out.is_empty() { "" } else { "\n\n" });
        out.push_str(text);
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a line belongs to an item of a list.
fn is_item(line: &str) -> bool {
    let line = line.trim_start_matches(['>', ' ']);
    line.starts_with("- ") || line.split_once(". ").is_some_and(|(n, _)| !n.is_empty() && n.parse::<u32>().is_ok())
}

/// A line of words in which nothing is read as Markdown's or HTML's mark for something else.
fn escaped(line: &str) -> String {
    let line = line.trim();
    let mut out = String::with_capacity(line.len());
    let mut marks = line.chars();
    let first = marks.next().unwrap_or_default();
    let goes_on = marks.next().is_none_or(|next| next == first || next.is_whitespace());
    let is_mark = match first {
        '#' | '+' | '-' | '*' | '=' | '~' | '`' | '_' => goes_on,
        '>' => true,
        '[' => line.contains("]:"),
        _ => false,
    };
    let n_digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let is_number = (1..10).contains(&n_digits)
        && line[n_digits..].starts_with(['.', ')'])
        && line[n_digits + 1..].chars().next().is_none_or(char::is_whitespace);
    let n_plain = if is_number { n_digits } else { 0 };
    out.push_str(&line[..n_plain]);
    out.push_str(if is_mark || is_number { "\\" } else { "" });
    let mut chars = line[n_plain..].chars().peekable();
    while let Some(char) = chars.next() {
        if char == '<' && chars.peek().is_some_and(|next| next.is_ascii_alphabetic() || "/!?".contains(*next)) {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

/// Whether an element begins a new line.
fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "dialog"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "head"
            | "header"
            | "hgroup"
            | "html"
            | "legend"
            | "li"
            | "main"
            | "menu"
            | "nav"
            | "ol"
            | "p"
            | "pre"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "td"
            | "tfoot"
            | "th"
            | "thead"
            | "tr"
            | "ul"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes `<p>`-like steps: a name opens, a name after a slash closes, anything else is words.
    fn write(steps: &str) -> String {
        let mut writer = Writer::default();
        for step in steps.split('·') {
            match step.strip_prefix('<') {
                Some("br") => writer.void("br"),
                Some(name) => match name.strip_prefix('/') {
                    Some(name) => writer.end(name),
                    None => writer.start(name),
                },
                None => writer.words(step),
            }
        }
        writer.finish()
    }

    #[test]
    fn lists_quotes_and_code_keep_their_form() {
        assert_eq!(
            write("<ol·<li·a·<ul·<li·b·<li·c·</ul·<li·d·<p·e·</ol·f"),
            "1. a\n   - b\n   - c\n2. d\n\n   e\n\nf"
        );
        assert_eq!(
            write("<blockquote·<p·a·<br·b·</blockquote·<pre·x\n  y ```·</pre"),
            "> a\n> b\n\n````\nx\n  y ```\n````"
        );
        assert_eq!(write("<ul·<li·<ul·<li·<ul·<li·a"), "- a");
        assert_eq!(write("<h2·a\n b·</h2·c"), "## a b\n\nc");
    }

    #[test]
    fn a_table_is_one_where_its_cells_are_small() {
        let table = "<table·<caption·Beds·</caption·<tr·<th·a·</th·<th·b|c·<tr·<td·1·<td·2·</table·after";
        assert_eq!(write(table), "Beds\n\n| a | b\\|c |\n| --- | --- |\n| 1 | 2 |\n\nafter");
        assert_eq!(write("<table·<tr·<td·<h1·a·</h1·b·<td·c·</table"), "# a\n\nb\n\nc");
        assert_eq!(write("<table·<tr·<td·one·<tr·<td·two"), "one\n\ntwo");
        let nested = "a·<table·<tr·<td·<table·<tr·<td·1·<td·2·</table·b·</table";
        assert_eq!(write(nested), "a\n\n| 1 | 2 |\n| --- | --- |\n\nb");
    }

    #[test]
    fn words_are_not_read_as_marks() {
        assert_eq!(write("# no heading and 1 < 2"), "\\# no heading and 1 < 2");
        assert_eq!(write("1. no item"), "1\\. no item");
        assert_eq!(write("use Vec<u8>, a_b and 3.5"), "use Vec\\<u8>, a_b and 3.5");
        for plain in ["2 plums", "1.02 kg", "-5 degrees", "#tag", "[sic] it is"] {
            assert_eq!(write(plain), plain);
        }
    }
}
