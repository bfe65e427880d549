//! From the glyphs of a page to its paragraphs.
//!
//! Programs write a page in the order in which it is read, so that order is kept: glyphs that stand on one line, one
//! after the other, make a stretch, stretches a line, lines a paragraph. Only where the order jumps about are lines
//! sorted by where they stand. All lengths are in points; y grows downwards.

/// A gap of so many ems between two glyphs is a space.
const SPACE_EMS: f64 = 0.18;
/// A gap of so many ems ends a stretch: a border of a column or a table's cell.
const GAP_EMS: f64 = 1.6;
/// Glyphs whose baselines differ by less stand on one line.
const LINE_EMS: f64 = 0.35;
/// Lines further apart than so many times the usual belong to two paragraphs.
const LEADING_TIMES: f64 = 1.3;
/// A first line that begins so many ems further right than the one before it.
const INDENT_EMS: f64 = 0.8;
/// A line that ends before so much of the widest line is the last one of its paragraph.
const SHORT_LINE: f64 = 0.8;
/// So many lines of a hundred that stand above the one before them are an order that jumps about.
const JUMPS_PERCENT: usize = 30;

/// A glyph as it stands on the page, turned so that its line goes to the right.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    /// What it says.
    pub text: String,
    /// Where its baseline begins.
    pub x: f64,
    pub y: f64,
    /// How far its line goes on.
    pub width: f64,
    /// The size of its font.
    pub size: f64,
    /// By how many right angles its line was turned.
    pub turn: u8,
}

/// Glyphs that stand one after the other.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    text: String,
    x0: f64,
    x1: f64,
    y: f64,
    size: f64,
    turn: u8,
    /// Several stretches stand on it: a row of a table.
    is_row: bool,
}

/// The paragraphs of a page, with an empty line between them.
pub(super) fn paragraphs(marks: &[Mark]) -> String {
    let mut stretches = stretches(marks);
    if jumps(&stretches) {
        stretches.sort_by(|a, b| (a.turn, row(a)).cmp(&(b.turn, row(b))).then(a.x0.total_cmp(&b.x0)));
    }
    let lines = lines(stretches);
    join(&lines)
}

/// The line of a page that a stretch stands on, for sorting.
fn row(line: &Line) -> i64 {
    // A page is some thousand points high; what lies outside is clamped by the cast.
    (line.y / (line.size * LINE_EMS).max(1.0)).round() as i64
}

fn stretches(marks: &[Mark]) -> Vec<Line> {
    let mut done: Vec<Line> = Vec::new();
    let mut open: Option<Line> = None;
    for mark in marks {
        let size = mark.size.max(0.1);
        if let Some(line) = &mut open {
            let gap = mark.x - line.x1;
            let em = line.size.max(size);
            let goes_on = mark.turn == line.turn
                && (mark.y - line.y).abs() < em * LINE_EMS
                && gap < em * GAP_EMS
                && gap > -em * 0.6
                && mark.x >= line.x0;
            if goes_on {
                let is_apart = gap > em.min(size * 2.0) * SPACE_EMS;
                if is_apart && !line.text.ends_with(' ') && !mark.text.starts_with(' ') {
                    line.text.push(' ');
                }
                line.text.push_str(&mark.text);
                line.x1 = (mark.x + mark.width).max(line.x1);
                // Notes and indexes are small and raised: the line is where its larger letters are.
                if size > line.size * 1.2 {
                    (line.y, line.size) = (mark.y, size);
                }
                continue;
            }
        }
        finish(&mut done, open.take());
        open = Some(Line {
            text: mark.text.clone(),
            x0: mark.x,
            x1: mark.x + mark.width,
            y: mark.y,
            size,
            turn: mark.turn,
            is_row: false,
        });
    }
    finish(&mut done, open);
    done
}

/// Adds a stretch that says something and is not the one before it, drawn again to look bold.
fn finish(done: &mut Vec<Line>, line: Option<Line>) {
    let Some(line) = line.filter(|line| !line.text.trim().is_empty()) else { return };
    let is_again = done.iter().rev().take(8).any(|other| {
        other.text == line.text
            && (other.x0 - line.x0).abs() < line.size * 0.2
            && (other.y - line.y).abs() < line.size * 0.2
    });
    if !is_again {
        done.push(line);
    }
}

fn jumps(stretches: &[Line]) -> bool {
    let pairs = stretches.windows(2).filter(|pair| pair[0].turn == pair[1].turn);
    let n_up = pairs.filter(|pair| pair[1].y < pair[0].y - pair[0].size).count();
    stretches.len() > 8 && n_up * 100 > stretches.len() * JUMPS_PERCENT
}

/// Joins stretches that stand on one line.
fn lines(stretches: Vec<Line>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for stretch in stretches {
        if let Some(line) = lines.last_mut()
            && line.turn == stretch.turn
            && (line.y - stretch.y).abs() < line.size.max(stretch.size) * LINE_EMS
            && stretch.x0 >= line.x1 - line.size
        {
            if !line.text.ends_with(' ') {
                line.text.push(' ');
            }
            line.text.push_str(&stretch.text);
            line.x1 = stretch.x1;
            line.is_row = true;
            continue;
        }
        lines.push(stretch);
    }
    lines
}

fn join(lines: &[Line]) -> String {
    let leading = usual_leading(lines);
    let mut out = String::new();
    let mut widest = 0.0_f64;
    for (idx, line) in lines.iter().enumerate() {
        let text = line.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let previous = idx.checked_sub(1).and_then(|idx| lines.get(idx));
        match previous {
            None => {}
            Some(previous) if breaks(previous, line, leading, widest) => {
                out.push_str("\n\n");
                widest = 0.0;
            }
            Some(_) => {
                if is_hyphenated(&out, &text) {
                    out.pop();
                } else if !(is_wide(out.chars().last()) && is_wide(text.chars().next())) {
                    out.push(' ');
                }
            }
        }
        widest = widest.max(line.x1 - line.x0);
        out.push_str(&text);
    }
    out
}

