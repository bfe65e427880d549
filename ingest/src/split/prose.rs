//! Prose to sentences: Unicode's borders, less those after an abbreviation.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// Abbreviations that are followed by what they belong to, without their last point, in lower case.
const ABBREVIATIONS: &[&str] = &[
    "mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr", "rev", "hon", "gen", "col", "capt", "lt", "sgt", "mt", "e.g",
    "i.e", "eg", "ie", "cf", "vs", "viz", "al", "approx", "ca", "fig", "figs", "eq", "sec", "ch", "vol", "no", "nos",
    "pp", "p", "ed", "eds", "inc", "ltd", "co", "corp", "dept", "est", "u.s", "u.k", "a.k.a", "jan", "feb", "mar",
    "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "…", "z.b", "bzw", "usw", "nr", "bsp", "vgl",
    "ggf",
];
/// Of these only one before a number is no end: `no. 5`, but `I said no.`
const BEFORE_NUMBERS: &[&str] = &[
    "no", "nos", "p", "pp", "ch", "sec", "fig", "figs", "eq", "vol", "nr", "mar", "jun", "dec", "est", "al", "ed", "co",
];

/// The sentences of the prose at `range`; a line break within it is white space.
pub(super) fn sentences(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    // Unicode ends a sentence at every line end. A space of the same length keeps the offsets.
    let unwrapped = text[range.clone()].replace(['\n', '\r'], " ");
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut joins = false;
    for (at, piece) in unwrapped.split_sentence_bound_indices() {
        let start = range.start + at;
        let end = start + piece.len();
        match out.last_mut() {
            Some(last) if joins && goes_on(&unwrapped[last.start - range.start..at], piece) => last.end = end,
            _ => out.push(start..end),
        }
        joins = true;
    }
    out
}

/// Whether `next` goes on with the sentence that `before` only seemed to end.
fn goes_on(before: &str, next: &str) -> bool {
    let Some(before) = before.trim_end().strip_suffix('.') else { return false };
    let word = before.rsplit(|c: char| c.is_whitespace() || "([{\"'“‘".contains(c)).next().unwrap_or(before);
    let word = word.to_lowercase();
    let next = next.trim_start();
    if BEFORE_NUMBERS.contains(&word.as_str()) {
        return next.starts_with(|c: char| c.is_numeric());
    }
    if ABBREVIATIONS.contains(&word.as_str()) {
        return true;
    }
    is_initial(before) && next.starts_with(char::is_uppercase)
}

/// A single capital: `J.` of `J. K. Brown`; not the `I` of `So do I.`
fn is_initial(before: &str) -> bool {
    let mut letters = before.chars().rev();
    let Some(last) = letters.next() else { return false };
    let stands_alone = letters.next().is_none_or(|c| c.is_whitespace() || c == '.' || c == '(');
    last.is_uppercase() && last != 'I' && stands_alone
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text, 0..text.len()).into_iter().map(|range| text[range].trim()).collect()
    }

    #[test]
    fn a_word_that_is_also_an_abbreviation_ends() {
        assert_eq!(split("I said no. Then he left."), ["I said no.", "Then he left."]);
        assert_eq!(split("See no. 5 and fig. 3 there."), ["See no. 5 and fig. 3 there."]);
        assert_eq!(split("So do I. We agree."), ["So do I.", "We agree."]);
    }
}
