//! The processor as a device: the reference that every other device must equal bit for bit.

pub(crate) mod best;
pub(crate) mod coloured;
pub(crate) mod leiden;
pub(crate) mod link;
mod nearest;
mod pairs;
pub(crate) mod panels;
pub(crate) mod symmetric;
mod tile;
mod traits;
pub(crate) mod weights;

pub(crate) use traits::traits;

use crate::{Backend, CsrGraph, Error, LeidenSettings, LinkSettings, Neighbour, Partition, Result, Rows};

/// The processor, all its threads.
pub(crate) struct Cpu;

impl Backend for Cpu {
    fn name(&self) -> &str {
        "cpu"
    }

    fn link(&self, rows: Rows<'_>, offsets: &[u32], settings: &LinkSettings) -> Result<Vec<CsrGraph>> {
        link::link(rows, offsets, settings)
    }

    fn neighbours(&self, rows: Rows<'_>, k: u32, similarity_min: f32) -> Result<Vec<Vec<Neighbour>>> {
        pairs::neighbours(rows, k, similarity_min)
    }

    fn nearest(&self, queries: Rows<'_>, rows: Rows<'_>, k: u32, similarity_min: f32) -> Result<Vec<Vec<Neighbour>>> {
        nearest::nearest(queries, rows, k, similarity_min)
    }

    fn leiden(&self, graphs: &[CsrGraph], settings: &LeidenSettings) -> Result<Vec<Partition>> {
        leiden::leiden(graphs, settings)
    }
}

/// Refuses a matrix with a value that is not finite, naming its row.
pub(crate) fn check_finite(rows: Rows<'_>, what: &str) -> Result<()> {
    if is_finite(rows.data()) {
        return Ok(());
    }
    let position = rows.data().iter().position(|value| !value.is_finite()).unwrap_or(0);
    let reason = format!("{what} row {} holds a value that is not finite", position / rows.dim());
    Err(Error::Invalid { reason })
}

/// Whether every value is a finite number.
fn is_finite(values: &[f32]) -> bool {
    pulp::Arch::new().dispatch(IsFinite(values))
}

struct IsFinite<'a>(&'a [f32]);

impl pulp::NullaryFnOnce for IsFinite<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let (blocks, rest) = self.0.as_chunks::<64>();
        let size = |value: f32| value.to_bits() & !(1 << 31);
        let mut largest = [0_u32; 64];
        for block in blocks {
            largest.iter_mut().zip(block).for_each(|(largest, &value)| *largest = size(value).max(*largest));
        }
        largest.iter().all(|&largest| largest < f32::INFINITY.to_bits()) && rest.iter().all(|value| value.is_finite())
    }
}
