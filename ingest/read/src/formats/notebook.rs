//! Reads Jupyter notebooks: one file, one Markdown document of its cells in order.
//!
//! Markdown cells are taken as they are; code becomes a fenced block with the notebook's language, and what it gave
//! out as text a block after it, cut where it is long. Pictures, widgets and HTML that the code gave out are left out.
//!
//! Format: nbformat 4, and 3 and 2 with their worksheets.

use super::markdown::document;
use super::{Emit, Event, Head, Input, Reader, empty, extension, whole_bytes};
use crate::decode::Trouble;
use crate::json::{Value, array, clean, field, parse, text, whole_number};
use crate::seam::Result;

/// What a cell gave out is kept up to so many characters: a log is no more to be remembered than a picture.
const OUTPUT_CHARS_MAX: usize = 2000;

/// The reader of notebooks.
pub(super) struct Notebook;

impl Reader for Notebook {
    fn name(&self) -> &'static str {
        "notebook"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        let has_cells = shape.has(1, "cells") || shape.has(1, "worksheets");
        match (extension(head.name).as_str(), has_cells && shape.has(1, "nbformat")) {
            ("ipynb", _) => 95,
            // A notebook of another name; `nbformat` often stands at its end, so a long one needs its ending.
            (_, true) => 90,
            _ => 0,
        }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let bytes = match whole_bytes(input) {
            Ok(bytes) => bytes,
            Err(trouble) => return emit(Event::Trouble(trouble)),
        };
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let mut n_replaced = 0;
        let read = parse(bytes, &mut n_replaced, |notebook| {
            (
                markdown(notebook),
                language(notebook),
                text(field(field(notebook, "metadata"), "title")).map(str::to_owned),
            )
        });
        let (body, language, title) = match read {
            Ok(read) => read,
            Err(reason) => {
                let hint = "open it in Jupyter and save it again, or import it as text with --format text";
                return emit(Event::Trouble(Trouble::new("", reason, hint)));
            }
        };
        if body.trim().is_empty() {
            return emit(Event::Trouble(empty()));
        }
        let body = clean(&body, &mut n_replaced).into_owned();
        let mut draft = document(body, title, input.name, n_replaced);
        draft.metadata.extend(language.map(|language| ("language".to_owned(), language)));
        emit(Event::Draft(draft))
    }
}

/// The language of the notebook's code.
fn language(notebook: &Value<'_>) -> Option<String> {
    let metadata = field(notebook, "metadata");
    let named = [field(metadata, "language_info"), field(metadata, "kernelspec")];
    let given = named.into_iter().zip(["name", "language"]).find_map(|(from, name)| text(field(from, name)));
    let cells = || cells(notebook).into_iter().find_map(|cell| text(field(cell, "language")));
    // The name goes behind a fence: a word and nothing else.
    given.or_else(cells).map(|name| name.chars().filter(|c| c.is_alphanumeric() || "+#-._".contains(*c)).collect())
}

/// The cells in order, of all worksheets where there are any.
fn cells<'v>(notebook: &'v Value<'v>) -> Vec<&'v Value<'v>> {
    let sheets = array(field(notebook, "worksheets"));
    let lists = std::iter::once(notebook).chain(sheets).map(|sheet| array(field(sheet, "cells")));
    lists.flatten().collect()
}

/// The notebook as Markdown.
fn markdown(notebook: &Value<'_>) -> String {
    let language = language(notebook).unwrap_or_default();
    let mut out = String::new();
    for cell in cells(notebook) {
        let source =
            [field(cell, "source"), field(cell, "input")].into_iter().map(joined).find(|text| !text.is_empty());
        let source = source.unwrap_or_default();
        let source = source.trim_matches('\n').trim_end();
        match text(field(cell, "cell_type")) {
            Some("code") => {
                fenced(source, &language, &mut out);
                array(field(cell, "outputs")).iter().for_each(|output| fenced(&given_out(output), "text", &mut out));
            }
            Some("heading") if !source.is_empty() => {
                let level = whole_number(field(cell, "level")).unwrap_or(1).clamp(1, 6);
                let marks = &"######"[..usize::try_from(level).unwrap_or(1)];
                paragraph(&format!("{marks} {}", source.replace('\n', " ")), &mut out);
            }
            _ => paragraph(source, &mut out),
        }
    }
    out
}

