//! One tile of scores: made, then fed to the best of its rows and of its columns.
//!
//! Knows two blocks of rows. Does not know how blocks are dealt out. Sketch, for a tile of 256 × 256 rows of 384:
//! 50 Mflop on 786 kB of vectors in L2, and 262 kB of scores written and read once; every vector of 16 scores is
//! compared with two bars, what its row and its columns keep, and scores at neither are never looked at again.

use pulp::NullaryFnOnce;

use super::best::Best;
use super::panels::{Panels, Part};
use super::weights::{Weights, weight};
use crate::Rows;

/// Rows on either side of a tile: two blocks of vectors and their scores stay in L2.
pub(super) const BLOCK: usize = 256;
/// Scores compared at a time.
const LANES: usize = 16;

/// What is asked of every pair.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    /// So many rows are kept.
    pub(super) k: usize,
    /// Of rows with at least this score.
    pub(super) similarity_min: f32,
    /// Added to the cosine by index distance, from 0.
    pub(super) bonus: &'a [f32],
    /// Whether the weights of pairs are counted.
    pub(super) count: Count,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    Nothing,
    /// Every weight above this one.
    Above(i32),
}

/// A block of rows, with the number of its first.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) first: usize,
}

/// Whose best a tile is fed to.
pub(super) enum Sides<'a> {
    /// Of the left rows alone: they are queries.
    Left(&'a mut [Best]),
    /// Of both ends of every pair of one block.
    Same(&'a mut [Best]),
    /// Of the left rows and of the packed ones.
    Both(&'a mut [Best], &'a mut [Best]),
}

/// The memory of one thread, used for tile after tile.
#[derive(Default)]
pub(super) struct Scratch {
    /// `[n_left, stride]`, whole vectors a row.
    scores: Vec<f32>,
    stride: usize,
    left_bars: Vec<f32>,
    right_bars: Vec<f32>,
    hits: Vec<usize>,
    pub(super) weights: Weights,
}

impl Scratch {
    /// Empty, ready to count what `ask` counts.
    pub(super) fn new(ask: &Ask<'_>) -> Self {
        let mut scratch = Self::default();
        scratch.forget_weights(ask);
        scratch
    }

    /// Makes ready to count anew.
    pub(super) fn forget_weights(&mut self, ask: &Ask<'_>) {
        let Count::Above(above) = ask.count else {
            return;
        };
        self.weights.clear(above, ask.bonus.first().copied().unwrap_or(0.0));
    }

    /// Scores every left row with every packed one; with those before itself where `part` says so.
    pub(super) fn score(&mut self, left: Block<'_>, panels: &Panels, right_first: usize, part: Part, bonus: &[f32]) {
        let (n_left, n_right) = (left.rows.n(), panels.n());
        self.stride = n_right.next_multiple_of(LANES);
        self.scores.resize(n_left * self.stride, 0.0);
        panels.multiply_part(left.rows.data(), &mut self.scores, self.stride, part);
        let is_near = left.first + n_left + bonus.len() > right_first;
        for (row_idx, scores) in self.scores.chunks_exact_mut(self.stride).enumerate() {
            if is_near {
                let row = left.first + row_idx;
                let start = (row + 1).saturating_sub(bonus.len()).max(right_first);
                for column in start..(row + bonus.len()).min(right_first + n_right) {
                    scores[column - right_first] += bonus[column.abs_diff(row)];
                }
            }
            // No bar is below what is not a number: neither the padding nor the diagonal is found.
            let end = if part == Part::All { n_right } else { row_idx.min(n_right) };
            scores[end..end.next_multiple_of(LANES)].fill(f32::NAN);
        }
    }

    /// Feeds the scores made last, of left rows from `left_first` and right rows from `right_first`.
    pub(super) fn feed(&mut self, left_first: usize, right_first: usize, sides: Sides<'_>, ask: &Ask<'_>) {
        let (left_first, right_first) = (left_first as u32, right_first as u32);
        let bar = |row_first: u32| move |best: &Best| best.bar(ask.similarity_min, row_first);
        self.left_bars.clear();
        self.right_bars.clear();
        match &sides {
            Sides::Left(left) => self.left_bars.extend(left.iter().map(bar(right_first))),
            // The bars of one block stand once, as those of its columns.
            Sides::Same(both) => self.right_bars.extend(both.iter().map(bar(left_first))),
            Sides::Both(left, right) => {
                self.left_bars.extend(left.iter().map(bar(right_first)));
                self.right_bars.extend(right.iter().map(bar(left_first)));
            }
        }
        self.right_bars.resize(self.stride, f32::NAN);
        pulp::Arch::new().dispatch(Feed { scratch: self, sides, left_first, right_first, ask });
    }
}

struct Feed<'a, 'b> {
    scratch: &'a mut Scratch,
    sides: Sides<'b>,
    left_first: u32,
    right_first: u32,
    ask: &'a Ask<'a>,
}

impl NullaryFnOnce for Feed<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let stride = self.scratch.stride;
        let is_triangle = matches!(self.sides, Sides::Same(_));
        let count_min = match self.ask.count {
            Count::Nothing => f32::NAN,
            Count::Above(_) => self.scratch.weights.score_min(),
        };
        for row in 0..self.scratch.scores.len().checked_div(stride).unwrap_or(0) {
            let bars = if is_triangle { &self.scratch.right_bars } else { &self.scratch.left_bars };
            // The smaller of the two, and the bar where nothing is counted.
            let bar = bars[row].min(count_min);
            let end = if is_triangle { row.next_multiple_of(LANES) } else { stride };
            let scores = &self.scratch.scores[row * stride..][..end];
            find(scores, &self.scratch.right_bars, bar, &mut self.scratch.hits);
            self.take(row, count_min);
        }
    }
}

