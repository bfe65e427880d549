//! Text to sentences with their byte spans.
//!
//! Blocks first (paragraphs, list items, headings, table rows, code), then Unicode sentence borders
//! within prose, then the model's window. Every letter and digit is in exactly one sentence; only
//! white space and stretches of pure markup are in none. Knows no turns: the caller splits each.
//!
//! Source: Unicode Standard Annex #29, Sentence Boundaries.

mod blocks;
mod prose;

use std::ops::Range;

use kernels::Embedder;

use read::Form;

use blocks::{Block, BlockKind};

/// So many lines of code make one sentence at most.
const CODE_LINES_MAX: usize = 12;

/// A sentence before it has a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// Its wordpieces, without special ones.
    pub n_tokens: u32,
    /// Those the model has no entry for.
    pub n_unknown: u32,
}

/// Splits `text` into sentences that each fit the model's window.
pub(crate) fn sentences(text: &str, form: Form, embedder: &dyn Embedder) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for range in unfitted(text, form) {
        for fitted in embedder.fit(&text[range.clone()]) {
            let part = range.start + fitted.range.start..range.start + fitted.range.end;
            let part = trim(text, part);
            if is_worth(&text[part.clone()]) {
                pieces.push(Piece { range: part, n_tokens: fitted.count.n_tokens, n_unknown: fitted.count.n_unknown });
            }
        }
    }
    pieces
}

/// Splits `text` into sentences of any length.
fn unfitted(text: &str, form: Form) -> Vec<Range<usize>> {
    let blocks = match form {
        Form::Plain => blocks::plain(text),
        Form::Markdown => blocks::markdown(text),
    };
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for block in blocks {
        match block.kind {
            BlockKind::Prose => ranges.extend(prose::sentences(text, block.range)),
            BlockKind::Code => ranges.extend(code_groups(text, &block)),
        }
    }
    let ranges = ranges.into_iter().map(|range| trim(text, range)).filter(|range| is_worth(&text[range.clone()]));
    attach_fragments(text, ranges)
}

/// Code in groups of lines: up to a blank line, at most [`CODE_LINES_MAX`].
fn code_groups(text: &str, block: &Block) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut start = block.range.start;
    let mut at = start;
    let mut n_lines = 0;
    for line in text[block.range.clone()].split_inclusive('\n') {
        at += line.len();
        n_lines += 1;
        if n_lines == CODE_LINES_MAX || line.trim().is_empty() {
            groups.push(start..at);
            start = at;
            n_lines = 0;
        }
    }
    groups.push(start..block.range.end);
    groups
}

/// Joins what says nothing alone (`1.`, `(a)`) with what follows it, else with what is before.
fn attach_fragments(text: &str, ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    let mut waiting: Option<Range<usize>> = None;
    let is_near = |left: &Range<usize>, right: &Range<usize>| {
        let gap = &text[left.end..right.start];
        gap.trim().is_empty() && gap.matches('\n').count() < 2
    };
    for range in ranges {
        let range = match waiting.take() {
            Some(fragment) if is_near(&fragment, &range) => fragment.start..range.end,
            Some(fragment) => {
                joined.push(fragment);
                range
            }
            None => range,
        };
        if is_fragment(&text[range.clone()]) {
            waiting = Some(range);
        } else {
            joined.push(range);
        }
    }
    if let Some(fragment) = waiting {
        match joined.last_mut() {
            Some(last) if is_near(last, &fragment) => last.end = fragment.end,
            _ => joined.push(fragment),
        }
    }
    joined
}

/// A number or a letter with its marks: an enumeration, not a sentence.
fn is_fragment(text: &str) -> bool {
    let n_letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let n_digits = text.chars().filter(|c| c.is_numeric()).count();
    let has_mark = text.ends_with(['.', ')', ':']);
    has_mark && n_letters <= 1 && n_digits <= 3
}

