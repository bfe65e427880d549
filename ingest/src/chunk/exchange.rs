//! Exchanges: something said and what answered it, whole turns where the budget allows.

use index::model::{ChunkKind, SourceEntry};

use super::{Cut, as_u32, cut_in_order};

/// An exchange has at most so many turns.
const TURNS_MAX: usize = 6;

/// The turns of one session with their sentences: turns without a sentence are left out.
struct Said {
    author: String,
    session: u32,
    sentences: Vec<u32>,
    n_tokens: u64,
}

/// The exchanges of a conversation, in order, covering every sentence.
///
/// An exchange opens with the turns of one author and holds the answers up to that author's next turn.
/// A turn that does not fit opens the next exchange; one that is too long by itself is cut.
pub(super) fn all(entry: &SourceEntry, tokens_max: u32) -> Vec<Cut> {
    let said = said(entry);
    let mut cuts = Vec::new();
    let mut at = 0;
    while at < said.len() {
        let n_turns = length(&said[at..], tokens_max);
        let turns = &said[at..at + n_turns];
        let sentences: Vec<u32> = turns.iter().flat_map(|turn| turn.sentences.iter().copied()).collect();
        // Only a single turn can be over the budget.
        for sentences in cut_in_order(&entry.sentences, &sentences, tokens_max) {
            cuts.push(Cut { kind: ChunkKind::Exchange, session: turns[0].session, sentences, community: None });
        }
        at += n_turns;
    }
    cuts
}

fn said(entry: &SourceEntry) -> Vec<Said> {
    let mut said: Vec<Said> = Vec::new();
    let mut last_turn = None;
    for (idx, sentence) in entry.sentences.iter().enumerate() {
        if last_turn != Some(sentence.turn) {
            last_turn = Some(sentence.turn);
            let turn = entry.turns.get(sentence.turn as usize);
            // Without names the roles tell who is who.
            let author = turn.map_or(String::new(), |turn| format!("{}\0{}", turn.author, turn.role.as_str()));
            let session = turn.map_or(0, |turn| turn.session);
            said.push(Said { author, session, sentences: Vec::new(), n_tokens: 0 });
        }
        if let Some(turn) = said.last_mut() {
            turn.sentences.push(as_u32(idx));
            turn.n_tokens += u64::from(sentence.n_tokens);
        }
    }
    said
}

/// How many of `turns` the exchange holds that the first one opens.
fn length(turns: &[Said], tokens_max: u32) -> usize {
    let first = &turns[0];
    let mut answered = false;
    let mut n_tokens = first.n_tokens;
    for (n, turn) in turns.iter().enumerate().skip(1) {
        n_tokens += turn.n_tokens;
        let is_first_again = turn.author == first.author;
        let over = n_tokens > u64::from(tokens_max) || n == TURNS_MAX || turn.session != first.session;
        if over || (is_first_again && answered) {
            return n;
        }
        answered |= !is_first_again;
    }
    turns.len()
}
