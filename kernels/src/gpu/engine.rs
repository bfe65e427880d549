//! The seam to a vendor's library: memory of a card and launches of kernels.
//!
//! Knows bytes only. What a kernel takes is written down in the files beside this one, which check it.

use crate::{Device, Result};

/// One argument of a kernel, in the order of its parameters.
pub(crate) enum Argument<'a, M> {
    /// Memory of the card that the kernel reads, writes or both.
    Memory(&'a M),
    /// A small struct by value: its bytes as C lays it out, a multiple of 4.
    Value(&'a [u8]),
}

/// How many threads run a kernel. Grids and blocks have one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Blocks, at least 1.
    pub blocks: u32,
    /// Threads a block, a multiple of 32.
    pub threads: u32,
    /// Bytes of shared memory a block, a multiple of 16.
    pub shared_bytes: u32,
}

/// What a card can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Bytes of its memory that are free.
    pub free_bytes: u64,
    /// Bytes of shared memory that one block may have.
    pub shared_bytes_max: u32,
}

/// An open card.
///
/// Calls come from any thread. What one thread asks for happens in that order.
pub(crate) trait Engine: Send + Sync {
    /// A run of bytes in the card's memory, given back when it is dropped.
    type Memory: Send + Sync;

    /// Which card it is.
    fn device(&self) -> Device;

    /// Whether it has a kernel: a card may do without those that only serve others.
    fn has(&self, kernel: &str) -> bool;

    /// What it can hold now.
    fn room(&self) -> Result<Room>;

    /// Copies `bytes` to the card.
    fn upload(&self, bytes: &[u8]) -> Result<Self::Memory>;

    /// Takes `n_bytes` of the card, all of them 0.
    fn zeros(&self, n_bytes: usize) -> Result<Self::Memory>;

    /// Copies the first bytes of some memory, of which there are enough. Waits for all launches before.
    fn download(&self, memory: &Self::Memory, bytes: &mut [u8]) -> Result<()>;

    /// Runs `kernel`. Comes back before it has ended.
    ///
    /// The caller has checked that every memory is as long as the kernel makes use of.
    fn launch(&self, kernel: &'static str, grid: Grid, arguments: &[Argument<'_, Self::Memory>]) -> Result<()>;
}
