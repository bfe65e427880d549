//! Which signals speak for which unit, with what weight, and the order they give.

use super::fuse::{Stretched, by_maximum, by_range, fuse};
use super::lexical::Lexicon;
use super::query::{Query, Unit};
use super::reach::Reach;
use super::semantic::Cosines;
use crate::analyze::Analyzer;
use crate::error::Result;

/// Shares of the signals in one unit's score. Tuned on the development split of LoCoMo
/// (docs/decisions/0006), never on anything that is claimed.
struct Weights {
    lexical: f32,
    neighbours: f32,
    session: f32,
    semantic: f32,
    semantic_neighbours: f32,
}

const TURN: Weights =
    Weights { lexical: 0.05, neighbours: 0.40, session: 0.15, semantic: 0.08, semantic_neighbours: 0.32 };
const CHUNK: Weights =
    Weights { lexical: 0.45, neighbours: 0.0, session: 0.15, semantic: 0.40, semantic_neighbours: 0.0 };
const GROUP: Weights = Weights { lexical: 0.6, neighbours: 0.0, session: 0.0, semantic: 0.4, semantic_neighbours: 0.0 };

/// Units in the order of their fused scores.
pub(super) struct Ranking {
    /// The session or source that units are; `None` where every slot is a unit of its own.
    groups: Option<Groups>,
    /// The signals by unit.
    pub signals: Vec<Stretched>,
    /// The fused score by unit.
    pub fused: Vec<f32>,
    /// Units with a score above zero, best first; ties in the order of source and text.
    pub order: Vec<u32>,
}

/// Units of several slots.
struct Groups {
    /// The unit of every slot, as dense numbers.
    of_slot: Vec<u32>,
    /// The slot that stands for each unit: its best passage.
    best_slots: Vec<u32>,
}

impl Ranking {
    /// The slot that stands for a unit: itself, or its best passage.
    pub fn best_slot(&self, unit: u32) -> u32 {
        self.groups.as_ref().map_or(unit, |groups| groups.best_slots[unit as usize])
    }

    /// The slots of each unit, ascending; `None` where every slot is a unit of its own.
    pub fn members(&self) -> Option<Vec<Vec<u32>>> {
        let groups = self.groups.as_ref()?;
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); self.fused.len()];
        for (slot, unit) in (0..).zip(&groups.of_slot) {
            members[*unit as usize].push(slot);
        }
        Some(members)
    }
}

/// Scores every unit of `reach` for `query`.
pub(super) fn rank(reach: &Reach<'_>, query: &Query) -> Result<Ranking> {
    let terms = Analyzer::default().terms(&query.text);
    let lexicon = Lexicon::gather(reach, &terms)?;
    let own = lexicon.own();
    let cosines = Cosines::compute(reach, &query.vector, &own)?;
    let (groups, mut signals) = match query.unit {
        Unit::Turn => (None, row_signals(reach, &lexicon, own, &cosines, &TURN)),
        Unit::Chunk => (None, row_signals(reach, &lexicon, own, &cosines, &CHUNK)),
        Unit::Session => group_signals(reach.sessions(), &lexicon, own, &cosines),
        Unit::Source => group_signals(reach.sources(), &lexicon, own, &cosines),
    };
    let n_units = groups.as_ref().map_or(reach.n_slots(), |groups| groups.best_slots.len());
    let fused = fuse(&mut signals, n_units);
    let mut order: Vec<u32> = (0..n_units as u32).filter(|unit| fused[*unit as usize] > 0.0).collect();
    order.sort_by(|a, b| fused[*b as usize].total_cmp(&fused[*a as usize]).then(a.cmp(b)));
    Ok(Ranking { groups, signals, fused, order })
}

fn row_signals(
    reach: &Reach<'_>,
    lexicon: &Lexicon,
    own: Vec<f32>,
    cosines: &Cosines,
    weights: &Weights,
) -> Vec<Stretched> {
    let sessions = reach.sessions();
    let by_session = lexicon.grouped(&sessions);
    let of_session = sessions.iter().map(|session| by_session[*session as usize]).collect();
    let mut signals = vec![
        by_maximum("lexical", weights.lexical, own),
        by_maximum("session", weights.session, of_session),
        by_range("semantic", weights.semantic, cosines.own()),
    ];
    if weights.neighbours > 0.0 {
        signals.push(by_maximum("neighbours", weights.neighbours, lexicon.windowed(&sessions)));
    }
    if weights.semantic_neighbours > 0.0 {
        let averaged = cosines.averaged(&sessions);
        signals.push(by_range("semantic_neighbours", weights.semantic_neighbours, &averaged));
    }
    signals
}

fn group_signals(
    of_slot: Vec<u32>,
    lexicon: &Lexicon,
    own: Vec<f32>,
    cosines: &Cosines,
) -> (Option<Groups>, Vec<Stretched>) {
    let signals = vec![
        by_maximum("lexical", GROUP.lexical, lexicon.grouped(&of_slot)),
        by_range("semantic", GROUP.semantic, &cosines.grouped(&of_slot)),
    ];
    let best_slots = best_slots(&of_slot, own, cosines);
    (Some(Groups { of_slot, best_slots }), signals)
}

/// The passage that stands for each unit: best by words and vector together, the first among equals.
fn best_slots(groups: &[u32], own: Vec<f32>, cosines: &Cosines) -> Vec<u32> {
    let n_units = groups.iter().max().map_or(0, |last| *last as usize + 1);
    let mut signals = [by_maximum("lexical", GROUP.lexical, own), by_range("semantic", GROUP.semantic, cosines.own())];
    let passages = fuse(&mut signals, groups.len());
    let mut best: Vec<Option<u32>> = vec![None; n_units];
    for (slot, group) in groups.iter().enumerate() {
        let kept = &mut best[*group as usize];
        if kept.is_none_or(|kept| passages[slot] > passages[kept as usize]) {
            *kept = Some(slot as u32);
        }
    }
    best.into_iter().map(Option::unwrap_or_default).collect()
}
