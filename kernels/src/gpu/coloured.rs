//! One large graph on a card: the calls of the coloured steps, handed on to the seam.
//!
//! Which kernels run one after another is the business of `cpu/coloured/card.rs`, whose rules are those of every device.

use pulp::bytemuck::{cast_slice, cast_slice_mut};

use super::batch::budget;
use super::engine::{self, Argument, Engine, Room};
use crate::cpu::coloured::card::{Card, Grid, Kernel, OnCard, Shape};
use crate::cpu::coloured::{Limits, partition_on};
use crate::{CsrGraph, LeidenSettings, Partition, Result};

/// Bytes a node that the steps work with, and bytes a directed edge of the graph, with one level more.
const NODE_BYTES: u64 = 160;
const EDGE_BYTES: u64 = 24;

/// Cuts a graph by the coloured rules; `None` where the card has not the kernels or not the memory, or where the
/// weights are too large for them.
pub(super) fn partition<E: Engine>(
    engine: &E,
    graph: &CsrGraph,
    settings: &LeidenSettings,
    room: Room,
) -> Option<Result<Partition>> {
    let bytes = NODE_BYTES * graph.n() as u64 + EDGE_BYTES * graph.columns.len() as u64;
    let takes = Kernel::ALL.iter().all(|kernel| engine.has(kernel.name())) && bytes <= budget(room);
    takes.then(|| partition_on(&OnCard(Steps(engine)), graph, settings, &Limits::STANDARD)).flatten()
}

/// A card as the steps see it.
struct Steps<'a, E>(&'a E);

impl<E: Engine> Card for Steps<'_, E> {
    type Memory = E::Memory;

    fn words(&self, values: &[u32]) -> Result<E::Memory> {
        self.0.upload(cast_slice(values))
    }

    fn signed(&self, values: &[i32]) -> Result<E::Memory> {
        self.0.upload(cast_slice(values))
    }

    fn longs(&self, values: &[i64]) -> Result<E::Memory> {
        self.0.upload(cast_slice(values))
    }

    fn zeros(&self, n_bytes: usize) -> Result<E::Memory> {
        self.0.zeros(n_bytes)
    }

    fn read(&self, memory: &E::Memory, n: usize) -> Result<Vec<u32>> {
        let mut words = vec![0_u32; n];
        self.0.download(memory, cast_slice_mut(&mut words))?;
        Ok(words)
    }

    fn launch(&self, kernel: Kernel, grid: Grid, memories: &[&E::Memory], shape: &Shape) -> Result<()> {
        let value = words_of(shape);
        let memories = memories.iter().map(|&memory| Argument::Memory(memory));
        let arguments: Vec<_> = memories.chain([Argument::Value(cast_slice(&value))]).collect();
        self.0.launch(kernel.name(), grid_of(grid), &arguments)
    }
}

fn grid_of(grid: Grid) -> engine::Grid {
    let shared_bytes = grid.shared_bytes.next_multiple_of(16) as u32;
    engine::Grid { blocks: grid.n_blocks as u32, threads: grid.n_threads as u32, shared_bytes }
}

/// `ColouredShape`, in words.
fn words_of(shape: &Shape) -> [u32; 12] {
    let Shape { pull, push, n, first, n_nodes, salt, wide, slots, trial, last } = *shape;
    let halves = |long: i64| [long as u32, (long >> 32) as u32];
    let ([a, b], [c, d]) = (halves(pull), halves(push));
    [a, b, c, d, n, first, n_nodes, salt, wide, slots, trial, last]
}

#[cfg(test)]
mod tests {
    use super::super::ptx::{MODULES, Parameter, parameters};
    use super::*;

    #[test]
    fn every_step_has_its_kernel_and_passes_the_shape_last() {
        assert_eq!(size_of_val(&words_of(&Shape::default())), size_of::<Shape>());
        for kernel in Kernel::ALL {
            let module = MODULES.iter().find(|module| module.kernels.contains(&kernel.name())).expect("a text has it");
            let last = parameters(module.text, kernel.name()).and_then(|mut parameters| parameters.pop());
            assert_eq!(last, Some(Parameter::Value(size_of::<Shape>())), "{kernel:?}");
        }
        let shape = Shape { pull: -2, push: 1 << 33, n: 7, last: 1, ..Shape::default() };
        assert_eq!(words_of(&shape), [u32::MAX - 1, u32::MAX, 0, 2, 7, 0, 0, 0, 0, 0, 0, 1]);
    }
}
