//! Writes the tokens of RTF as Markdown.

use std::collections::{BTreeMap, HashMap};

use encoding_rs::Encoding;

use super::docx_styles::heading_name;
use super::html_text::Writer;
use super::office_meta::push_note;
use super::rtf_codes::{LEFT_OUT, charset, code_page};
use super::rtf_tokens::Token;

/// What the text of a group is for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Body,
    Nowhere,
    Fonts,
    Styles,
    /// The bullet or number that a program wrote before an item.
    Bullet,
    /// A field of the file's own description.
    Info(&'static str),
    /// A date of it.
    Date(&'static str),
}

/// What a group inherits and gives back at its end.
#[derive(Clone, Debug)]
struct Group {
    place: Place,
    /// So many characters stand in for a `\u`.
    n_stand_ins: usize,
    font: i32,
    is_deleted: bool,
    /// A note ends with this group.
    is_note: bool,
    /// `\*` was met: a group that is not known is left out.
    is_optional: bool,
}

/// A flow of paragraphs: the body, or a note in it.
#[derive(Default)]
struct Flow {
    writer: Writer,
    text: String,
    heading: Option<u8>,
    bullet: String,
    is_in_table: bool,
    has_table: bool,
    has_row: bool,
    has_cell: bool,
    has_list: Option<bool>,
    label: String,
    about: String,
}

/// Writes what it is given, token by token.
pub(super) struct Text {
    groups: Vec<Group>,
    group: Group,
    flows: Vec<Flow>,
    flow: Flow,
    notes: Vec<(String, String)>,
    code_page: &'static Encoding,
    fonts: HashMap<i32, &'static Encoding>,
    styles: HashMap<i32, u8>,
    style: i32,
    gathered: String,
    /// Bytes of text that wait for the rest of their character.
    raw: Vec<u8>,
    high: Option<u16>,
    n_skip: usize,
    date: [i32; 5],
    /// What the file says of itself.
    pub metadata: BTreeMap<String, String>,
    pub heading: Option<String>,
    pub n_replaced: u64,
    pub n_bytes: u64,
    /// Groups that end and never began.
    pub n_unopened: u64,
}

impl Text {
    pub fn new() -> Self {
        let group = Group {
            place: Place::Body,
            n_stand_ins: 1,
            font: -1,
            is_deleted: false,
            is_note: false,
            is_optional: false,
        };
        Self {
            groups: Vec::new(),
            group,
            flows: Vec::new(),
            flow: Flow::default(),
            notes: Vec::new(),
            code_page: encoding_rs::WINDOWS_1252,
            fonts: HashMap::new(),
            styles: HashMap::new(),
            style: 0,
            gathered: String::new(),
            raw: Vec::new(),
            high: None,
            n_skip: 0,
            date: [0; 5],
            metadata: BTreeMap::new(),
            heading: None,
            n_replaced: 0,
            n_bytes: 0,
            n_unopened: 0,
        }
    }

    /// How many groups are open.
    pub fn n_open(&self) -> usize {
        self.groups.len()
    }

    /// Takes the next token.
    pub fn take(&mut self, token: &Token<'_>) {
        match token {
            Token::Open => {
                self.flush();
                self.n_skip = 0;
                self.groups.push(self.group.clone());
                self.group.is_note = false;
                self.group.is_optional = false;
            }
            Token::Close => self.close(),
            Token::Word(word, number) => {
                self.flush();
                // A control word stands in for a character too, but none is worth losing.
                self.n_skip = 0;
                if *word != "u" {
                    self.lone_surrogate();
                }
                self.word(word, *number);
            }
            Token::Symbol(symbol) => {
                self.flush();
                self.symbol(*symbol);
            }
            Token::Byte(byte) => self.byte(*byte),
            Token::Text(bytes) => {
                for &byte in *bytes {
                    if !matches!(byte, b'\r' | b'\n') {
                        self.byte(byte);
                    }
                }
            }
        }
    }

    /// The Markdown of all that was taken.
    pub fn finish(mut self) -> (String, BTreeMap<String, String>) {
        self.flush();
        while let Some(outer) = self.flows.pop() {
            self.end_note(outer);
        }
        self.paragraph();
        self.end_blocks();
        let mut text = std::mem::take(&mut self.flow.writer).finish();
        for (label, note) in &self.notes {
            push_note(label, note, &mut text);
        }
        (text, self.metadata)
    }

    fn close(&mut self) {
        self.flush();
        self.lone_surrogate();
        self.n_skip = 0;
        match self.group.place {
            Place::Styles => self.style_name(),
            Place::Fonts | Place::Nowhere | Place::Body | Place::Bullet => {}
            Place::Info(field) => {
                let text = std::mem::take(&mut self.gathered);
                let text = text.trim();
                if !text.is_empty() {
                    self.metadata.entry(field.to_owned()).or_insert_with(|| text.to_owned());
                }
            }
            Place::Date(field) => {
                let [year, month, day, hour, minute] = std::mem::take(&mut self.date);
                let date = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}");
                self.metadata.entry(field.to_owned()).or_insert(date);
            }
        }
        if self.group.is_note
            && let Some(outer) = self.flows.pop()
        {
            self.end_note(outer);
        }
        match self.groups.pop() {
            Some(outer) => self.group = outer,
            None => self.n_unopened += 1,
        }
    }

    fn end_note(&mut self, outer: Flow) {
        self.paragraph();
        self.end_blocks();
        let flow = std::mem::replace(&mut self.flow, outer);
        let text = flow.writer.finish();
        if !text.trim().is_empty() {
            self.notes.push((flow.label, format!("{}{}", flow.about, text.trim())));
        }
    }

    fn style_name(&mut self) {
        let name = std::mem::take(&mut self.gathered);
        if let Some(level) = heading_name(&name.trim().trim_end_matches(';').to_lowercase(), "") {
            self.styles.insert(self.style, level.min(6));
        }
    }

    fn word(&mut self, word: &str, number: Option<i32>) {
        let n = number.unwrap_or(0);
        if self.enter(word) {
            return;
        }
        match (&self.group.place, word) {
            (_, "uc") => self.group.n_stand_ins = usize::try_from(n).unwrap_or(0).min(8),
            (_, "u") => self.unit(n),
            (_, "ansicpg") => self.code_page = code_page(n).unwrap_or(self.code_page),
            (_, "mac") => self.code_page = encoding_rs::MACINTOSH,
            (Place::Fonts, "f") => self.group.font = n,
            (Place::Fonts, "fcharset") => {
                if let Some(encoding) = charset(n) {
                    self.fonts.insert(self.group.font, encoding);
                }
            }
            (Place::Styles, "s") => {
                self.gathered.clear();
                self.style = n;
            }
            (Place::Date(_), "yr" | "mo" | "dy" | "hr" | "min") => {
                let idx = ["yr", "mo", "dy", "hr", "min"].iter().position(|name| *name == word);
                self.date[idx.unwrap_or(0)] = n;
            }
            (Place::Body, _) => self.body_word(word, number),
            _ => {}
        }
    }

    /// Enters the place that a group is for; whether `word` says so.
    fn enter(&mut self, word: &str) -> bool {
        let place = match word {
            "fonttbl" => Place::Fonts,
            "stylesheet" => Place::Styles,
            "listtext" | "pntext" => Place::Bullet,
            "info" => Place::Nowhere,
            "title" => Place::Info("title"),
            "author" => Place::Info("author"),
            "subject" => Place::Info("subject"),
            "keywords" => Place::Info("keywords"),
            "doccomm" => Place::Info("description"),
            "creatim" => Place::Date("created"),
            "revtim" => Place::Date("modified"),
            "atnauthor" | "atndate" | "atntime" => Place::Nowhere,
            word if LEFT_OUT.contains(&word) => Place::Nowhere,
            _ => {
                // A group for programs that know it: what is not known here is not text.
                let is_known =
                    matches!(word, "shpinst" | "shptxt" | "shppict" | "annotation" | "fldrslt" | "cs" | "do");
                if self.group.is_optional && !is_known {
                    self.group.place = Place::Nowhere;
                }
                self.group.is_optional = false;
                return false;
            }
        };
        let is_open = !matches!(self.group.place, Place::Nowhere) || matches!(place, Place::Info(_) | Place::Date(_));
        self.group.is_optional = false;
        if is_open {
            self.gathered.clear();
            self.group.place = place;
        }
        true
    }

    fn body_word(&mut self, word: &str, number: Option<i32>) {
        let is_on = number != Some(0);
        match word {
            "par" | "sect" => self.paragraph(),
            "page" | "column" => self.paragraph(),
            "line" | "lbr" => self.push("\n"),
            "tab" => self.push(" "),
            "emdash" => self.push("—"),
            "endash" => self.push("–"),
            "emspace" | "enspace" | "qmspace" => self.push(" "),
            "bullet" => self.push("•"),
            "lquote" => self.push("‘"),
            "rquote" => self.push("’"),
            "ldblquote" => self.push("“"),
            "rdblquote" => self.push("”"),
            "f" => self.group.font = number.unwrap_or(0),
            "plain" => self.group.is_deleted = false,
            "deleted" => self.group.is_deleted = is_on,
            "pard" => {
                self.flow.heading = None;
                self.flow.is_in_table = false;
            }
            "s" => self.flow.heading = self.styles.get(&number.unwrap_or(0)).copied(),
            "outlinelevel" => {
                let level = number.and_then(|level| u8::try_from(level).ok()).filter(|level| *level < 9);
                self.flow.heading = level.map(|level| (level + 1).min(6));
            }
            "intbl" => self.flow.is_in_table = true,
            "trowd" => self.flow.is_in_table = true,
            "cell" => self.cell(),
            "nestcell" => self.paragraph(),
            "row" if std::mem::take(&mut self.flow.has_row) => {
                self.flow.writer.end("tr");
                self.flow.has_cell = false;
            }
            "footnote" => self.note("", ""),
            "annotation" => self.note("c", "Comment: "),
            _ => {}
        }
    }

    fn note(&mut self, prefix: &str, about: &str) {
        let label = format!("{prefix}{}", self.notes.len() + self.flows.len() + 1);
        self.push(&format!("[^{label}]"));
        let flow = Flow { label, about: about.to_owned(), ..Flow::default() };
        self.flows.push(std::mem::replace(&mut self.flow, flow));
        self.group.is_note = true;
    }

    fn symbol(&mut self, symbol: u8) {
        match symbol {
            b'*' => self.group.is_optional = true,
            b'~' => self.push("\u{a0}"),
            b'_' => self.push("\u{2011}"),
            b'\n' | b'\r' if self.group.place == Place::Body => self.paragraph(),
            b'\t' => self.push(" "),
            b'{' | b'}' | b'\\' => self.byte(symbol),
            _ => {}
        }
    }

    fn byte(&mut self, byte: u8) {
        if self.n_skip > 0 {
            self.n_skip -= 1;
            return;
        }
        self.raw.push(byte);
    }

    /// Decodes the bytes that wait.
    fn flush(&mut self) {
        if self.raw.is_empty() {
            return;
        }
        self.lone_surrogate();
        let encoding = self.fonts.get(&self.group.font).copied().unwrap_or(self.code_page);
        let raw = std::mem::take(&mut self.raw);
        let (text, has_errors) = encoding.decode_without_bom_handling(&raw);
        self.n_replaced += u64::from(has_errors);
        let text = text.replace('\0', "\u{fffd}");
        self.push(&text);
        self.raw = raw;
        self.raw.clear();
    }

    fn unit(&mut self, n: i32) {
        self.n_skip = self.group.n_stand_ins;
        // Units above 32767 are written as negative numbers.
        let unit = u16::try_from(n & 0xffff).unwrap_or(0);
        match (self.high.take(), unit) {
            (None, 0xD800..=0xDBFF) => self.high = Some(unit),
            (Some(high), 0xDC00..=0xDFFF) => {
                let pair: String = char::decode_utf16([high, unit]).filter_map(Result::ok).collect();
                self.push(&pair);
            }
            (high, unit) => {
                self.n_replaced += u64::from(high.is_some());
                let char = char::from_u32(u32::from(unit)).filter(|char| *char != '\0');
                self.n_replaced += u64::from(char.is_none());
                self.push(char.unwrap_or('\u{fffd}').encode_utf8(&mut [0; 4]));
            }
        }
    }

    fn lone_surrogate(&mut self) {
        if self.high.take().is_some() {
            self.n_replaced += 1;
            self.push("\u{fffd}");
        }
    }

    fn push(&mut self, text: &str) {
        match self.group.place {
            Place::Body if self.group.is_deleted => {}
            Place::Body => {
                self.n_bytes += text.len() as u64;
                self.flow.text.push_str(text);
            }
            Place::Bullet => self.flow.bullet.push_str(text),
            Place::Styles | Place::Info(_) if self.gathered.len() < 2000 => self.gathered.push_str(text),
            _ => {}
        }
    }

    fn cell(&mut self) {
        self.table();
        self.paragraph();
        self.end_list();
        self.flow.writer.end("td");
        self.flow.has_cell = false;
    }

    /// Begins what lacks of a table, its row and its cell.
    fn table(&mut self) {
        if !std::mem::replace(&mut self.flow.has_table, true) {
            self.end_list();
            self.flow.writer.start("table");
        }
        if !std::mem::replace(&mut self.flow.has_row, true) {
            self.flow.writer.start("tr");
        }
        if !std::mem::replace(&mut self.flow.has_cell, true) {
            self.flow.writer.start("td");
        }
    }

    fn paragraph(&mut self) {
        let text = std::mem::take(&mut self.flow.text);
        let bullet = std::mem::take(&mut self.flow.bullet);
        if text.trim().is_empty() {
            return;
        }
        if self.flow.is_in_table {
            self.table();
        } else if self.flow.has_table {
            self.end_blocks();
        }
        if let Some(level) = self.flow.heading.filter(|_| self.flows.is_empty()) {
            self.end_list();
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let name = format!("h{level}");
            self.flow.writer.start(&name);
            self.flow.writer.words(&words);
            self.flow.writer.end(&name);
            self.heading.get_or_insert(words);
            return;
        }
        let bullet = bullet.trim();
        let name = if bullet.is_empty() { "p" } else { "li" };
        if bullet.is_empty() {
            self.end_list();
        } else {
            let number = bullet.trim_end_matches(['.', ')']).trim_start_matches('(').parse::<u32>().ok();
            if self.flow.has_list != Some(number.is_some()) {
                self.end_list();
                self.flow.writer.start(if number.is_some() { "ol" } else { "ul" });
                self.flow.has_list = Some(number.is_some());
            }
            number.into_iter().for_each(|number| self.flow.writer.number(number));
        }
        self.flow.writer.start(name);
        for (idx, line) in text.split('\n').enumerate() {
            if idx > 0 {
                self.flow.writer.void("br");
            }
            self.flow.writer.words(line);
        }
        self.flow.writer.end(name);
    }

    fn end_list(&mut self) {
        if let Some(is_ordered) = self.flow.has_list.take() {
            self.flow.writer.end(if is_ordered { "ol" } else { "ul" });
        }
    }

    fn end_blocks(&mut self) {
        self.end_list();
        if std::mem::take(&mut self.flow.has_table) {
            (self.flow.has_row, self.flow.has_cell) = (false, false);
            self.flow.writer.end("table");
        }
    }
}
