//! Text to index terms: words folded and stemmed, bigrams where a script has no spaces.
//!
//! The same function serves writing, live tables and questions, so they cannot disagree.

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// A term longer than this many bytes is cut: nobody asks for more, and a bound keeps the index small.
const TERM_BYTES_MAX: usize = 64;

/// Words that say nothing of a text's subject. Sorted; looked up by binary search.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "before", "being", "but", "by", "can", "could", "did", "do", "does", "doing", "don", "down", "for", "from",
    "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is",
    "it", "its", "just", "ll", "m", "me", "more", "most", "my", "no", "not", "now", "of", "off", "on", "once", "only",
    "or", "other", "our", "out", "over", "own", "re", "s", "same", "she", "should", "so", "some", "such", "t", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "under",
    "until", "up", "us", "ve", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom",
    "why", "will", "with", "would", "you", "your",
];

/// Turns text into terms. Cheap to make; not shared between threads.
pub struct Analyzer {
    stemmer: Stemmer,
}

impl Default for Analyzer {
    fn default() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English) }
    }
}

impl Analyzer {
    /// The terms of `text` in order, stop words left out.
    ///
    /// Words are NFKC-folded, lower case, without their possessive and stemmed (Porter 2). Runs of
    /// Han, Kana and Thai letters become overlapping pairs; a single such letter stands alone.
    pub fn terms(&self, text: &str) -> Vec<String> {
        let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
        let mut terms = Vec::new();
        // Word borders split a spaceless run letter by letter or by dictionary, so it is gathered whole first.
        for piece in split_scripts(&folded) {
            if piece.spaceless {
                push_pairs(piece.text, &mut terms);
            } else {
                self.push_words(piece.text, &mut terms);
            }
        }
        terms
    }

    fn push_words(&self, text: &str, terms: &mut Vec<String>) {
        for word in text.unicode_words() {
            for part in word.split(['\'', '’', '.', '_', ':']) {
                if part.is_empty() || STOP_WORDS.binary_search(&part).is_ok() {
                    continue;
                }
                terms.push(cut(&self.stemmer.stem(part)).to_owned());
            }
        }
    }
}

struct Piece<'a> {
    text: &'a str,
    spaceless: bool,
}

/// Cuts `text` where a script without spaces begins or ends.
fn split_scripts(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut current = None;
    for (at, letter) in text.char_indices() {
        let spaceless = is_spaceless(letter);
        match current {
            Some(before) if before != spaceless => {
                pieces.push(Piece { text: &text[start..at], spaceless: before });
                start = at;
                current = Some(spaceless);
            }
            Some(_) => {}
            None => current = Some(spaceless),
        }
    }
    if let Some(spaceless) = current {
        pieces.push(Piece { text: &text[start..], spaceless });
    }
    pieces
}

fn is_spaceless(letter: char) -> bool {
    matches!(letter,
        '\u{0e00}'..='\u{0e7f}'      // Thai
        | '\u{0e80}'..='\u{0eff}'    // Lao
        | '\u{1000}'..='\u{109f}'    // Myanmar
        | '\u{1780}'..='\u{17ff}'    // Khmer
        | '\u{3040}'..='\u{30ff}'    // Hiragana, Katakana
        | '\u{3400}'..='\u{4dbf}'    // Han
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}')
}

fn push_pairs(run: &str, terms: &mut Vec<String>) {
    let letters: Vec<char> = run.chars().collect();
    if let [only] = letters[..] {
        terms.push(only.to_string());
    }
    terms.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
}

fn cut(term: &str) -> &str {
    let mut end = term.len().min(TERM_BYTES_MAX);
    while !term.is_char_boundary(end) {
        end -= 1;
    }
    &term[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(Analyzer::default().terms(text), expected);
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn words_are_folded_stemmed_and_stopped() {
        check("The runner's dogs were RUNNING", &["runner", "dog", "run"]);
        check("Ｃａｆé — naïve", &["café", "naïv"]);
        check("", &[]);
        check("the of and", &[]);
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        check("東京都", &["東京", "京都"]);
        check("犬 and cats", &["犬", "cat"]);
        check("กขค", &["กข", "ขค"]);
    }

    #[test]
    fn a_term_has_a_bound() {
        let terms = Analyzer::default().terms(&"é".repeat(1_000));
        assert!(terms.iter().all(|term| term.len() <= TERM_BYTES_MAX));
    }
}
