//! Sentences to chunks: topics, exchanges, paragraphs, facts cards.
//!
//! | source | chunks |
//! |---|---|
//! | document, 8 sentences or more | communities of a run of at most 2,000 sentences |
//! | document, fewer | paragraphs: neighbours packed to the budget |
//! | conversation | exchanges; a session of 8 sentences or more also its communities; a facts card a session |
//!
//! Every sentence is in at least one chunk that is no card. Order follows the source.

mod card;
mod community;
mod exchange;

use std::collections::HashMap;
use std::ops::Range;

use index::model::{Chunk, ChunkId, ChunkKind, Sentence, SourceEntry, SourceKind, Span, TextDigest};
use kernels::Embedder;

use crate::annotate;
use crate::prepare::Prepared;
use crate::settings::ChunkSettings;

pub(crate) use community::all as communities;

/// A graph holds at most so many sentences: its work grows with the square.
const RUN_SENTENCES_MAX: u32 = 2_000;

/// The sentences of a chunk, before it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// How it was made.
    pub kind: ChunkKind,
    /// Its session.
    pub session: u32,
    /// Its sentences, ascending, never empty.
    pub sentences: Vec<u32>,
    /// The community it was cut from, counted within the source.
    pub community: Option<u32>,
}

/// Sentences that get one graph: of a document a run, of a conversation one session's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The session.
    pub session: u32,
    /// The sentences, within the source.
    pub sentences: Range<u32>,
}

/// The groups of a source, in order, covering every sentence.
pub(crate) fn groups(entry: &SourceEntry) -> Vec<Group> {
    let n = as_u32(entry.sentences.len());
    let mut groups = Vec::new();
    let mut start = 0;
    while start < n {
        let session = session_of(entry, start);
        let mut end = start + 1;
        while end < n && session_of(entry, end) == session {
            end += 1;
        }
        let n_runs = (end - start).div_ceil(RUN_SENTENCES_MAX);
        for run in 0..n_runs {
            // Even runs: a last run of three sentences would have no topics.
            let from = start + (end - start) * run / n_runs;
            let to = start + (end - start) * (run + 1) / n_runs;
            groups.push(Group { session, sentences: from..to });
        }
        start = end;
    }
    groups
}

fn session_of(entry: &SourceEntry, sentence: u32) -> u32 {
    let turn = entry.sentences[sentence as usize].turn;
    entry.turns.get(turn as usize).map_or(0, |turn| turn.session)
}

/// Makes a source's chunks of its communities and of its order.
///
/// `communities` holds for each of its [`groups`] the community of each sentence, `None` where the
/// group is too short for communities.
pub(crate) fn source(
    prepared: &mut Prepared,
    communities: &[Option<Vec<u32>>],
    settings: &ChunkSettings,
    embedder: &dyn Embedder,
) {
    let entry = &prepared.entry;
    let is_chat = entry.source.kind == SourceKind::Conversation && !entry.turns.is_empty();
    let mut cuts = Vec::new();
    let mut first_community = 0;
    for (group, labels) in groups(entry).into_iter().zip(communities) {
        match labels {
            Some(labels) => {
                let found = community::cut(&entry.sentences, &group, labels, first_community, settings);
                first_community += as_u32(labels.len());
                cuts.extend(found);
            }
            None if is_chat => {}
            None => cuts.extend(packed(&entry.sentences, &group, settings.tokens_max)),
        }
    }
    if is_chat {
        cuts.extend(exchange::all(entry, settings.tokens_max));
    }
    cuts.sort_by(|a, b| (a.session, &a.sentences, a.kind).cmp(&(b.session, &b.sentences, b.kind)));
    let mut nths: HashMap<ChunkId, u32> = HashMap::new();
    let mut chunks = Vec::with_capacity(cuts.len());
    let mut tags = Vec::with_capacity(cuts.len());
    let mut cuts = cuts.into_iter().peekable();
    while let Some(cut) = cuts.next() {
        let session = cut.session;
        tags.push(cut.community);
        chunks.push(chunk(prepared, cut, &mut nths));
        let session_ends = cuts.peek().is_none_or(|next| next.session != session);
        if session_ends
            && is_chat
            && let Some(card) = card::of(prepared, session, settings.tokens_max, embedder, &mut nths)
        {
            tags.push(None);
            chunks.push(card);
        }
    }
    prepared.entry.chunks = chunks;
    prepared.communities = tags;
}

