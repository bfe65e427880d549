//! Finds the nearest rows of queries on a card, in blocks that its memory holds.
//!
//! What the kernel does not take goes to the processor, with the same bits.

use pulp::bytemuck::{cast_slice, cast_slice_mut};
use rayon::prelude::*;

use super::batch::budget;
use super::engine::{Argument, Engine, Grid};
use super::{PICKS_MAX, SHARED_64, SHARED_128, TILE_THREADS};
use crate::cpu::best::neighbour;
use crate::cpu::{Cpu, check_finite};
use crate::{Backend, Error, Neighbour, Result, Rows};

/// With fewer queries than this, tiles of 64 fill the card better than tiles of 128.
const FEW_QUERIES: usize = 4_096;
/// Blocks that fill a card: a few for each of its multiprocessors.
const BLOCKS_MIN: usize = 1_024;
/// Rows of a split at least, so that a block has work enough.
const SPLIT_ROWS_MIN: usize = 1_024;
/// Queries that are looked for at a time, at most.
const QUERIES_MAX: usize = 1 << 20;
/// The larger of the two sides of a tile.
const SIDE_MAX: usize = 128;
/// Warps of a block that joins lists.
const MERGE_WARPS: usize = TILE_THREADS as usize / 32;

/// See [`crate::Backend::nearest`].
pub(super) fn nearest<E: Engine>(
    engine: &E,
    queries: Rows<'_>,
    rows: Rows<'_>,
    k: u32,
    similarity_min: f32,
) -> Result<Vec<Vec<Neighbour>>> {
    let nothing = queries.n() == 0 || rows.n() == 0 || u32::try_from(rows.n()).is_err();
    if nothing || !(1..=PICKS_MAX).contains(&k) || queries.dim() != rows.dim() {
        return Cpu.nearest(queries, rows, k, similarity_min);
    }
    check_finite(queries, "query")?;
    check_finite(rows, "searched")?;
    let (rows_block, queries_block) = room_for(engine, queries, rows, k)?;
    find(engine, queries, rows, Ask { k, similarity_min, rows_block, queries_block, skip_own: false })
}

/// See [`crate::Backend::neighbours`].
///
/// Each pair is scored from both ends, as two queries would: a card has the multiplications to spare, and lists that
/// two blocks fill would have to be locked.
pub(super) fn neighbours<E: Engine>(
    engine: &E,
    rows: Rows<'_>,
    k: u32,
    similarity_min: f32,
) -> Result<Vec<Vec<Neighbour>>> {
    if rows.n() == 0 || u32::try_from(rows.n()).is_err() || !(1..=PICKS_MAX).contains(&k) {
        return Cpu.neighbours(rows, k, similarity_min);
    }
    check_finite(rows, "joined")?;
    let (rows_block, queries_block) = room_for(engine, rows, rows, k)?;
    // A row meets itself only where both blocks are the same one.
    let block = rows_block.min(queries_block);
    find(engine, rows, rows, Ask { k, similarity_min, rows_block: block, queries_block: block, skip_own: true })
}

/// What is looked for, and in which blocks.
#[derive(Clone, Copy)]
struct Ask {
    k: u32,
    similarity_min: f32,
    rows_block: usize,
    queries_block: usize,
    /// Whether the row of a query's number is none of its neighbours.
    skip_own: bool,
}

fn find<E: Engine>(engine: &E, queries: Rows<'_>, rows: Rows<'_>, ask: Ask) -> Result<Vec<Vec<Neighbour>>> {
    let dim = rows.dim();
    let mut found: Vec<Vec<Neighbour>> = vec![Vec::new(); queries.n()];
    for (block_idx, block) in rows.data().chunks(ask.rows_block * dim).enumerate() {
        let row_first = block_idx * ask.rows_block;
        let on_card = engine.upload(cast_slice(block))?;
        let blocks = queries.data().chunks(ask.queries_block * dim);
        for (query_block_idx, (found, queries)) in found.chunks_mut(ask.queries_block).zip(blocks).enumerate() {
            let same = query_block_idx * ask.queries_block == row_first;
            let search = Search {
                rows: &on_card,
                n_rows: block.len() / dim,
                row_first: row_first as u32,
                dim,
                ask: Ask { skip_own: ask.skip_own && same, ..ask },
            };
            search.run(engine, queries, found)?;
        }
    }
    Ok(found)
}

/// How many rows and queries the card takes at a time.
fn room_for<E: Engine>(engine: &E, queries: Rows<'_>, rows: Rows<'_>, k: u32) -> Result<(usize, usize)> {
    let room = budget(engine.room()?);
    blocks(queries.n(), rows.n(), rows.dim(), k, room).ok_or_else(|| {
        let bytes = SIDE_MAX as u64 * 8 * rows.dim() as u64;
        Error::OutOfMemory { device: engine.device().to_string(), bytes }
    })
}

/// How many rows and how many queries are on the card at a time; `None` where not even a tile of each fits.
fn blocks(n_queries: usize, n_rows: usize, dim: usize, k: u32, budget: u64) -> Option<(usize, usize)> {
    let (row, list) = (4 * dim as u64, 8 * u64::from(k));
    // A query has two lists, joined and not. Splits add lists only until the card is full.
    let splits = (n_rows.div_ceil(SPLIT_ROWS_MIN) * n_queries).min(BLOCKS_MIN * SIDE_MAX) as u64 * list;
    let fit = |bytes: u64, each: u64, n: usize| {
        let most = usize::try_from(bytes / each).unwrap_or(usize::MAX).min(n.next_multiple_of(SIDE_MAX));
        Some(most / SIDE_MAX * SIDE_MAX).filter(|&most| most > 0)
    };
    let budget = budget.checked_sub(splits)?;
    let rows_block = fit(budget / 2, row, n_rows)?;
    let left = budget - (rows_block as u64 * row).min(budget / 2);
    Some((rows_block, fit(left, row + 2 * list, n_queries.min(QUERIES_MAX))?))
}

