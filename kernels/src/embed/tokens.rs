//! Texts to tokens: bounded pieces, counts, ranges that fit a window, batches under a token budget.
//!
//! A text is walked once, piece by piece, however long it is. A piece never crosses white space, and an
//! unbroken run is cut before WordPiece would give up on it (at 100 characters) and call it one unknown.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{PoisonError, RwLock};

use tokenizers::Tokenizer;

use super::{Fitted, TokenCount};
use crate::{Error, Result};

/// Longest unbroken run, in characters after normalisation: `max_input_chars_per_word` of WordPiece.
const RUN_CHARS_MAX: usize = 100;
/// A piece this long, in characters after normalisation, ends at its next border.
const PIECE_CHARS: usize = 16;
/// No piece has more tokens than this: a token holds a character at least.
pub(super) const PIECE_TOKENS_MAX: u32 = (RUN_CHARS_MAX + PIECE_CHARS) as u32;
/// Words kept with their tokens: about 8 MB.
const CACHED_WORDS_MAX: usize = 65_536;
/// Longer words are rare and not kept.
const CACHED_WORD_BYTES_MAX: usize = 48;

/// A stretch of a text without white space, at most [`PIECE_TOKENS_MAX`] tokens long.
struct Piece {
    range: Range<usize>,
    /// Whether white space, or the start of the text, is before it.
    starts_word: bool,
}

/// Walks the pieces of a text.
struct Pieces<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let rest = &self.text[self.at..];
        let skipped = rest.len() - rest.trim_start().len();
        let starts_word = self.at == 0 || skipped > 0;
        let start = self.at + skipped;
        self.at = start + piece_len(&self.text[start..]);
        (start < self.at).then_some(Piece { range: start..self.at, starts_word })
    }
}

/// Bytes of the piece that `text` starts with; 0 when `text` is empty.
fn piece_len(text: &str) -> usize {
    let (mut n_chars, mut run) = (0, 0);
    for (at, c) in text.char_indices() {
        if c.is_whitespace() {
            return at;
        }
        let width = normal_chars(c);
        if is_border(c) {
            run = 0;
            if n_chars >= PIECE_CHARS {
                return at;
            }
        } else {
            if run + width > RUN_CHARS_MAX {
                return at;
            }
            // A run that starts here may be cut off from what is before it: that is a border too.
            if run == 0 && n_chars >= PIECE_CHARS {
                return at;
            }
            run += width;
        }
        n_chars += width;
    }
    text.len()
}

/// Characters that WordPiece splits at and keeps as words of their own. Missing ones only cost a cut more.
fn is_border(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c,
            '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}'
            | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}'
            | '\u{3008}'..='\u{3011}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

/// At most how many characters `c` is after decomposition and lowercasing.
fn normal_chars(c: char) -> usize {
    if c.is_ascii() {
        return 1;
    }
    let mut n_chars = 0;
    unicode_normalization::char::decompose_canonical(c, |part| {
        n_chars += part.to_lowercase().count();
    });
    n_chars.max(1)
}

/// Counts a text of any length by a counter of pieces.
pub(super) fn count(text: &str, count_piece: impl Fn(&str) -> TokenCount) -> TokenCount {
    let pieces = Pieces { text, at: 0 };
    pieces.fold(TokenCount::default(), |sum, piece| sum.plus(count_piece(&text[piece.range])))
}

