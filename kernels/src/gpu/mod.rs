//! What every card's host side shares: what a card gets, in which batches, and what its refusals mean.
//!
//! The kernels beside this file (`.cu`) are one source for CUDA, Metal and the emulator. Nothing here knows a
//! vendor's library, so all of it is tested where there is no card, on the emulator.

mod batch;
mod coloured;
#[cfg(test)]
mod emulated;
pub(crate) mod engine;
mod leiden;
mod link;
mod nearest;
#[cfg(any(feature = "cuda", test))]
pub(crate) mod ptx;
#[cfg(any(all(feature = "metal", target_os = "macos"), test))]
pub(crate) mod sources;
#[cfg(any(feature = "cuda", test))]
pub(crate) mod trouble;

use engine::Engine;

use crate::{Backend, CsrGraph, LeidenSettings, LinkSettings, Neighbour, Partition, Result, Rows};

/// The entries of `nearest.cu`, in its order.
pub(crate) const NEAREST: [&str; 6] =
    ["link_rows_64", "link_rows_128", "link_medians", "nearest_rows_64", "nearest_rows_128", "merge_best"];
/// The entry of `leiden.cu`.
pub(crate) const LEIDEN: [&str; 1] = ["leiden_documents"];
/// Most picks of a row that the kernels keep (`PICKS_MAX` in `nearest.cu`).
const PICKS_MAX: u32 = 32;
/// Threads of a block of tiles (`TILE_THREADS`).
const TILE_THREADS: u32 = 256;
/// Bytes of shared memory of a block with tiles of 64 and of 128 (`Tile::SHARED_WORDS`).
const SHARED_64: u32 = 4 * (2 * 16 * (64 + 4) + 2 * 64);
const SHARED_128: u32 = 4 * (2 * 16 * (128 + 4) + 2 * 128);

/// A card as a device.
pub(crate) struct Gpu<E> {
    engine: E,
    name: String,
}

impl<E: Engine> Gpu<E> {
    /// The device of an open card.
    pub(crate) fn new(engine: E) -> Self {
        let name = engine.device().to_string();
        Self { engine, name }
    }
}

impl<E: Engine> Backend for Gpu<E> {
    fn name(&self) -> &str {
        &self.name
    }

    fn link(&self, rows: Rows<'_>, offsets: &[u32], settings: &LinkSettings) -> Result<Vec<CsrGraph>> {
        link::link(&self.engine, rows, offsets, settings)
    }

    fn neighbours(&self, rows: Rows<'_>, k: u32, similarity_min: f32) -> Result<Vec<Vec<Neighbour>>> {
        nearest::neighbours(&self.engine, rows, k, similarity_min)
    }

    fn nearest(&self, queries: Rows<'_>, rows: Rows<'_>, k: u32, similarity_min: f32) -> Result<Vec<Vec<Neighbour>>> {
        nearest::nearest(&self.engine, queries, rows, k, similarity_min)
    }

    fn leiden(&self, graphs: &[CsrGraph], settings: &LeidenSettings) -> Result<Vec<Partition>> {
        leiden::leiden(&self.engine, graphs, settings)
    }
}
