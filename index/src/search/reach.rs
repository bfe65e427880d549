//! What a caller may see of one snapshot, numbered densely before anything is scored.
//!
//! Knows scopes, versions and rows. Does not know terms or vectors.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::query::Unit;
use crate::model::{ScopeSet, SourceId, SourceKind};
use crate::segment::{Field, Segment};
use crate::snapshot::Snapshot;

/// The rows of one source that compete, as consecutive slots.
pub(super) struct Part {
    /// The segment, counted within the snapshot.
    pub segment_idx: u32,
    /// The source's row there.
    pub source_row: u32,
    /// Which table its rows are of.
    pub field: Field,
    /// Its rows of that table.
    pub rows: Range<u32>,
    /// The slot of its first row.
    pub first_slot: u32,
}

impl Part {
    /// Its slots.
    pub fn slots(&self) -> Range<usize> {
        let first = self.first_slot as usize;
        first..first + self.rows.len()
    }

    /// The row behind `slot`, which is one of its own.
    pub fn row(&self, slot: usize) -> u32 {
        self.rows.start + (slot - self.first_slot as usize) as u32
    }
}

/// Every row that may be seen, in the order of (scope, key, id) and then of the text, so that
/// neither another caller's data nor the cut into segments changes an answer.
pub(super) struct Reach<'a> {
    snapshot: &'a Snapshot,
    parts: Vec<Part>,
    /// By segment, by source row: which part, or `u32::MAX`.
    part_of_source: Vec<Vec<u32>>,
    n_slots: usize,
}

impl<'a> Reach<'a> {
    /// Numbers the rows of `unit` that `scopes` allows, of `sources` alone where it is not empty.
    pub fn new(snapshot: &'a Snapshot, scopes: &ScopeSet, unit: Unit, sources: &[SourceId]) -> Self {
        let asked: HashSet<SourceId> = sources.iter().copied().collect();
        let mut part_of_source: Vec<Vec<u32>> =
            snapshot.segments().iter().map(|segment| vec![u32::MAX; segment.sources().len()]).collect();
        let mut parts: Vec<Part> = Vec::new();
        let mut n_slots = 0;
        for address in snapshot.sources(scopes) {
            let segment = &snapshot.segments()[address.segment as usize];
            let source = &segment.sources()[address.row as usize];
            if !asked.is_empty() && !asked.contains(&source.id) {
                continue;
            }
            let field = field_of(unit, source.kind);
            let rows = match field {
                Field::Turn => segment.turns_of(address.row),
                Field::Chunk => segment.chunks_of(address.row),
            };
            part_of_source[address.segment as usize][address.row as usize] = parts.len() as u32;
            let first_slot = n_slots as u32;
            n_slots += rows.len();
            parts.push(Part { segment_idx: address.segment, source_row: address.row, field, rows, first_slot });
        }
        Self { snapshot, parts, part_of_source, n_slots }
    }

    /// How many rows compete.
    pub fn n_slots(&self) -> usize {
        self.n_slots
    }

    /// The sources, each with its slots.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The segments of the snapshot, whether or not anything of them may be seen.
    pub fn segments(&self) -> &'a [Arc<Segment>] {
        self.snapshot.segments()
    }

    /// The segment that holds `part`.
    pub fn segment(&self, part: &Part) -> &'a Segment {
        &self.snapshot.segments()[part.segment_idx as usize]
    }

    /// Whether anything of a segment may be seen.
    pub fn touches(&self, segment_idx: usize) -> bool {
        self.part_of_source[segment_idx].iter().any(|part| *part != u32::MAX)
    }

    /// The part that a source of a segment became, if it may be seen.
    pub fn part_of_source(&self, segment_idx: usize, source_row: u32) -> Option<usize> {
        match self.part_of_source[segment_idx][source_row as usize] {
            u32::MAX => None,
            part => Some(part as usize),
        }
    }

    /// The slot of a row, if it may be seen and competes.
    pub fn slot(&self, segment_idx: usize, field: Field, row: u32) -> Option<usize> {
        let segment = &self.snapshot.segments()[segment_idx];
        let source_row = match field {
            Field::Turn => segment.source_of_turn(row),
            Field::Chunk => segment.source_of_chunk(row),
        };
        let part = &self.parts[self.part_of_source(segment_idx, source_row)?];
        if part.field != field {
            return None;
        }
        Some((part.first_slot + (row - part.rows.start)) as usize)
    }

    /// Which part `slot` lies in.
    pub fn part_idx_of_slot(&self, slot: usize) -> usize {
        // Parts without rows share their first slot with the next one; the last of them holds it.
        self.parts.partition_point(|part| part.first_slot as usize <= slot) - 1
    }

    /// The part that `slot` lies in.
    pub fn part_of_slot(&self, slot: usize) -> &Part {
        &self.parts[self.part_idx_of_slot(slot)]
    }

    /// The session of every slot, as dense numbers in slot order: a new source begins a new session.
    pub fn sessions(&self) -> Vec<u32> {
        self.groups(|segment, part, row| match part.field {
            Field::Turn => segment.turns()[row as usize].session,
            Field::Chunk => segment.chunks()[row as usize].session,
        })
    }

    /// The source of every slot, as dense numbers in slot order.
    pub fn sources(&self) -> Vec<u32> {
        self.groups(|_, _, _| 0)
    }

    fn groups(&self, session: impl Fn(&Segment, &Part, u32) -> u32) -> Vec<u32> {
        let mut groups = vec![0; self.n_slots];
        let mut next = 0;
        for part in &self.parts {
            let segment = self.segment(part);
            // Chunks of one session need not stand together: exchanges follow communities.
            let mut known: Vec<(u32, u32)> = Vec::new();
            for row in part.rows.clone() {
                let own = session(segment, part, row);
                let group = match known.iter().rev().find(|(seen, _)| *seen == own) {
                    Some((_, group)) => *group,
                    None => {
                        known.push((own, next));
                        next += 1;
                        next - 1
                    }
                };
                groups[part.first_slot as usize + (row - part.rows.start) as usize] = group;
            }
        }
        groups
    }
}

/// A conversation's larger units are made of its turns, a document's of its chunks.
fn field_of(unit: Unit, kind: SourceKind) -> Field {
    match (unit, kind) {
        (Unit::Chunk, _) => Field::Chunk,
        (Unit::Turn, _) => Field::Turn,
        (Unit::Session | Unit::Source, SourceKind::Conversation) => Field::Turn,
        (Unit::Session | Unit::Source, SourceKind::Document) => Field::Chunk,
    }
}