/// Cuts a text into ranges of at most `budget` tokens, between words where there are any.
///
/// `budget` is at least [`PIECE_TOKENS_MAX`], so that every piece fits.
pub(super) fn fit(text: &str, budget: u32, count_piece: impl Fn(&str) -> TokenCount) -> Vec<Fitted> {
    let mut fitted = Vec::new();
    let (mut start, mut word_start) = (0, 0);
    // What the open range holds: whole words, and the word that the walk is in.
    let (mut words, mut word) = (TokenCount::default(), TokenCount::default());
    for piece in (Pieces { text, at: 0 }) {
        let next = count_piece(&text[piece.range.clone()]);
        if piece.starts_word {
            words = words.plus(word);
            word = TokenCount::default();
            word_start = piece.range.start;
        }
        if words.n_tokens + word.n_tokens + next.n_tokens > budget {
            let whole_word_fits = word.n_tokens + next.n_tokens <= budget;
            if words.n_tokens > 0 && whole_word_fits {
                fitted.push(Fitted { range: start..word_start, count: words });
                start = word_start;
            } else {
                fitted.push(Fitted { range: start..piece.range.start, count: words.plus(word) });
                start = piece.range.start;
                word_start = start;
                word = TokenCount::default();
            }
            words = TokenCount::default();
        }
        word = word.plus(next);
    }
    if start < text.len() {
        fitted.push(Fitted { range: start..text.len(), count: words.plus(word) });
    }
    fitted
}

impl TokenCount {
    fn plus(self, other: Self) -> Self {
        Self {
            n_tokens: self.n_tokens.saturating_add(other.n_tokens),
            n_unknown: self.n_unknown.saturating_add(other.n_unknown),
        }
    }
}

/// A model's own tokenizer, with the tokens of frequent words at hand.
pub(super) struct Vocabulary {
    tokenizer: Tokenizer,
    /// The token of what the model does not know.
    unknown: u32,
    /// The token before every text.
    first: u32,
    /// The token after every text.
    last: u32,
    cached: RwLock<HashMap<Box<str>, Box<[u32]>>>,
}

impl Vocabulary {
    /// Takes a tokenizer: truncation and padding off, and texts cannot name special tokens.
    ///
    /// # Errors
    /// The reason, when it lacks BERT's special tokens.
    pub(super) fn new(mut tokenizer: Tokenizer) -> std::result::Result<Self, String> {
        tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
        tokenizer.with_padding(None);
        tokenizer.set_encode_special_tokens(true);
        let id = |token: &str| tokenizer.token_to_id(token).ok_or_else(|| format!("it has no token {token}"));
        let (unknown, first, last) = (id("[UNK]")?, id("[CLS]")?, id("[SEP]")?);
        Ok(Self { tokenizer, unknown, first, last, cached: RwLock::default() })
    }

    /// Whether capitals and small letters are the same tokens.
    pub(super) fn lowers_case(&self) -> bool {
        let tokens = |text| self.tokenizer.encode_fast(text, false).map(|encoding| encoding.get_ids().to_vec()).ok();
        tokens("A Table") == tokens("a table")
    }

    /// Counts one piece.
    pub(super) fn count_piece(&self, piece: &str) -> TokenCount {
        let counted = |tokens: &[u32]| TokenCount {
            n_tokens: tokens.len() as u32,
            n_unknown: tokens.iter().filter(|&&token| token == self.unknown).count() as u32,
        };
        // A tokenizer that fails says so again, and aloud, when the text is embedded.
        self.with_tokens(piece, counted).unwrap_or(TokenCount { n_tokens: PIECE_TOKENS_MAX, n_unknown: 0 })
    }

    /// The tokens of `prompt` and `text` between the special ones.
    ///
    /// # Errors
    /// [`Error::Compute`] when the tokenizer fails.
    pub(super) fn tokens(&self, prompt: &str, text: &str) -> Result<Vec<u32>> {
        let mut tokens = vec![self.first];
        for text in [prompt, text] {
            for piece in (Pieces { text, at: 0 }) {
                self.with_tokens(&text[piece.range], |more| tokens.extend_from_slice(more))?;
            }
        }
        tokens.push(self.last);
        Ok(tokens)
    }

    fn with_tokens<T>(&self, piece: &str, mut use_tokens: impl FnMut(&[u32]) -> T) -> Result<T> {
        {
            // A panic elsewhere cannot leave the map half written: entries are inserted whole.
            let cached = self.cached.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(tokens) = cached.get(piece) {
                return Ok(use_tokens(tokens));
            }
        }
        let encoding =
            self.tokenizer.encode_fast(piece, false).map_err(|error| Error::Compute { reason: error.to_string() })?;
        let tokens = encoding.get_ids();
        if piece.len() <= CACHED_WORD_BYTES_MAX {
            let mut cached = self.cached.write().unwrap_or_else(PoisonError::into_inner);
            if cached.len() < CACHED_WORDS_MAX {
                cached.insert(piece.into(), tokens.into());
            }
        }
        Ok(use_tokens(tokens))
    }
}

