//! Ranked units to hits: texts, turns, times and the other places of equal text.

use std::collections::HashMap;

use super::query::{Hit, Place, Query, SignalScore, SourceRef, Unit};
use super::rank::Ranking;
use super::reach::{Part, Reach};
use crate::error::Result;
use crate::model::{IdHasher, Role, Source, Span, TimeOrigin, Turn};
use crate::segment::{Field, Segment};

/// How far down the ranking other places of a hit's text are looked for, as a multiple of `k`.
const PLACES_DEPTH: usize = 10;
/// And at least this far.
const PLACES_DEPTH_MIN: usize = 200;
/// The most other places one hit lists.
const PLACES_MAX: usize = 32;

/// The first `k` units with different texts, each with its other places.
pub(super) fn hits(reach: &Reach<'_>, query: &Query, ranking: &Ranking) -> Result<Vec<Hit>> {
    let k = query.k as usize;
    let members = ranking.members();
    let mut hits: Vec<Hit> = Vec::with_capacity(k);
    let mut seen: HashMap<[u8; 16], usize> = HashMap::new();
    let depth = (k * PLACES_DEPTH).max(PLACES_DEPTH_MIN);
    for (nth, unit) in ranking.order.iter().enumerate() {
        if hits.len() == k && nth >= depth {
            break;
        }
        let own = [*unit];
        let slots = members.as_ref().map_or(&own[..], |members| &members[*unit as usize]);
        let key = text_key(reach, slots);
        match key.and_then(|key| seen.get(&key)) {
            Some(first) if hits[*first].places.len() < PLACES_MAX => {
                let place = place_of(reach, query.unit, ranking.best_slot(*unit));
                hits[*first].places.push(place);
            }
            Some(_) => {}
            None if hits.len() < k => {
                if let Some(key) = key {
                    seen.insert(key, hits.len());
                }
                hits.push(hit_of(reach, query.unit, ranking, *unit, slots)?);
            }
            None => {}
        }
    }
    Ok(hits)
}

/// The hit for one chunk, outside any ranking.
pub(super) fn chunk_hit(segment: &Segment, chunk_row: u32, score: f32) -> Result<Hit> {
    let source_row = segment.source_of_chunk(chunk_row);
    let part =
        Part { segment_idx: 0, source_row, field: Field::Chunk, rows: segment.chunks_of(source_row), first_slot: 0 };
    let passage = Passage::read(segment, &part, chunk_row);
    Ok(passage.into_hit(Unit::Chunk, passage_text(segment, Field::Chunk, chunk_row)?, score, Vec::new()))
}

fn hit_of(reach: &Reach<'_>, unit: Unit, ranking: &Ranking, unit_idx: u32, slots: &[u32]) -> Result<Hit> {
    let slot = ranking.best_slot(unit_idx) as usize;
    let part = reach.part_of_slot(slot);
    let segment = reach.segment(part);
    let row = part.row(slot);
    let signals = ranking.signals.iter().map(|signal| SignalScore {
        name: signal.name,
        score: signal.scores[unit_idx as usize],
        weight: signal.weight,
    });
    let passage = Passage::read(segment, part, row);
    let text = passage_text(segment, part.field, row)?;
    let mut hit = passage.into_hit(unit, text, ranking.fused[unit_idx as usize], signals.collect());
    if unit == Unit::Session && part.field == Field::Turn {
        let rows = slots.iter().map(|slot| part.row(*slot as usize));
        hit.turn_ids = rows.map(|row| segment.turns()[row as usize].id.clone()).collect();
    }
    Ok(hit)
}

fn place_of(reach: &Reach<'_>, unit: Unit, slot: u32) -> Place {
    let part = reach.part_of_slot(slot as usize);
    let segment = reach.segment(part);
    let passage = Passage::read(segment, part, part.row(slot as usize));
    Place {
        unit_id: passage.unit_id(unit),
        source: SourceRef::from(passage.source),
        turn_ids: passage.turns.iter().map(|turn| turn.id.clone()).collect(),
        spans: passage.spans,
    }
}

