//! Links the rows of each source into a graph: score all pairs, keep the best of each row.
//!
//! Scores are made and used in blocks and never stored as a matrix; the median is exact, from a count of
//! the integer weights.

use std::ops::Range;

use rayon::prelude::*;

use super::check_finite;
use super::nearest::Best;
use super::panels::Panels;
use crate::{CsrGraph, Error, LinkSettings, Neighbour, Result, Rows, WEIGHT_ONE};

/// Rows that one thread scores at a time.
const ROWS_BLOCK: usize = 48;
/// Largest bonus: it bounds the count of weights, 2^14 a unit of score.
const BONUS_MAX: f32 = 8.0;

/// See [`crate::Backend::link`].
pub(super) fn link(rows: Rows<'_>, offsets: &[u32], settings: &LinkSettings) -> Result<Vec<CsrGraph>> {
    check_settings(settings)?;
    check_finite(rows, "linked")?;
    let sources = bounds(rows, offsets)?;
    sources
        .into_par_iter()
        .map(|source| {
            let data = &rows.data()[source.start * rows.dim()..source.end * rows.dim()];
            match Rows::new(data, rows.dim()) {
                Some(rows) if rows.n() > 1 => link_source(rows, settings),
                _ => Ok(CsrGraph::without_edges(source.len())),
            }
        })
        .collect()
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

fn link_source(rows: Rows<'_>, settings: &LinkSettings) -> Result<CsrGraph> {
    let panels = Panels::pack(rows);
    let bonus = bonuses(settings);
    let blocks: Vec<(Vec<Vec<Neighbour>>, WeightCount)> = rows
        .data()
        .par_chunks(ROWS_BLOCK * rows.dim())
        .enumerate()
        .map(|(block_idx, block)| score_block(&panels, block, block_idx * ROWS_BLOCK, &bonus, settings))
        .collect();
    let mut count = WeightCount::new(settings.closeness_bonus);
    blocks.iter().for_each(|(_, part)| count.add(part));
    let weight_min = weight_min(count.median(), settings);
    let picked = blocks.into_iter().flat_map(|(picked, _)| picked).collect();
    symmetrise(picked, weight_min)
}

/// The lowest weight of an edge in a source whose pairs have the median weight `median`.
pub(crate) fn weight_min(median: i32, settings: &LinkSettings) -> i32 {
    median.max(weight(settings.similarity_min)).max(1)
}

/// The weights that are counted for medians; what lies outside counts as the first or last.
pub(crate) fn weight_range(bonus: f32) -> Range<i32> {
    WeightCount::LOWEST..weight(1.0 + bonus) + 65
}

/// The bonus by index distance, `[closeness_reach + 1]`; entry 0 is never used.
pub(crate) fn bonuses(settings: &LinkSettings) -> Vec<f32> {
    let reach = settings.closeness_reach.min(1 << 20);
    let one = |d: u32| settings.closeness_bonus * (1.0 - d as f32 / (reach as f32 + 1.0));
    (0..=reach).map(one).collect()
}

/// Scores a block of rows against all: each row's best, and the count of weights of pairs `i < j`.
fn score_block(
    panels: &Panels,
    block: &[f32],
    row_first: usize,
    bonus: &[f32],
    settings: &LinkSettings,
) -> (Vec<Vec<Neighbour>>, WeightCount) {
    let n = panels.n();
    let dim = block.len() / ROWS_BLOCK.min(n - row_first);
    let mut scores = vec![0.0; block.len() / dim * n];
    panels.multiply(block, &mut scores);
    let mut count = WeightCount::new(settings.closeness_bonus);
    let picked = scores.chunks_exact_mut(n).enumerate().map(|(lane, scores)| {
        let row = row_first + lane;
        let near = row.saturating_sub(bonus.len() - 1)..n.min(row + bonus.len());
        for column in near {
            scores[column] += if column == row { 0.0 } else { bonus[row.abs_diff(column)] };
        }
        scores[row + 1..].iter().for_each(|&score| count.record(weight(score)));
        let mut best = Best::new(settings.neighbours_max as usize);
        for (column, &score) in scores.iter().enumerate() {
            if column != row && score >= settings.similarity_min {
                best.push(column as u32, score);
            }
        }
        best.into_sorted()
    });
    let picked = picked.collect();
    (picked, count)
}

fn weight(score: f32) -> i32 {
    (score * WEIGHT_ONE as f32).round() as i32
}

/// How many pairs have each integer weight, for an exact median without the pairs.
struct WeightCount {
    counts: Vec<u64>,
}

impl WeightCount {
    /// Below every weight counted: a cosine of unit rows is at least −1, give or take rounding.
    const LOWEST: i32 = -WEIGHT_ONE - 64;

    fn new(bonus: f32) -> Self {
        Self { counts: vec![0; weight_range(bonus).len()] }
    }

    fn record(&mut self, weight: i32) {
        let top = self.counts.len() as i32 - 1;
        self.counts[(weight.saturating_sub(Self::LOWEST)).clamp(0, top) as usize] += 1;
    }

    fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, part)| *sum += part);
    }

    /// The mean of the two middle weights, rounded down; the lowest possible weight of no pairs.
    fn median(&self) -> i32 {
        let n: u64 = self.counts.iter().sum();
        match n {
            0 => Self::LOWEST,
            n => (self.at((n - 1) / 2) + self.at(n / 2)).div_euclid(2),
        }
    }

    fn at(&self, rank: u64) -> i32 {
        let mut before = 0;
        let found = self.counts.iter().position(|count| {
            before += count;
            before > rank
        });
        Self::LOWEST + found.unwrap_or(0) as i32
    }
}

/// The graph of all edges that either end picked and that weigh at least `weight_min`.
pub(crate) fn symmetrise(picked: Vec<Vec<Neighbour>>, weight_min: i32) -> Result<CsrGraph> {
    let mut edges: Vec<Vec<(u32, i32)>> = vec![Vec::new(); picked.len()];
    for (row, picked) in picked.iter().enumerate() {
        for neighbour in picked {
            let weight = weight(neighbour.score);
            if weight >= weight_min {
                edges[row].push((neighbour.row, weight));
                edges[neighbour.row as usize].push((row as u32, weight));
            }
        }
    }
    let mut graph = CsrGraph::without_edges(0);
    for mut row in edges {
        // Both ends compute one and the same score, so the larger of the two is either.
        row.sort_unstable();
        row.dedup_by_key(|edge| edge.0);
        graph.columns.extend(row.iter().map(|edge| edge.0));
        graph.weights.extend(row.iter().map(|edge| edge.1));
        let n_edges = u32::try_from(graph.columns.len())
            .map_err(|_| Error::Invalid { reason: "a source has 2^32 edges or more".to_owned() })?;
        graph.offsets.push(n_edges);
    }
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_is_the_middle() {
        let mut count = WeightCount::new(0.2);
        assert_eq!(count.median(), WeightCount::LOWEST);
        [10, -3, 7, 40].iter().for_each(|&weight| count.record(weight));
        assert_eq!(count.median(), 8);
        count.record(9);
        assert_eq!(count.median(), 9);
    }
}
