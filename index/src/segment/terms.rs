//! The terms of turns and chunks: what is indexed, counted and asked for.

use rayon::prelude::*;

use super::chunk_text;
use crate::analyze::Analyzer;
use crate::model::{Chunk, ChunkKind, Sentence, SourceEntry, Turn};

/// The terms of each turn and each chunk of some sources, row by row.
#[derive(Default)]
pub(crate) struct Terms {
    /// Of each turn, in order.
    pub(crate) turns: Vec<Vec<String>>,
    /// Of each chunk, in order.
    pub(crate) chunks: Vec<Vec<String>>,
}

impl Terms {
    /// The terms of all turns and chunks of `entries`.
    pub(crate) fn of(entries: &[SourceEntry]) -> Self {
        let each: Vec<Self> = entries
            .par_iter()
            .map(|entry| Self::of_source(&entry.text, &entry.turns, &entry.sentences, &entry.chunks))
            .collect();
        let mut all = Self::default();
        for one in each {
            all.turns.extend(one.turns);
            all.chunks.extend(one.chunks);
        }
        all
    }

    /// The terms of one source's turns and chunks. Rows outside the text have no terms.
    pub(crate) fn of_source(text: &str, turns: &[Turn], sentences: &[Sentence], chunks: &[Chunk]) -> Self {
        let analyzer = Analyzer::default();
        let turn_terms = |turn: &Turn| {
            let mut terms = analyzer.terms(&turn.author);
            terms.extend(analyzer.terms(turn.span.slice(text).unwrap_or("")));
            terms
        };
        let chunk_terms = |chunk: &Chunk| {
            let mut terms = author_terms(&analyzer, chunk, turns, sentences);
            terms.extend(analyzer.terms(&chunk_text(text, chunk).unwrap_or_default()));
            terms
        };
        Self { turns: turns.iter().map(turn_terms).collect(), chunks: chunks.iter().map(chunk_terms).collect() }
    }
}

/// The authors of an exchange, once for each of its turns: who said it is part of what was said.
fn author_terms(analyzer: &Analyzer, chunk: &Chunk, turns: &[Turn], sentences: &[Sentence]) -> Vec<String> {
    if chunk.kind != ChunkKind::Exchange {
        return Vec::new();
    }
    let rows = chunk.sentences.iter().filter_map(|&row| sentences.get(row as usize));
    let mut turn_rows: Vec<u32> = rows.map(|sentence| sentence.turn).collect();
    turn_rows.dedup();
    let authors = turn_rows.iter().filter_map(|&row| turns.get(row as usize));
    authors.flat_map(|turn| analyzer.terms(&turn.author)).collect()
}