fn paragraph(text: &str, out: &mut String) {
    if !text.trim().is_empty() {
        out.push_str(if out.is_empty() { "" } else { "\n" });
        out.push_str(text);
        out.push('\n');
    }
}

/// A block of `text` between fences.
fn fenced(text: &str, language: &str, out: &mut String) {
    if text.trim().is_empty() {
        return;
    }
    let fence = fence(text);
    paragraph(&format!("{fence}{language}\n{text}\n{fence}"), out);
}

/// A fence for a block of `text`, longer than any in it.
pub(super) fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.saturating_add(1).max(3))
}

/// A text, or the joined lines of one.
fn joined(value: &Value<'_>) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        lines => array(lines).iter().filter_map(text).collect(),
    }
}

/// What a cell gave out, as text; empty where it gave out none.
fn given_out(output: &Value<'_>) -> String {
    let said = match text(field(output, "output_type")) {
        Some("error" | "pyerr") => {
            let of = |name| text(field(output, name)).unwrap_or_default();
            format!("{}: {}", of("ename"), of("evalue"))
        }
        _ => {
            let data = field(output, "data");
            let places = [field(output, "text"), field(data, "text/markdown"), field(data, "text/plain")];
            places.into_iter().map(joined).find(|text| !text.is_empty()).unwrap_or_default()
        }
    };
    let said = without_escapes(said.trim_matches('\n').trim_end());
    match said.char_indices().nth(OUTPUT_CHARS_MAX) {
        None => said,
        Some((at, _)) => format!("{}\n… ({} more bytes)", said[..at].trim_end(), said.len() - at),
    }
}

/// A terminal's text without its colours.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !(c.is_ascii_digit() || c == ';' || c == '?'));
        out.push_str(end.map_or("", |end| part[end..].get(1..).unwrap_or(&part[end..])));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> String {
        parse(json.as_bytes(), &mut 0, markdown).unwrap()
    }

    #[test]
    fn cells_of_every_version_are_markdown() {
        let four = r##"{"nbformat":4,"metadata":{"kernelspec":{"language":"python"}},"cells":[
            {"cell_type":"markdown","source":["# Beds\n","Two."]},
            {"cell_type":"code","source":"beds = '```'","outputs":[
                {"output_type":"stream","text":["\u001b[31mred\u001b[0m\n"]},
                {"output_type":"display_data","data":{"image/png":"AAAA"}},
                {"output_type":"error","ename":"NameError","evalue":"beds","traceback":["long"]}]},
            {"cell_type":"raw","source":""}]}"##;
        let blocks =
            "# Beds\nTwo.\n\n````python\nbeds = '```'\n````\n\n```text\nred\n```\n\n```text\nNameError: beds\n```\n";
        assert_eq!(read(four), blocks);
        let three = r#"{"nbformat":3,"worksheets":[{"cells":[{"cell_type":"heading","level":2,"source":["Beds"]},
            {"cell_type":"code","language":"r","input":["1\n","2"],"outputs":[{"output_type":"pyout","text":"2"}]}]}]}"#;
        assert_eq!(read(three), "## Beds\n\n```r\n1\n2\n```\n\n```text\n2\n```\n");
    }

    #[test]
    fn what_is_given_out_is_bounded_and_says_so() {
        let long = "ä".repeat(OUTPUT_CHARS_MAX + 5);
        let json = |text: &str| format!(r#"{{"cells":[{{"cell_type":"code","outputs":[{{"text":"{text}"}}]}}]}}"#);
        assert!(read(&json(&long)).ends_with("ä\n… (10 more bytes)\n```\n"));
        assert!(!read(&json("ä")).contains("more bytes"));
    }

    #[test]
    fn a_terminals_colours_are_taken_off() {
        assert_eq!(without_escapes("a\u{1b}[1;31mb\u{1b}[0mc\u{1b}["), "abc");
        assert_eq!(without_escapes("\u{1b}[é"), "é");
    }
}
