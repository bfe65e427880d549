//! The embedder without weights: words, word pairs and character n-grams, hashed with a sign.
//!
//! Finds texts that share words or parts of words; knows no meaning. For tests, demos and machines without
//! a model. Source: Weinberger et al., arXiv:0902.2206 (feature hashing).

use rayon::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::{Embedder, EmbedderId, Fitted, Role, TokenCount, pool, tokens};
use crate::{Error, Result, Vectors};

const DIM: usize = 384;
const WINDOW: u32 = 256;
/// Letters of a word that count as one token; English has about 1.3 word pieces a word.
const TOKEN_CHARS: u32 = 6;
const WORD: f32 = 1.0;
/// Short words are mostly grammar.
const SHORT_WORD: f32 = 0.25;
const WORD_PAIR: f32 = 0.4;
const GRAM: f32 = 0.2;
const SYMBOL: f32 = 0.1;

/// Hashed features, version 1.
pub(super) struct Hashed {
    id: EmbedderId,
}

impl Hashed {
    pub(super) fn new() -> Self {
        let id = EmbedderId {
            name: "hashed".to_owned(),
            digest: "hashed-v1".to_owned(),
            dim: DIM as u32,
            pooling: "sum".to_owned(),
            query_prompt: String::new(),
            passage_prompt: String::new(),
            window: WINDOW,
        };
        Self { id }
    }
}

impl Embedder for Hashed {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    fn count(&self, text: &str) -> TokenCount {
        tokens::count(text, count_piece)
    }

    fn fit(&self, text: &str) -> Vec<Fitted> {
        tokens::fit(text, WINDOW - 2, count_piece)
    }

    fn embed(&self, texts: &[&str], _role: Role) -> Result<Vectors> {
        for (text_idx, text) in texts.iter().enumerate() {
            let n_tokens = self.count(text).n_tokens as usize + 2;
            let window = WINDOW as usize;
            if n_tokens > window {
                return Err(Error::TooLong { text_idx, n_tokens, window });
            }
        }
        let mut data = vec![0.0; texts.len() * DIM];
        data.par_chunks_exact_mut(DIM).zip(texts.par_iter()).try_for_each(|(row, text)| embed_text(text, row))?;
        Vectors::new(data, DIM).ok_or_else(|| Error::Invalid { reason: "no shape".to_owned() })
    }
}

/// A token is up to `TOKEN_CHARS` letters of a word, or a sign.
fn count_piece(piece: &str) -> TokenCount {
    let (mut n_tokens, mut run) = (0, 0);
    for c in piece.chars() {
        let letter = c.is_alphanumeric();
        if !letter || run % TOKEN_CHARS == 0 {
            n_tokens += 1;
        }
        run = if letter { run + 1 } else { 0 };
    }
    TokenCount { n_tokens, n_unknown: 0 }
}

fn embed_text(text: &str, row: &mut [f32]) -> Result<()> {
    let lower = text.to_lowercase();
    let mut before = None;
    for word in lower.unicode_words() {
        let share = if word.chars().count() <= 3 { SHORT_WORD } else { WORD };
        add(row, b"w", word.as_bytes(), share);
        add_grams(row, word, share * GRAM);
        if let Some(before) = before {
            add(row, b"p", format!("{before} {word}").as_bytes(), WORD_PAIR * share);
        }
        before = Some(word);
    }
    for sign in lower.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace()) {
        add(row, b"s", sign.encode_utf8(&mut [0; 4]).as_bytes(), SYMBOL);
    }
    if row.iter().all(|&value| value == 0.0) {
        row[0] = 1.0; // a text without any feature still needs a direction
    }
    pool::to_unit(row)
}

/// Adds the n-grams of 3 to 5 characters of `<word>`.
fn add_grams(row: &mut [f32], word: &str, share: f32) {
    let marked = format!("<{word}>");
    let mut borders: Vec<usize> = marked.char_indices().map(|(at, _)| at).collect();
    borders.push(marked.len());
    for n in 3..=5 {
        for gram in borders.windows(n + 1) {
            add(row, b"g", &marked.as_bytes()[gram[0]..gram[n]], share);
        }
    }
}

/// Adds a feature: its hash picks the place and the sign.
fn add(row: &mut [f32], kind: &[u8], feature: &[u8], share: f32) {
    let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = kind.iter().chain(feature).fold(0xcbf2_9ce4_8422_2325, fnv);
    // FNV's low bits are weak; one round of splitmix64 mixes them.
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 31;
    let place = (hash % row.len() as u64) as usize;
    row[place] += if hash >> 63 == 0 { share } else { -share };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        let vectors = Hashed::new().embed(&[a, b], Role::Passage).expect("fits");
        vectors.row(0).iter().zip(vectors.row(1)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn shared_words_bring_texts_together() {
        let near = cosine("The ferry leaves Lisbon at noon", "When does the Lisbon ferry leave?");
        let far = cosine("The ferry leaves Lisbon at noon", "My sister grows tomatoes in pots");
        assert!(near > 0.4 && far < 0.15, "{near} {far}");
    }

    #[test]
    fn a_text_without_words_is_a_unit_vector_too() {
        for text in ["", " ", "!?", "🦀🦀", "a"] {
            assert!((cosine(text, text) - 1.0).abs() < 1e-6, "{text:?}");
        }
    }

    #[test]
    fn letters_count_by_sixes() {
        assert_eq!(Hashed::new().count("abcdefg hi!").n_tokens, 4);
    }
}
