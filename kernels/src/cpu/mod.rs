//! The processor as a device: the reference that every other device must equal bit for bit.

pub(crate) mod coloured;
mod leiden;
mod link;
mod nearest;
pub(crate) mod panels;

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

    fn nearest(&self, queries: Rows<'_>, rows: Rows<'_>, k: u32, similarity_min: f32) -> Result<Vec<Vec<Neighbour>>> {
        nearest::nearest(queries, rows, k, similarity_min)
    }

    fn leiden(&self, graphs: &[CsrGraph], settings: &LeidenSettings) -> Result<Vec<Partition>> {
        leiden::leiden(graphs, settings)
    }
}

/// Refuses a matrix with a value that is not finite, naming its row.
fn check_finite(rows: Rows<'_>, what: &str) -> Result<()> {
    match rows.data().iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(position) => Err(Error::Invalid {
            reason: format!("{what} row {} holds a value that is not finite", position / rows.dim()),
        }),
    }
}
