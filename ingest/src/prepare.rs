//! A source's state to an entry with sentences: split, counted, digested and annotated.

use index::model::{Sentence, SourceEntry, Span, TextDigest};
use kernels::Embedder;

use crate::annotate::{self, Notes};
use crate::split;
use crate::version::{Origin, State};
use read::{Draft, Form};

/// A source on its way through the corridor; each room adds its part.
pub(crate) struct Prepared {
    /// Where it comes from and goes to.
    pub origin: Origin,
    /// As the archive gave it: what a retry after a conflict starts from.
    pub draft: Draft,
    /// What is written in the end.
    pub entry: SourceEntry,
    /// What each sentence names.
    pub notes: Vec<Notes>,
    /// The community each chunk was cut from, counted within the source.
    pub communities: Vec<Option<u32>>,
}

/// Splits a state into sentences.
pub(crate) fn prepare(origin: Origin, draft: Draft, state: State, embedder: &dyn Embedder) -> Prepared {
    let State { mut source, text, turns } = state;
    let mut sentences = Vec::new();
    let mut notes = Vec::new();
    let whole = [(Span::new(0, text.len() as u64), None)];
    let parts: Vec<(Span, Option<usize>)> = if turns.is_empty() {
        whole.to_vec()
    } else {
        turns.iter().enumerate().map(|(idx, turn)| (turn.span, Some(idx))).collect()
    };
    for (span, turn_idx) in parts {
        let Some(part) = span.slice(&text) else { continue };
        let form = if turn_idx.is_some() { Form::Plain } else { draft.form };
        let turn = turn_idx.and_then(|idx| turns.get(idx));
        for piece in split::sentences(part, form, embedder) {
            let words = &part[piece.range.clone()];
            sentences.push(Sentence {
                span: Span::new(span.start + piece.range.start as u64, span.start + piece.range.end as u64),
                turn: turn_idx.and_then(|idx| u32::try_from(idx).ok()).unwrap_or(0),
                digest: TextDigest::of(words),
                n_tokens: piece.n_tokens,
            });
            let role = turn.map_or(index::model::Role::Unknown, |turn| turn.role);
            notes.push(annotate::sentence(words, role, turn.and_then(|turn| turn.said_at)));
            source.n_tokens += u64::from(piece.n_tokens);
            source.n_unknown += u64::from(piece.n_unknown);
        }
    }
    Prepared {
        origin,
        draft,
        entry: SourceEntry {
            source,
            text,
            turns,
            sentences,
            vectors: Vec::new(),
            chunks: Vec::new(),
            edges: Vec::new(),
        },
        notes,
        communities: Vec::new(),
    }
}
