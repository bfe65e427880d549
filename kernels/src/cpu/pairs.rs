//! Every pair of rows, scored once: tiles of blocks, dealt to the threads, fed to the best of both ends.
//!
//! Knows rows and their best. Sketch: n²/2 · 2 dim flop for n rows, half of what a search of all rows by all rows
//! does, since the score of a pair is the same bits from either end. A block is packed once, and multiplied with
//! every block up to itself. The order of tiles is that of the threads; the best of a row and the count of weights
//! do not depend on it. Memory: the best, at most 16 · `k` bytes a row, and about 1 MB a thread.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::best::Best;
use super::check_finite;
use super::panels::{Panels, Part};
use super::tile::{Ask, BLOCK, Block, Count, Scratch, Sides};
use super::weights::Weights;
use crate::{Neighbour, Result, Rows};

/// See [`crate::Backend::neighbours`].
pub(super) fn neighbours(rows: Rows<'_>, k: u32, similarity_min: f32) -> Result<Vec<Vec<Neighbour>>> {
    check_finite(rows, "joined")?;
    let k = k as usize;
    if k == 0 {
        return Ok(vec![Vec::new(); rows.n()]);
    }
    let (best, _) = join(rows, &Ask { k, similarity_min, bonus: &[], count: Count::Nothing });
    Ok(best.into_par_iter().map(|best| best.into_sorted(k)).collect())
}

/// The best of every row among the others, and the weights of all pairs.
pub(super) fn join(rows: Rows<'_>, ask: &Ask<'_>) -> (Vec<Best>, Weights) {
    let blocks: Vec<Block<'_>> = blocks(rows).collect();
    let best: Vec<Mutex<Vec<Best>>> = blocks.iter().map(|block| Mutex::new(none(block.rows.n()))).collect();
    let weights = blocks
        .par_iter()
        .enumerate()
        .map(|(right_idx, right)| {
            let panels = Panels::pack(right.rows);
            let tile = |mut scratch: Scratch, left_idx: usize| {
                let left = blocks[left_idx];
                if left_idx == right_idx {
                    scratch.score(left, &panels, right.first, Part::BelowDiagonal, ask.bonus);
                    scratch.feed(left.first, right.first, Sides::Same(&mut lock(&best[left_idx])), ask);
                } else {
                    scratch.score(left, &panels, right.first, Part::All, ask.bonus);
                    // Always the lower block first, so that no two threads wait for each other.
                    let (mut lower, mut upper) = (lock(&best[left_idx]), lock(&best[right_idx]));
                    scratch.feed(left.first, right.first, Sides::Both(&mut lower, &mut upper), ask);
                }
                scratch
            };
            let parts = (0..=right_idx).into_par_iter().fold(|| Scratch::new(ask), tile);
            parts.map(|scratch| scratch.weights).reduce(|| Scratch::new(ask).weights, Weights::merge)
        })
        .reduce(|| Scratch::new(ask).weights, Weights::merge);
    (best.into_iter().flat_map(|best| best.into_inner().unwrap_or_else(PoisonError::into_inner)).collect(), weights)
}

/// The rows as blocks, in their order.
pub(super) fn blocks(rows: Rows<'_>) -> impl Iterator<Item = Block<'_>> {
    let parts = rows.data().chunks(BLOCK * rows.dim()).filter_map(move |part| Rows::new(part, rows.dim()));
    parts.enumerate().map(|(block_idx, rows)| Block { rows, first: block_idx * BLOCK })
}

/// The best of `n` rows before any was seen.
pub(super) fn none(n: usize) -> Vec<Best> {
    vec![Best::default(); n]
}

/// The best of a block; a thread that panicked while it held them ends the call anyway.
pub(super) fn lock(best: &Mutex<Vec<Best>>) -> MutexGuard<'_, Vec<Best>> {
    best.lock().unwrap_or_else(PoisonError::into_inner)
}