/// Neighbouring sentences packed to the budget.
fn packed(sentences: &[Sentence], group: &Group, tokens_max: u32) -> Vec<Cut> {
    let all: Vec<u32> = group.sentences.clone().collect();
    cut_in_order(sentences, &all, tokens_max)
        .into_iter()
        .map(|sentences| Cut { kind: ChunkKind::Paragraph, session: group.session, sentences, community: None })
        .collect()
}

/// Cuts sentences in order into parts of like size, each within the budget where its sentences allow.
fn cut_in_order(sentences: &[Sentence], wanted: &[u32], tokens_max: u32) -> Vec<Vec<u32>> {
    let total = tokens(sentences, wanted);
    let n_parts = total.div_ceil(u64::from(tokens_max)).max(1);
    let target = total.div_ceil(n_parts);
    let mut parts: Vec<Vec<u32>> = Vec::new();
    let mut part_tokens = 0;
    for &idx in wanted {
        let n_tokens = u64::from(sentences[idx as usize].n_tokens);
        match parts.last_mut() {
            Some(part) if part_tokens < target && part_tokens + n_tokens <= u64::from(tokens_max) => {
                part.push(idx);
                part_tokens += n_tokens;
            }
            _ => {
                parts.push(vec![idx]);
                part_tokens = n_tokens;
            }
        }
    }
    parts
}

fn tokens(sentences: &[Sentence], wanted: &[u32]) -> u64 {
    wanted.iter().map(|&idx| u64::from(sentences[idx as usize].n_tokens)).sum()
}

fn chunk(prepared: &Prepared, cut: Cut, nths: &mut HashMap<ChunkId, u32>) -> Chunk {
    let entry = &prepared.entry;
    let digests: Vec<TextDigest> = cut.sentences.iter().map(|&idx| entry.sentences[idx as usize].digest).collect();
    let notes = annotate::together(cut.sentences.iter().map(|&idx| &prepared.notes[idx as usize]));
    Chunk {
        id: chunk_id(entry, cut.kind, &digests, nths),
        kind: cut.kind,
        session: cut.session,
        spans: spans(entry, &cut),
        n_tokens: u32::try_from(tokens(&entry.sentences, &cut.sentences)).unwrap_or(u32::MAX),
        sentences: cut.sentences,
        card: None,
        entities: notes.entities,
        dates: notes.dates,
        preferences: notes.preferences,
    }
}

/// The id of the next chunk of a source with these sentences.
fn chunk_id(entry: &SourceEntry, kind: ChunkKind, digests: &[TextDigest], nths: &mut HashMap<ChunkId, u32>) -> ChunkId {
    let first = ChunkId::of(entry.source.id, kind.as_str(), digests, 0);
    let nth = nths.entry(first).or_insert(0);
    let id = if *nth == 0 { first } else { ChunkId::of(entry.source.id, kind.as_str(), digests, *nth) };
    *nth += 1;
    id
}

/// The spans of a cut, neighbours merged. What lies between two sentences that follow each other
/// (white space, marks) belongs to the chunk, unless a turn ends there.
fn spans(entry: &SourceEntry, cut: &Cut) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut previous: Option<u32> = None;
    for &idx in &cut.sentences {
        let sentence = &entry.sentences[idx as usize];
        let follows = previous.is_some_and(|previous| {
            previous + 1 == idx
                && (cut.kind == ChunkKind::Exchange || entry.sentences[previous as usize].turn == sentence.turn)
        });
        match spans.last_mut() {
            Some(last) if follows => last.end = sentence.span.end,
            _ => spans.push(sentence.span),
        }
        previous = Some(idx);
    }
    spans
}

fn as_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
