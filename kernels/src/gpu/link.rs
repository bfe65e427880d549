//! Links the rows of sources on a card: picks and medians there, graphs from them here.
//!
//! What the kernel does not take goes to the processor, with the same bits.

use std::ops::Range;

use pulp::bytemuck::{cast_slice, cast_slice_mut};
use rayon::prelude::*;

use super::batch::{batches, budget};
use super::engine::{Argument, Engine, Grid};
use super::{PICKS_MAX, SHARED_64, SHARED_128, TILE_THREADS};
use crate::cpu::best::Best;
use crate::cpu::symmetric::Edges;
use crate::cpu::weights::{Weights, weight};
use crate::cpu::{Cpu, check_finite, link as plain};
use crate::{Backend, CsrGraph, LinkSettings, Result, Rows};

/// Sources of at most so many rows are cut into tiles of 64, larger ones into tiles of 128.
const SMALL_ROWS_MAX: usize = 512;
/// Bytes of shared memory for a median.
const SHARED_MEDIAN: u32 = 256;

/// See [`crate::Backend::link`].
pub(super) fn link<E: Engine>(
    engine: &E,
    rows: Rows<'_>,
    offsets: &[u32],
    settings: &LinkSettings,
) -> Result<Vec<CsrGraph>> {
    if !(1..=PICKS_MAX).contains(&settings.neighbours_max) {
        return Cpu.link(rows, offsets, settings);
    }
    plain::check_settings(settings)?;
    check_finite(rows, "linked")?;
    let sources = plain::bounds(rows, offsets)?;
    // What unit rows can have; what lies outside is taken as the first or last.
    let weights = Weights::LOWEST..weight(1.0 + settings.closeness_bonus) + 65;
    let bytes: Vec<_> = sources.iter().map(|source| card_bytes(source.len(), rows.dim(), settings, &weights)).collect();
    let mut graphs = Vec::with_capacity(sources.len());
    for batch in batches(&bytes, budget(engine.room()?)) {
        let sources = &sources[batch.jobs.clone()];
        let first = sources[0].start;
        let data = &rows.data()[first * rows.dim()..sources[sources.len() - 1].end * rows.dim()];
        let mut offsets: Vec<u32> = vec![0];
        offsets.extend(sources.iter().map(|source| (source.end - first) as u32));
        let part = Part { data, dim: rows.dim(), offsets: &offsets };
        match Rows::new(data, rows.dim()) {
            Some(rows) if !batch.on_card => graphs.extend(Cpu.link(rows, &offsets, settings)?),
            Some(rows) if rows.n() > 0 => graphs.extend(link_batch(engine, &part, settings, &weights)?),
            _ => graphs.extend(sources.iter().map(|_| CsrGraph::without_edges(0))),
        }
    }
    Ok(graphs)
}

/// What a source takes on the card: rows, picks, counters of both words, tiles.
fn card_bytes(n: usize, dim: usize, settings: &LinkSettings, weights: &Range<i32>) -> Option<u64> {
    let row = 4 * dim as u64 + 8 * u64::from(settings.neighbours_max);
    let counters = 8 * weights.len() as u64;
    (n as u64).checked_mul(row + 1)?.checked_add(counters + 64)
}

/// Consecutive sources: their rows, and where each begins.
struct Part<'a> {
    data: &'a [f32],
    dim: usize,
    offsets: &'a [u32],
}

impl Part<'_> {
    fn n_sources(&self) -> usize {
        self.offsets.len() - 1
    }

    fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize)
    }
}

/// The blocks of a launch whose tiles have `side` rows: source and first row of each, for sources of `lengths` rows.
fn tiles(part: &Part<'_>, side: usize, lengths: Range<usize>) -> Vec<u32> {
    let mut tiles = Vec::new();
    for (source, n) in part.lengths().enumerate().filter(|(_, n)| lengths.contains(n)) {
        tiles.extend((0..n).step_by(side).flat_map(|row| [source as u32, row as u32]));
    }
    tiles
}