/// Into how many runs the rows are cut so that the blocks of `n_queries` queries fill a card.
fn n_splits(n_queries: usize, n_rows: usize, side: usize) -> usize {
    let wanted = BLOCKS_MIN.div_ceil(n_queries.div_ceil(side).max(1));
    wanted.min(n_rows.div_ceil(SPLIT_ROWS_MIN)).max(1)
}

/// Rows on the card, and what is looked for among them.
struct Search<'a, M> {
    rows: &'a M,
    n_rows: usize,
    row_first: u32,
    dim: usize,
    ask: Ask,
}

impl<M: Send + Sync> Search<'_, M> {
    /// Adds the picks of these rows to those found for each query before, which are of lower rows.
    fn run<E: Engine<Memory = M>>(&self, engine: &E, queries: &[f32], found: &mut [Vec<Neighbour>]) -> Result<()> {
        let n_queries = found.len();
        let (kernel, side, shared_bytes) = match n_queries < FEW_QUERIES {
            true => ("nearest_rows_64", 64, SHARED_64),
            false => ("nearest_rows_128", SIDE_MAX, SHARED_128),
        };
        let split_rows = self.n_rows.div_ceil(n_splits(n_queries, self.n_rows, side)).next_multiple_of(side);
        let n_splits = self.n_rows.div_ceil(split_rows);
        let shape = [
            n_queries as u32,
            self.n_rows as u32,
            self.dim as u32,
            self.ask.k,
            self.ask.similarity_min.to_bits(),
            u32::from(self.ask.skip_own),
            n_splits as u32,
            split_rows as u32,
        ];
        let list_bytes = n_queries * self.ask.k as usize * size_of::<u64>();
        let on_card = engine.upload(cast_slice(queries))?;
        let mut best = engine.zeros(n_splits * list_bytes)?;
        let blocks = (n_queries.div_ceil(side) * n_splits) as u32;
        let grid = Grid { blocks, threads: TILE_THREADS, shared_bytes };
        let arguments = [&on_card, self.rows, &best].map(Argument::Memory).into_iter();
        let arguments: Vec<_> = arguments.chain([Argument::Value(cast_slice(&shape))]).collect();
        engine.launch(kernel, grid, &arguments)?;
        if n_splits > 1 {
            let joined = engine.zeros(list_bytes)?;
            let shape = [n_queries as u32, self.ask.k, n_splits as u32];
            let blocks = n_queries.div_ceil(MERGE_WARPS) as u32;
            let grid = Grid { blocks, threads: TILE_THREADS, shared_bytes: 0 };
            let arguments = [Argument::Memory(&best), Argument::Memory(&joined), Argument::Value(cast_slice(&shape))];
            engine.launch("merge_best", grid, &arguments)?;
            best = joined;
        }
        let mut keys = vec![0_u64; n_queries * self.ask.k as usize];
        engine.download(&best, cast_slice_mut(&mut keys))?;
        let k = self.ask.k as usize;
        found.par_iter_mut().zip(keys.par_chunks_exact(k)).for_each(|(found, keys)| {
            // A list of fewer than `k` ends with zeros.
            let picks = keys.iter().take_while(|&&key| key != 0).map(|&key| neighbour(key));
            found.extend(picks.map(|pick| Neighbour { row: pick.row + self.row_first, ..pick }));
            // Lists of several blocks of rows are joined here; that of one is in order.
            found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
            found.truncate(k);
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_fit_and_are_whole_tiles() {
        for (n_queries, n_rows, dim, k, budget) in
            [(1, 1, 1, 1, 1 << 20), (5_000, 100_000, 384, 32, 1 << 28), (1 << 21, 1 << 20, 384, 16, 100 << 30)]
        {
            let (rows, queries) = blocks(n_queries, n_rows, dim, k, budget).expect("fits");
            assert!(rows.is_multiple_of(SIDE_MAX) && queries.is_multiple_of(SIDE_MAX), "{rows} {queries}");
            for queries in [1, 64, 4_000, 5_000, queries] {
                let queries = queries.min(n_queries);
                let side = if queries < FEW_QUERIES { 64 } else { SIDE_MAX };
                let lists = (1 + n_splits(queries, rows.min(n_rows), side)) * 8 * k as usize;
                let bytes = rows.min(n_rows) * 4 * dim + queries * (4 * dim + lists);
                assert!(bytes as u64 <= budget, "{queries} queries: {bytes} of {budget}");
            }
            let n_passes = n_rows.div_ceil(rows) as u64;
            assert!(n_passes <= 1 + n_rows as u64 * 4 * dim as u64 * 3 / budget, "no more passes than needed");
        }
        assert_eq!(blocks(10, 10, 384, 32, 1 << 10), None);
    }

    #[test]
    fn few_queries_split_the_rows() {
        assert_eq!(n_splits(1, 1 << 20, 64), 1_024);
        assert_eq!(n_splits(1, 1_000, 64), 1);
        assert_eq!(n_splits(1 << 20, 1 << 20, 128), 1);
        assert_eq!(n_splits(64_000, 1 << 20, 128), 3);
    }
}