fn is_worth(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// Cuts white space at both ends, and a list, heading or quote mark at the start.
fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let mut slice = &text[range.clone()];
    loop {
        slice = slice.trim_start();
        let n_marks = slice.len() - slice.trim_start_matches(['#', '>', '*', '-', '+', '|', '•']).len();
        if n_marks == 0 || !slice[n_marks..].starts_with([' ', '\t', '\n']) {
            break;
        }
        slice = &slice[n_marks..];
    }
    let start = range.end - slice.len();
    start..start + slice.trim_end().len()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn check(form: Form, text: &str, expected: Expect) {
        let mut out = String::new();
        for range in unfitted(text, form) {
            writeln!(out, "{:?}", &text[range]).unwrap();
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn wrapped_prose_is_one_sentence_and_abbreviations_do_not_end() {
        check(
            Form::Plain,
            "Mr. Smith met Dr. J. K. Brown at 3.30 p.m. on Monday, e.g. near the old\nharbour. They spoke. Then\nhe left! Why?",
            expect![[r#"
                "Mr. Smith met Dr. J. K. Brown at 3.30 p.m. on Monday, e.g. near the old\nharbour."
                "They spoke."
                "Then\nhe left!"
                "Why?"
            "#]],
        );
    }

    #[test]
    fn lists_headings_and_tables_break() {
        check(
            Form::Plain,
            "Shopping\n========\n\n1. Milk\n2. Bread and\n   butter\n- tea\n\n| a | b |\n|---|---|\n| c | d |\n# Head\nText here\n---\n",
            expect![[r#"
                "Shopping"
                "1. Milk"
                "2. Bread and\n   butter"
                "tea"
                "a | b |"
                "c | d |"
                "Head"
                "Text here"
            "#]],
        );
    }

    #[test]
    fn short_chat_lines_stand_alone() {
        check(
            Form::Plain,
            "Hi Ana\nGot the tickets\n🎉🎉\nSee you at 7!",
            expect![[r#"
                "Hi Ana"
                "Got the tickets"
                "See you at 7!"
            "#]],
        );
    }

    #[test]
    fn code_is_kept_in_groups_of_lines() {
        check(
            Form::Plain,
            "Run this::\n\n    let a = 1. + b;\n    go(a)\n\nDone.\n\n```sh\nls -l\n\ncd x\n```\n>>> 1 + 1\n2\n",
            expect![[r#"
                "Run this::"
                "let a = 1. + b;\n    go(a)"
                "Done."
                "```sh\nls -l"
                "cd x\n```"
                "1 + 1\n2"
            "#]],
        );
    }

    #[test]
    fn markdown_follows_its_structure() {
        check(
            Form::Markdown,
            "# The *plan*\n\nWe meet\ntomorrow. Bring:\n\n- food\n- drinks. Cold ones.\n\n> A quote\n\n```rust\nfn a() {}\n```\n\n| x | y |\n|---|---|\n| 1 | two |\n\n***\n",
            expect![[r#"
                "The *plan*"
                "We meet\ntomorrow."
                "Bring:"
                "food"
                "drinks."
                "Cold ones."
                "A quote"
                "```rust\nfn a() {}\n```"
                "x | y |"
                "1 | two |"
            "#]],
        );
    }

    #[test]
    fn scripts_without_spaces_end_at_their_own_marks() {
        check(
            Form::Plain,
            "今日は雨です。傘を持っていく。\nВсё хорошо. Пока.",
            expect![[r#"
                "今日は雨です。"
                "傘を持っていく。"
                "Всё хорошо."
                "Пока."
            "#]],
        );
    }

    fn check_invariants(text: &str, form: Form) -> std::result::Result<(), TestCaseError> {
        let embedder = kernels::hashed();
        let pieces = sentences(text, form, embedder.as_ref());
        let mut end = 0;
        let mut covered = vec![false; text.len()];
        for piece in &pieces {
            prop_assert!(piece.range.start >= end && piece.range.start < piece.range.end);
            end = piece.range.end;
            prop_assert!(text.get(piece.range.clone()).is_some());
            prop_assert!(embedder.fit(&text[piece.range.clone()]).len() <= 1);
            covered[piece.range.clone()].fill(true);
        }
        for (at, c) in text.char_indices() {
            prop_assert!(!c.is_alphanumeric() || covered[at], "{:?} at {} is in no sentence", c, at);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn every_letter_is_in_one_fitting_sentence(text in "(?s).{0,300}") {
            check_invariants(&text, Form::Plain)?;
            check_invariants(&text, Form::Markdown)?;
        }

        #[test]
        fn marked_up_text_too(parts in proptest::collection::vec(
            prop::sample::select(vec![
                "\n", "\n\n", "# ", "- ", "1. ", "```", "    ", "::", ">>> ", "| ", "---", "===", "Mr. ", "e.g. ",
                "a. ", "Word", "word", ". ", "? ", "\t", "> ", "\u{85}", "\u{2028}", "\r\n", "é", "語。", "*", "`", "[x]: y",
                "<div>", "&amp;", "[^1]:", "~~~\n",
            ]), 0..60)
        ) {
            let text = parts.concat();
            check_invariants(&text, Form::Plain)?;
            check_invariants(&text, Form::Markdown)?;
        }
    }
}