fn link_batch<E: Engine>(
    engine: &E,
    part: &Part<'_>,
    settings: &LinkSettings,
    weights: &Range<i32>,
) -> Result<Vec<CsrGraph>> {
    let (n, k) = (part.data.len() / part.dim, settings.neighbours_max as usize);
    let longest = part.lengths().max().unwrap_or(0);
    let mut bonus = plain::bonuses(settings);
    bonus.truncate(longest.max(1));
    let rows = engine.upload(cast_slice(part.data))?;
    let offsets = engine.upload(cast_slice(part.offsets))?;
    let bonuses = engine.upload(cast_slice(&bonus))?;
    let best = engine.zeros(n * k * size_of::<u64>())?;
    let counts = engine.zeros(part.n_sources() * 2 * weights.len() * size_of::<u32>())?;
    let shape = [
        part.dim as u32,
        settings.neighbours_max,
        settings.similarity_min.to_bits(),
        bonus.len() as u32 - 1,
        weights.len() as u32,
        weights.start.cast_unsigned(),
    ];
    for (kernel, side, lengths, shared_bytes) in [
        ("link_rows_64", 64, 0..SMALL_ROWS_MAX + 1, SHARED_64),
        ("link_rows_128", 128, SMALL_ROWS_MAX + 1..usize::MAX, SHARED_128),
    ] {
        let tiles = tiles(part, side, lengths);
        if tiles.is_empty() {
            continue;
        }
        let grid = Grid { blocks: tiles.len() as u32 / 2, threads: TILE_THREADS, shared_bytes };
        let tiles = engine.upload(cast_slice(&tiles))?;
        let memories = [&rows, &offsets, &tiles, &bonuses, &best, &counts];
        let mut arguments: Vec<Argument<'_, E::Memory>> = memories.into_iter().map(Argument::Memory).collect();
        arguments.push(Argument::Value(cast_slice(&shape)));
        engine.launch(kernel, grid, &arguments)?;
    }
    let medians = medians(engine, &counts, part.n_sources(), weights)?;
    let mut keys = vec![0_u64; n * k];
    engine.download(&best, cast_slice_mut(&mut keys))?;
    graphs(part, &keys, &medians, settings)
}

fn medians<E: Engine>(engine: &E, counts: &E::Memory, n_sources: usize, weights: &Range<i32>) -> Result<Vec<i32>> {
    let found = engine.zeros(n_sources * size_of::<i32>())?;
    let shape = [weights.len() as u32, weights.start.cast_unsigned()];
    let grid = Grid { blocks: n_sources as u32, threads: TILE_THREADS, shared_bytes: SHARED_MEDIAN };
    let arguments = [Argument::Memory(counts), Argument::Memory(&found), Argument::Value(cast_slice(&shape))];
    engine.launch("link_medians", grid, &arguments)?;
    let mut medians = vec![0_i32; n_sources];
    engine.download(&found, cast_slice_mut(&mut medians))?;
    Ok(medians)
}

/// The graphs of picks, each cut at the larger of the source's median and the lowest weight.
fn graphs(part: &Part<'_>, keys: &[u64], medians: &[i32], settings: &LinkSettings) -> Result<Vec<CsrGraph>> {
    let k = settings.neighbours_max as usize;
    let weight_min = weight(settings.similarity_min).max(1);
    let graph = |(edges, best): &mut (Edges, Vec<Best>), (bounds, &median): (&[u32], &i32)| {
        let keys = &keys[bounds[0] as usize * k..bounds[1] as usize * k];
        best.resize(keys.len() / k, Best::default());
        best.iter_mut().zip(keys.chunks_exact(k)).for_each(|(best, keys)| best.list(keys));
        edges.symmetrise(best, k, median.max(weight_min))
    };
    part.offsets.par_windows(2).zip(medians).map_init(Default::default, graph).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_tile() {
        let part = Part { data: &[], dim: 1, offsets: &[0, 0, 1, 131, 700] };
        let small = tiles(&part, 64, 0..131);
        assert_eq!(small, [1, 0, 2, 0, 2, 64, 2, 128]);
        let large = tiles(&part, 128, 131..usize::MAX);
        assert_eq!(large, [3, 0, 3, 128, 3, 256, 3, 384, 3, 512]);
    }

    #[test]
    fn what_a_source_takes_is_counted() {
        let settings = LinkSettings::STANDARD;
        assert_eq!(card_bytes(10, 4, &settings, &(0..100)), Some(10 * (16 + 8 * 32 + 1) + 864));
        assert_eq!(card_bytes(usize::MAX, 384, &settings, &(0..100)), None);
    }
}