/// Whether `line` begins a paragraph.
fn breaks(previous: &Line, line: &Line, leading: f64, widest: f64) -> bool {
    let step = line.y - previous.y;
    let em = previous.size.max(line.size);
    if previous.turn != line.turn
        || (previous.size - line.size).abs() > em * 0.15
        || is_item(&line.text)
        || previous.is_row
        || line.is_row
    {
        return true;
    }
    let ends = previous.text.trim_end().ends_with(['.', '!', '?', ':', '。', '！', '？', '"', '”', '»']);
    if step < 0.0 || step > em * 4.0 {
        // The next column: a sentence goes on in it, a paragraph that ended does not.
        let goes_on = line.text.trim_start().starts_with(char::is_lowercase);
        return !goes_on && (ends || step > 0.0);
    }
    let is_far = step > (leading * LEADING_TIMES).max(em * 0.9);
    let is_indented = line.x0 > previous.x0 + em * INDENT_EMS && (ends || line.x0 < previous.x0 + em * 4.0);
    let is_short = previous.x1 - previous.x0 < widest.max(line.x1 - line.x0) * SHORT_LINE && ends;
    // A line that stands right of the one before it on the same height is a cell of its own.
    is_far || is_indented || is_short || step < em * LINE_EMS
}

fn usual_leading(lines: &[Line]) -> f64 {
    let steps = lines.windows(2).map(|pair| (pair[1].y - pair[0].y, pair[0].size));
    let mut steps: Vec<f64> =
        steps.filter(|(step, size)| *step > size * 0.5 && *step < size * 3.0).map(|(step, _)| step).collect();
    steps.sort_by(f64::total_cmp);
    // The usual step lies below the middle: the steps between paragraphs are the larger ones.
    steps.get(steps.len() / 3).copied().unwrap_or(0.0)
}

/// Whether a word goes on in the next line.
fn is_hyphenated(text: &str, next: &str) -> bool {
    let mut chars = text.chars().rev();
    let is_hyphen = matches!(chars.next(), Some('-' | '\u{2010}' | '\u{ad}'));
    is_hyphen && chars.next().is_some_and(char::is_lowercase) && next.starts_with(char::is_lowercase)
}

fn is_wide(char: Option<char>) -> bool {
    char.is_some_and(
        |char| matches!(u32::from(char), 0x3000..=0x30ff | 0x3400..=0x9fff | 0xf900..=0xfaff | 0xff00..=0xffef),
    )
}

fn is_item(text: &str) -> bool {
    let text = text.trim_start();
    let n_digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_numbered = (1..=3).contains(&n_digits)
        && text[n_digits..].starts_with([')', '.'])
        && text[n_digits + 1..].starts_with(' ');
    text.starts_with(['•', '◦', '▪', '●', '‣', '∙']) || is_numbered
}

/// What a glyph says, ligatures written out.
pub(super) fn spelled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\u{fb00}' => out.push_str("ff"),
            '\u{fb01}' => out.push_str("fi"),
            '\u{fb02}' => out.push_str("fl"),
            '\u{fb03}' => out.push_str("ffi"),
            '\u{fb04}' => out.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => out.push_str("st"),
            '\0' => out.push('\u{fffd}'),
            char if char.is_whitespace() || char.is_control() => out.push(' '),
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sets lines as `x y words`, ten points high, each letter six points wide.
    fn set(lines: &[(f64, f64, &str)]) -> String {
        let mut marks = Vec::new();
        for (x, y, words) in lines {
            for (idx, char) in words.chars().enumerate() {
                let x = x + 6.0 * idx as f64;
                marks.push(Mark { text: char.to_string(), x, y: *y, width: 6.0, size: 10.0, turn: 0 });
            }
        }
        paragraphs(&marks)
    }

    #[test]
    fn lines_become_paragraphs_and_broken_words_are_joined() {
        let text = set(&[
            (50.0, 100.0, "The beds behind the shed are water-"),
            (50.0, 112.0, "ed twice a week by the neighbours."),
            (50.0, 136.0, "Nobody waters them at noon, or so"),
            (50.0, 148.0, "we say."),
        ]);
        assert_eq!(
            text,
            "The beds behind the shed are watered twice a week by the neighbours.\n\n\
             Nobody waters them at noon, or so we say."
        );
    }

    #[test]
    fn columns_are_read_one_after_the_other_and_rows_of_a_table_line_by_line() {
        let text = set(&[
            (50.0, 100.0, "The left column"),
            (50.0, 112.0, "goes on"),
            (300.0, 100.0, "in the right one"),
            (300.0, 112.0, "to its end."),
        ]);
        assert_eq!(text, "The left column goes on in the right one to its end.");
        let text = set(&[(50.0, 100.0, "bed"), (200.0, 100.0, "crop"), (50.0, 124.0, "1"), (200.0, 124.0, "beans")]);
        assert_eq!(text, "bed crop\n\n1 beans");
    }

    #[test]
    fn what_is_drawn_twice_is_said_once() {
        assert_eq!(set(&[(50.0, 100.0, "Beds"), (50.3, 100.0, "Beds")]), "Beds");
        assert_eq!(set(&[(50.0, 100.0, "Beds"), (50.0, 150.0, "Beds")]), "Beds\n\nBeds");
    }

    #[test]
    fn ligatures_are_spelled() {
        assert_eq!(spelled("\u{fb01}\u{fb03}\t"), "fiffi ");
    }
}