/// Writes to `hits` which scores reach `bar` or the bar of their column; `scores` are whole vectors.
#[inline(always)]
fn find(scores: &[f32], bars: &[f32], bar: f32, hits: &mut Vec<usize>) {
    hits.clear();
    let (scores, _) = scores.as_chunks::<LANES>();
    let (bars, _) = bars.as_chunks::<LANES>();
    for (vector, (scores, bars)) in scores.iter().zip(bars).enumerate() {
        let mut is_hit = false;
        for lane in 0..LANES {
            is_hit |= (scores[lane] >= bar) | (scores[lane] >= bars[lane]);
        }
        if is_hit {
            let mut lanes = 0_u32;
            for lane in 0..LANES {
                lanes |= u32::from((scores[lane] >= bar) | (scores[lane] >= bars[lane])) << lane;
            }
            while lanes != 0 {
                hits.push(vector * LANES + lanes.trailing_zeros() as usize);
                lanes &= lanes - 1;
            }
        }
    }
}

impl Feed<'_, '_> {
    /// Gives the hits of one left row to whom they are good enough for.
    #[inline(always)]
    fn take(&mut self, row: usize, count_min: f32) {
        let Ask { k, similarity_min, .. } = *self.ask;
        let Scratch { scores, stride, left_bars, right_bars, hits, weights } = &mut *self.scratch;
        let scores = &scores[row * *stride..][..*stride];
        let row_number = self.left_first + row as u32;
        for &column in hits.iter() {
            let score = scores[column];
            let column_number = self.right_first + column as u32;
            if score >= count_min {
                weights.record(weight(score));
            }
            let give = |best: &mut Best, bar: &mut f32, number: u32, number_first: u32| {
                if score >= *bar && best.push(k, number, score) {
                    *bar = best.bar(similarity_min, number_first);
                }
            };
            match &mut self.sides {
                Sides::Left(left) => give(&mut left[row], &mut left_bars[row], column_number, self.right_first),
                Sides::Same(both) => {
                    give(&mut both[row], &mut right_bars[row], column_number, self.left_first);
                    give(&mut both[column], &mut right_bars[column], row_number, self.left_first);
                }
                Sides::Both(left, right) => {
                    give(&mut left[row], &mut left_bars[row], column_number, self.right_first);
                    give(&mut right[column], &mut right_bars[column], row_number, self.left_first);
                }
            }
        }
    }
}
