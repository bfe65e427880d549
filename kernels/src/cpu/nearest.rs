//! The nearest rows of queries: exact, in blocks.

use rayon::prelude::*;

use super::check_finite;
use super::panels::Panels;
use crate::{Error, Neighbour, Result, Rows};

/// Queries that one thread scores at a time: a multiple of the tile, small beside the cache.
const QUERIES_BLOCK: usize = 48;
/// Rows scored at a time, so that a block of scores stays in the cache however many rows there are.
const ROWS_BLOCK: usize = 4096;

/// See [`crate::Backend::nearest`].
pub(super) fn nearest(queries: Rows<'_>, rows: Rows<'_>, k: u32, similarity_min: f32) -> Result<Vec<Vec<Neighbour>>> {
    if queries.dim() != rows.dim() {
        let reason = format!("queries have {} dimensions, rows {}", queries.dim(), rows.dim());
        return Err(Error::Invalid { reason });
    }
    check_finite(queries, "query")?;
    check_finite(rows, "searched")?;
    let dim = rows.dim();
    let mut found: Vec<Best> = vec![Best::new(k as usize); queries.n()];
    for (block_idx, block) in rows.data().chunks(ROWS_BLOCK * dim).enumerate() {
        let Some(block) = Rows::new(block, dim) else {
            continue;
        };
        let panels = Panels::pack(block);
        found.par_chunks_mut(QUERIES_BLOCK).zip(queries.data().par_chunks(QUERIES_BLOCK * dim)).for_each(
            |(found, queries)| {
                let mut scores = vec![0.0; found.len() * panels.n()];
                panels.multiply(queries, &mut scores);
                for (best, scores) in found.iter_mut().zip(scores.chunks_exact(panels.n())) {
                    best.take(scores, block_idx * ROWS_BLOCK, similarity_min);
                }
            },
        );
    }
    Ok(found.into_iter().map(Best::into_sorted).collect())
}

/// The `k` best seen so far, by (score, lower row): pruned whenever it has grown to twice `k`.
#[derive(Clone)]
pub(super) struct Best {
    k: usize,
    kept: Vec<Neighbour>,
    /// Scores below this one cannot be among the best any more.
    floor: f32,
}

impl Best {
    pub(super) fn new(k: usize) -> Self {
        Self { k, kept: Vec::new(), floor: f32::NEG_INFINITY }
    }

    /// Takes the scores of rows `row_first..`, all above those of earlier calls.
    fn take(&mut self, scores: &[f32], row_first: usize, similarity_min: f32) {
        for (offset, &score) in scores.iter().enumerate() {
            if score >= similarity_min {
                self.push((row_first + offset) as u32, score);
            }
        }
    }

    /// Takes one score; rows must come in ascending order, so an equal later one loses.
    pub(super) fn push(&mut self, row: u32, score: f32) {
        if self.k == 0 || score < self.floor {
            return;
        }
        self.kept.push(Neighbour { row, score });
        if self.kept.len() >= 2 * self.k {
            self.prune();
            self.floor = self.kept.last().map_or(f32::NEG_INFINITY, |last| last.score);
        }
    }

    fn prune(&mut self) {
        self.kept.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
        self.kept.truncate(self.k);
    }

    /// The best, best first.
    pub(super) fn into_sorted(mut self) -> Vec<Neighbour> {
        self.prune();
        self.kept
    }
}
