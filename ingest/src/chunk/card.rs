//! Facts cards: what a session names, on one card. An index, not the memory.

use std::collections::{BTreeSet, HashMap};

use index::model::{Chunk, ChunkId, ChunkKind, TextDigest};
use kernels::Embedder;

use super::chunk_id;
use crate::annotate::{self, Notes, PREFERENCES_MAX};
use crate::prepare::Prepared;

/// A card names at most so many speakers.
const SPEAKERS_MAX: usize = 12;

/// The card of a session, or `None` where nothing is named in it.
pub(super) fn of(
    prepared: &Prepared,
    session: u32,
    tokens_max: u32,
    embedder: &dyn Embedder,
    nths: &mut HashMap<ChunkId, u32>,
) -> Option<Chunk> {
    let entry = &prepared.entry;
    let in_session = |turn: u32| entry.turns.get(turn as usize).filter(|turn| turn.session == session);
    let sentences = entry.sentences.iter().zip(&prepared.notes);
    let named: Vec<(&str, &Notes)> =
        sentences.filter_map(|(sentence, notes)| Some((in_session(sentence.turn)?.author.as_str(), notes))).collect();
    let notes = annotate::together(named.iter().map(|(_, notes)| *notes));
    if notes.is_empty() {
        return None;
    }
    let said_by: HashMap<&str, &str> = named
        .iter()
        .rev()
        .flat_map(|(author, notes)| notes.preferences.iter().map(move |words| (words.as_str(), *author)))
        .collect();
    let turns = entry.turns.iter().filter(|turn| turn.session == session);
    let speakers: BTreeSet<&str> =
        turns.clone().map(|turn| turn.author.as_str()).filter(|name| !name.is_empty()).collect();
    let day = turns.filter_map(|turn| turn.said_at?.to_datetime()).min().map(|at| at.date_naive().to_string());
    let head = head(session, day.as_deref(), &speakers);
    // A card is within the budget too: half as many lines until it fits.
    let mut n_max = annotate::ENTITIES_MAX;
    let (text, n_tokens) = loop {
        let text = body(&head, &notes, &said_by, n_max);
        let n_tokens = embedder.count(&text).n_tokens;
        if n_tokens <= tokens_max || n_max == 1 {
            break (text, n_tokens);
        }
        n_max /= 2;
    };
    Some(Chunk {
        id: chunk_id(entry, ChunkKind::FactsCard, &[TextDigest::of(&text)], nths),
        kind: ChunkKind::FactsCard,
        session,
        sentences: Vec::new(),
        spans: Vec::new(),
        n_tokens,
        card: Some(text),
        entities: notes.entities,
        dates: notes.dates,
        preferences: notes.preferences,
    })
}

fn head(session: u32, day: Option<&str>, speakers: &BTreeSet<&str>) -> String {
    let mut head = format!("Session {}", session.saturating_add(1));
    if let Some(day) = day {
        head.push_str(", ");
        head.push_str(day);
    }
    if !speakers.is_empty() {
        let names: Vec<&str> = speakers.iter().take(SPEAKERS_MAX).copied().collect();
        head.push_str("\nSpeakers: ");
        head.push_str(&names.join(", "));
    }
    head
}

fn body(head: &str, notes: &Notes, said_by: &HashMap<&str, &str>, n_max: usize) -> String {
    let mut lines = vec![head.to_owned()];
    let list = |items: &[String]| items.iter().take(n_max).cloned().collect::<Vec<_>>().join(", ");
    if !notes.entities.is_empty() {
        lines.push(format!("Names: {}", list(&notes.entities)));
    }
    if !notes.dates.is_empty() {
        lines.push(format!("Dates: {}", list(&notes.dates)));
    }
    for words in notes.preferences.iter().take(n_max.min(PREFERENCES_MAX)) {
        match said_by.get(words.as_str()).filter(|author| !author.is_empty()) {
            Some(author) => lines.push(format!("{author}: {words}")),
            None => lines.push(words.clone()),
        }
    }
    lines.join("\n")
}
