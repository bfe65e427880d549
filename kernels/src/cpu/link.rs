//! Links the rows of each source into a graph: score all pairs, keep the best of each row.
//!
//! Scores are made and used in tiles and never stored as a matrix; the median is exact, from the integer weights
//! above the least that an edge may have, since below it the median decides nothing. Sketch, for a source of 116
//! rows of 384: 5.9 Mflop (5.1 of them wanted), 178 kB of vectors packed once, then work by the pairs that are
//! similar enough. Memory, a thread: 400 kB of packed rows and 262 kB of scores, used for source after source.

use std::ops::Range;

use rayon::prelude::*;

use super::best::Best;
use super::pairs::join;
use super::panels::{Panels, Part};
use super::symmetric::Edges;
use super::tile::{Ask, BLOCK, Block, Count, Scratch, Sides};
use super::weights::{Weights, weight};
use super::{check_finite, is_finite};
use crate::{CsrGraph, Error, LinkSettings, Result, Rows};

/// Largest bonus: it bounds the count of weights, 2^14 a unit of score.
const BONUS_MAX: f32 = 8.0;
/// Farthest bonus.
const REACH_MAX: u32 = 1 << 20;

/// See [`crate::Backend::link`].
pub(super) fn link(rows: Rows<'_>, offsets: &[u32], settings: &LinkSettings) -> Result<Vec<CsrGraph>> {
    check_settings(settings)?;
    let sources = bounds(rows, offsets)?;
    let bonus = bonuses(settings);
    let weight_min = weight(settings.similarity_min).max(1);
    let ask = Ask {
        k: settings.neighbours_max as usize,
        similarity_min: settings.similarity_min,
        bonus: &bonus,
        count: Count::Above(weight_min),
    };
    let linked = sources.into_par_iter().map_init(Linker::default, |linker, source| {
        let data = &rows.data()[source.start * rows.dim()..source.end * rows.dim()];
        if !is_finite(data) {
            // Which row it is, is found where all are looked at.
            return check_finite(rows, "linked").map(|()| CsrGraph::without_edges(0));
        }
        match Rows::new(data, rows.dim()) {
            Some(rows) if rows.n() > 1 && ask.k > 0 => linker.link(rows, &ask, weight_min),
            _ => Ok(CsrGraph::without_edges(source.len())),
        }
    });
    linked.collect()
}

pub(crate) fn check_settings(settings: &LinkSettings) -> Result<()> {
    let bonus = settings.closeness_bonus;
    if !settings.similarity_min.is_finite() || !(0.0..=BONUS_MAX).contains(&bonus) {
        let reason = format!("link settings are out of range: {settings:?}");
        return Err(Error::Invalid { reason });
    }
    Ok(())
}

pub(crate) fn bounds(rows: Rows<'_>, offsets: &[u32]) -> Result<Vec<Range<usize>>> {
    let ascending = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
    let whole = offsets.first() == Some(&0) && offsets.last().is_some_and(|&last| last as usize == rows.n());
    if !ascending || !whole {
        let reason = format!("offsets do not ascend from 0 to {} rows", rows.n());
        return Err(Error::Invalid { reason });
    }
    Ok(offsets.windows(2).map(|pair| pair[0] as usize..pair[1] as usize).collect())
}

/// The bonus by index distance, `[closeness_reach + 1]`; that of a row with itself is never used.
pub(crate) fn bonuses(settings: &LinkSettings) -> Vec<f32> {
    let reach = settings.closeness_reach.min(REACH_MAX);
    let one = |d: u32| settings.closeness_bonus * (1.0 - d as f32 / (reach as f32 + 1.0));
    (0..=reach).map(one).collect()
}

/// The memory of one thread, used for source after source.
#[derive(Default)]
struct Linker {
    panels: Panels,
    scratch: Scratch,
    best: Vec<Best>,
    edges: Edges,
}

impl Linker {
    fn link(&mut self, rows: Rows<'_>, ask: &Ask<'_>, weight_min: i32) -> Result<CsrGraph> {
        let n_pairs = rows.n() as u64 * (rows.n() as u64 - 1) / 2;
        let median = self.score(rows, ask).median(n_pairs).or_else(|| {
            // The two middle weights lie on either side of the bound: take them all.
            let all = Ask { count: Count::Above(i32::MIN), ..*ask };
            self.score(rows, &all).median(n_pairs)
        });
        self.edges.symmetrise(&mut self.best, ask.k, median.unwrap_or(weight_min).max(weight_min))
    }

    /// Finds the best of every row; gives the weights.
    fn score(&mut self, rows: Rows<'_>, ask: &Ask<'_>) -> &mut Weights {
        if rows.n() > BLOCK {
            (self.best, self.scratch.weights) = join(rows, ask);
            return &mut self.scratch.weights;
        }
        self.best.iter_mut().for_each(Best::clear);
        self.best.resize(rows.n(), Best::default());
        self.scratch.forget_weights(ask);
        self.panels.repack(rows);
        self.scratch.score(Block { rows, first: 0 }, &self.panels, 0, Part::BelowDiagonal, ask.bonus);
        self.scratch.feed(0, 0, Sides::Same(&mut self.best), ask);
        &mut self.scratch.weights
    }
}