/// Groups texts into batches of at most `tokens_max` tokens; `lens` is tokens a text, none above `window`.
///
/// The longest text that is left and fits goes in next, so that batches are full and of similar texts. Every text is
/// in one batch; a text alone may exceed the budget. Work is O(texts · window) at worst.
pub(super) fn batches(lens: &[usize], tokens_max: usize) -> Vec<Vec<usize>> {
    let len_max = lens.iter().copied().max().unwrap_or(0);
    let mut by_len: Vec<Vec<usize>> = vec![Vec::new(); len_max + 1];
    for (text, &len) in lens.iter().enumerate().rev() {
        by_len[len].push(text);
    }
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    let mut longest = len_max;
    for _ in 0..lens.len() {
        while by_len[longest].is_empty() {
            longest -= 1;
        }
        let fits = (0..=room.min(longest)).rev().find(|&len| !by_len[len].is_empty());
        let len = fits.unwrap_or(longest);
        let Some(text) = by_len[len].pop() else { break };
        match batches.last_mut().filter(|_| fits.is_some()) {
            Some(batch) => {
                batch.push(text);
                room -= len;
            }
            None => {
                batches.push(vec![text]);
                room = tokens_max.saturating_sub(len);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    /// A tokenizer whose token is a character.
    fn chars(piece: &str) -> TokenCount {
        TokenCount { n_tokens: piece.chars().count() as u32, n_unknown: 0 }
    }

    fn cut(text: &str) -> Vec<&str> {
        fit(text, PIECE_TOKENS_MAX, chars).into_iter().map(|part| &text[part.range]).collect()
    }

    #[test]
    fn a_text_that_fits_is_one_range() {
        assert_eq!(cut("a few words"), ["a few words"]);
        assert_eq!(cut(" "), [" "]);
        assert!(cut("").is_empty());
    }

    #[test]
    fn a_long_text_is_cut_between_words() {
        let word = "x".repeat(70);
        assert_eq!(cut(&format!("{word} {word}")), [format!("{word} "), word]);
    }

    #[test]
    fn an_unbroken_run_is_cut_anyway() {
        let parts = cut(&"x".repeat(450)).iter().map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(parts, [100, 100, 100, 100, 50]);
    }

    #[test]
    fn a_huge_unbroken_text_is_looked_at_once() {
        let text = "0123456789abcdefghijklmnopqrstuvwxyzåö".repeat(100_000);
        let (n_bytes, longest) = (Cell::new(0), Cell::new(0));
        let counter = |piece: &str| {
            n_bytes.set(n_bytes.get() + piece.len());
            longest.set(longest.get().max(piece.len()));
            chars(piece)
        };
        assert!(fit(&text, 254, counter).len() >= 3_800_000 / 254);
        assert_eq!(n_bytes.get(), text.len());
        assert!(longest.get() <= 4 * PIECE_TOKENS_MAX as usize);
    }

    #[test]
    fn batches_hold_every_text_once() {
        let batches = batches(&[3, 9, 1, 4, 4], 8);
        assert_eq!(batches, [vec![1], vec![3, 4], vec![0, 2]]);
    }

    proptest! {
        #[test]
        fn ranges_cover_every_byte_and_fit(text in "([a-c]{0,150}|[ \n.,é한漢]|\\PC){0,40}") {
            let parts = fit(&text, PIECE_TOKENS_MAX, chars);
            let mut at = 0;
            for part in &parts {
                prop_assert_eq!(part.range.start, at);
                prop_assert!(part.count.n_tokens <= PIECE_TOKENS_MAX);
                prop_assert_eq!(part.count, count(&text[part.range.clone()], chars));
                at = part.range.end;
            }
            prop_assert_eq!(at, text.len());
        }
    }
}
