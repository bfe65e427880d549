//! Reads tables, CSV and TSV: one file, one document, a paragraph a row.
//!
//! A row is written out as `name: value; name: value`, with the names of the header: a row that is found alone still
//! says what its values are, which the raw line does not. Values keep their characters; a line end within one becomes
//! a space. Empty values are left out. A row without words is no paragraph.
//!
//! Format: RFC 4180, with `;`, tab or `|` for the comma where the first lines have more of it.

use model::SourceKind;

use super::{Draft, DraftBody, Emit, Event, Head, Input, Reader, empty, extension, file_name, too_large, whole};
use crate::decode::Trouble;
use crate::seam::Result;

/// The delimiter is told by so many lines.
const LINES_LOOKED_AT: usize = 20;

/// The reader of tables.
pub(super) struct Table;

impl Reader for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        if matches!(extension(head.name).as_str(), "csv" | "tsv" | "tab") { 60 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let decoded = match whole(input) {
            Ok(decoded) => decoded,
            Err(trouble) => return emit(Event::Trouble(trouble)),
        };
        let is_tab = matches!(extension(input.name).as_str(), "tsv" | "tab");
        let (mut metadata, remarks) = (decoded.metadata(), decoded.remarks());
        let rows = match rows(&decoded.text, if is_tab { b'\t' } else { delimiter(&decoded.text) }) {
            Ok(rows) => rows,
            Err(trouble) => return emit(Event::Trouble(trouble)),
        };
        if rows.text.trim().is_empty() {
            return emit(Event::Trouble(empty()));
        }
        if rows.text.len() as u64 > input.source_bytes_max {
            return emit(Event::Trouble(too_large("", rows.text.len() as u64, input.source_bytes_max)));
        }
        metadata.insert("rows".to_owned(), rows.n_rows.to_string());
        if !rows.header.is_empty() {
            metadata.insert("columns".to_owned(), rows.header.join("\n"));
        }
        let draft = Draft::new(file_name(input.name), SourceKind::Document, DraftBody::Text(rows.text));
        emit(Event::Draft(Draft { metadata, remarks, n_replaced: decoded.n_replaced, ..draft }))
    }
}

/// What a table says.
#[derive(Debug, Default)]
struct Rows {
    header: Vec<String>,
    n_rows: u64,
    text: String,
}

/// The character that the first lines have most of, among those that delimit.
fn delimiter(text: &str) -> u8 {
    let n_in =
        |mark: u8| text.lines().take(LINES_LOOKED_AT).map(|line| line.bytes().filter(|b| *b == mark).count()).sum();
    let counted: [(usize, u8); 4] = [b'|', b'\t', b';', b','].map(|mark| (n_in(mark), mark));
    counted.into_iter().max_by_key(|(n, _)| *n).map_or(b',', |(_, mark)| mark)
}

fn rows(text: &str, delimiter: u8) -> std::result::Result<Rows, Trouble> {
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.has_headers(false).flexible(true).delimiter(delimiter).from_reader(text.as_bytes());
    let mut out = Rows::default();
    let mut is_first = true;
    for record in reader.records() {
        let record = record.map_err(|error| {
            let place = error.position().map_or(String::new(), |at| format!("line {}", at.line()));
            Trouble::new(place, format!("no table: {error}"), "import it as text with --format text")
        })?;
        let cells: Vec<String> =
            record.iter().map(|cell| cell.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        if std::mem::take(&mut is_first) && is_header(&cells) {
            out.header = cells;
            continue;
        }
        let line: Vec<String> = cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| !cell.is_empty())
            .map(|(idx, cell)| match out.header.get(idx) {
                Some(name) => format!("{name}: {cell}"),
                None => cell.clone(),
            })
            .collect();
        if !line.is_empty() {
            out.n_rows += 1;
            out.text.push_str(if out.text.is_empty() { "" } else { "\n" });
            out.text.push_str(&line.join("; "));
            out.text.push('\n');
        }
    }
    // A table of a header alone says its names.
    if out.n_rows == 0 {
        out.text = out.header.join("; ");
    }
    Ok(out)
}

/// Whether a first row names its columns: each cell is another name and none a number.
fn is_header(cells: &[String]) -> bool {
    let is_name = |cell: &String| cell.chars().any(char::is_alphabetic) && cell.parse::<f64>().is_err();
    let mut names: Vec<&String> = cells.iter().collect();
    names.sort_unstable();
    names.dedup();
    names.len() == cells.len() && cells.iter().all(is_name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> String {
        rows(text, delimiter(text)).unwrap().text
    }

    #[test]
    fn a_row_names_its_values() {
        assert_eq!(
            read("kind,days\nplum,7\n\"pear, \"\"late\"\"\nand sweet\",\n"),
            "kind: plum; days: 7\n\nkind: pear, \"late\" and sweet\n"
        );
        assert_eq!(read("kind;days\nplum;7,5;x\n"), "kind: plum; days: 7,5; x\n");
        assert_eq!(read("plum\t7\npear\t9\n"), "plum; 7\n\npear; 9\n");
        assert_eq!(read("kind,days\n"), "kind; days");
    }

    proptest! {
        #[test]
        fn any_text_is_a_table_or_told(text in "([,;|\t\"\n]|\\PC{0,3}){0,40}") {
            let _ = rows(&text, delimiter(&text));
        }
    }
}