/// What one row of a table says about itself.
struct Passage<'a> {
    source: &'a Source,
    chunk: Option<&'a crate::model::Chunk>,
    spans: Vec<Span>,
    session: u32,
    turns: Vec<&'a Turn>,
}

impl<'a> Passage<'a> {
    fn read(segment: &'a Segment, part: &Part, row: u32) -> Self {
        let source = &segment.sources()[part.source_row as usize];
        let own_turns = segment.turns_of(part.source_row);
        match part.field {
            Field::Turn => {
                let turn = &segment.turns()[row as usize];
                Self { source, chunk: None, spans: vec![turn.span], session: turn.session, turns: vec![turn] }
            }
            Field::Chunk => {
                let chunk = &segment.chunks()[row as usize];
                let first_sentence = segment.sentences_of(part.source_row).start;
                let mut turn_rows: Vec<u32> = chunk
                    .sentences
                    .iter()
                    .filter_map(|sentence| segment.sentences().get((first_sentence + sentence) as usize))
                    .map(|sentence| own_turns.start + sentence.turn)
                    .filter(|row| own_turns.contains(row))
                    .collect();
                turn_rows.dedup();
                Self {
                    source,
                    chunk: Some(chunk),
                    spans: chunk.spans.clone(),
                    session: chunk.session,
                    turns: turn_rows.iter().map(|row| &segment.turns()[*row as usize]).collect(),
                }
            }
        }
    }

    fn unit_id(&self, unit: Unit) -> String {
        match (unit, self.chunk, self.turns.first()) {
            (Unit::Chunk, Some(chunk), _) => chunk.id.to_string(),
            (Unit::Turn, _, Some(turn)) => turn.id.clone(),
            (Unit::Session, _, _) => format!("{}/{}", self.source.id, self.session),
            _ => self.source.id.to_string(),
        }
    }

    fn into_hit(self, unit: Unit, text: String, score: f32, signals: Vec<SignalScore>) -> Hit {
        let first = self.turns.first();
        Hit {
            unit,
            unit_id: self.unit_id(unit),
            source: SourceRef::from(self.source),
            chunk_kind: self.chunk.filter(|_| unit == Unit::Chunk).map(|chunk| chunk.kind),
            turn_ids: self.turns.iter().map(|turn| turn.id.clone()).collect(),
            text,
            author: first.map_or_else(String::new, |turn| turn.author.clone()),
            role: first.map_or(Role::Unknown, |turn| turn.role),
            said_at: first.and_then(|turn| turn.said_at),
            said_at_origin: first.map_or(TimeOrigin::Unknown, |turn| turn.said_at_origin),
            spans: self.spans,
            score,
            signals,
            places: Vec::new(),
        }
    }
}

fn passage_text(segment: &Segment, field: Field, row: u32) -> Result<String> {
    match field {
        Field::Turn => segment.turn_text(row),
        Field::Chunk => segment.chunk_text(row),
    }
}

/// Equal for units of equal sentences; `None` for a unit without any, which equals nothing.
fn text_key(reach: &Reach<'_>, slots: &[u32]) -> Option<[u8; 16]> {
    let mut hasher = IdHasher::new("strata equal text v1");
    let mut n_sentences = 0;
    for slot in slots {
        let part = reach.part_of_slot(*slot as usize);
        let segment = reach.segment(part);
        let row = part.row(*slot as usize);
        let own = segment.sentences_of(part.source_row);
        let own = &segment.sentences()[own.start as usize..own.end as usize];
        match part.field {
            Field::Turn => {
                let rows = segment.sentences_of_turn(row);
                for sentence in &segment.sentences()[rows.start as usize..rows.end as usize] {
                    hasher = hasher.field(sentence.digest.as_bytes());
                    n_sentences += 1;
                }
            }
            Field::Chunk => {
                let chunk = &segment.chunks()[row as usize];
                if let Some(card) = &chunk.card {
                    hasher = hasher.field(card.as_bytes());
                    n_sentences += 1;
                }
                for sentence in chunk.sentences.iter().filter_map(|member| own.get(*member as usize)) {
                    hasher = hasher.field(sentence.digest.as_bytes());
                    n_sentences += 1;
                }
            }
        }
    }
    (n_sentences > 0).then(|| hasher.finish())
}
