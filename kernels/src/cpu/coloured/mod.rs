//! Leiden on one large graph: all nodes of a colour choose at once, from one snapshot. The rules of every device.
//!
//! Graphs of more than 32,768 nodes come here, whatever the device; smaller ones are cut by
//! the serial rules of `leiden`. The rules below are exact: who follows them gets the same labels, bit for bit, with
//! any number of threads and in any order of threads, lanes and blocks.
//!
//! 1. **Gains** are exact integers: joining `weight` is worth `pull · weight − push · mass · mass` (`rule`).
//! 2. **Colours** (`colour`): neighbours never share one, so while the nodes of a colour choose and move, the weights
//!    that they choose by stay true. Only masses go stale.
//! 3. **Local moving** (`moving`): all nodes are active at first. A sweep takes the colours in ascending order. Every
//!    active node of the colour becomes inactive and chooses from the labels and masses as they are before the colour:
//!    the neighbouring community of the largest gain, of equal ones the lowest label; its own, if none gains more; if
//!    the best gain is below 0 and it is not alone, the community named after itself, if nobody is in that.
//!    Then up to eight trials: over all pending choices, `joining[c]` and `leaving[c]` sum up the masses that want to
//!    go to `c` and leave it. A choice is made true if it gains even when all others that want to join its target
//!    came first and all that want to leave its community left first: `gain(mass[to] + joining[to] − own)` above
//!    `gain(mass[from] − leaving[from])`. Masses only cost, so every move raises the quality **in whatever order**
//!    the moves are thought to happen, and quality never falls. Of the other choices those whose
//!    `mix(node ^ mix(salt + trial))` is even stay pending; the rest, and what is left after the last trial, becomes
//!    active again. A move makes all neighbours outside the new community active: those of a later colour are still
//!    visited in the same sweep. A sweep with fewer than `n / 32` moves is the last.
//! 4. **Refinement** (`refining`): every node is a part of its own. One pass over the colours: nodes that nobody joined
//!    and that are well connected (`gain(cut, mass, rest of the community) >= 0`) choose the part of their community
//!    of the largest gain of at least 0, of equal ones the lowest, among those that are well connected before the
//!    colour, with weight above 0 between them. Trials as above, with `gain(mass[to] + joining[to] − own) >= 0`.
//!    A node joins a part that a neighbour of it is in, and nobody leaves a part: parts are connected.
//! 5. **Aggregation** (`aggregate`): parts, numbered by their lowest nodes, are the nodes of the next level.
//! 6. A level of at most 32,768 nodes and 2^21 directed edges, or of at most 8,192 nodes, is finished by the serial
//!    rules. Communities of the last level are cut into their connected components (`components`).
//! 7. **Rounds** start from the partition of the one before. The last is the one that `rounds_max` says; or gains less
//!    than `1 / 4096` of what all edges are worth; or, if it is not the first, moves fewer than `n / 1024` nodes at the
//!    finest level: it ends there.
//!
//! **Work.** A full sweep reads every directed edge once: column 4 B, weight 4 B and, at a random place, the neighbour's
//! label 4 B. 10⁷ edges are 240 MB a sweep, 12 ms at 20 GB/s of one core. What counts are the random reads: 2·10⁷ of a
//! 4 MB array of labels. Local moving makes about 4.5 sweeps' worth of visits, refinement 2, aggregation 1, colours
//! 1.5. Shares reached: `benches/results/kernels.md`.
//!
//! **Memory** beside the graph, which is borrowed: 37 B a node for moving or 41 B for refining, 24 B for masses, colours
//! and labels; 8 B a directed edge of the first coarse level, twice while it is put together; 16 B, twice, of the last.
//!
//! Source: Traag, Waltman, van Eck, arXiv:1810.08473; colours: Halappanavar, Lu, Kalyanaraman, Tumeo, «Scalable static
//! and dynamic community detection using Grappolo» (2017).

mod aggregate;
#[cfg(any(test, feature = "cuda", all(feature = "metal", target_os = "macos")))]
pub(crate) mod card;
mod colour;
mod components;
#[cfg(test)]
mod emulated;
mod level;
mod moving;
mod processor;
mod refining;
mod rule;
mod schedule;
mod sums;
#[cfg(test)]
mod tests;

use self::level::Level;
use self::processor::Processor;
use self::rule::Rule;
use super::leiden::serial::Workspace;
use crate::{CsrGraph, LeidenSettings, Partition, Result};

/// When a level is left to the serial rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Most nodes of such a level.
    pub nodes_serial_max: usize,
    /// Most directed edges of such a level,
    pub edges_serial_max: usize,
    /// unless it has at most this many nodes: so few are not worth their colours.
    pub nodes_few: usize,
}

impl Limits {
    /// Those of all devices.
    pub(crate) const STANDARD: Self =
        Self { nodes_serial_max: super::leiden::SERIAL_NODES_MAX, edges_serial_max: 1 << 21, nodes_few: 8_192 };

    fn is_serial(&self, level: &Level<'_>) -> bool {
        let fits = level.n() <= self.nodes_serial_max && level.columns.len() <= self.edges_serial_max;
        fits || level.n() <= self.nodes_few.min(self.nodes_serial_max)
    }
}

/// Cuts a graph by the coloured rules on the processor; `None` where its weights are too large for them
/// ([`Rule::new`]): the serial rules know wider integers.
///
/// The labels do not depend on the number of threads.
pub(super) fn partition(graph: &CsrGraph, settings: &LeidenSettings, limits: &Limits) -> Option<Result<Partition>> {
    partition_on(&Processor::new(), graph, settings, limits)
}

/// The same on any device.
pub(crate) fn partition_on<D: schedule::Device>(
    device: &D,
    graph: &CsrGraph,
    settings: &LeidenSettings,
    limits: &Limits,
) -> Option<Result<Partition>> {
    let rule = Rule::new(graph, settings.quality)?;
    let finest = Level::finest(graph, rule.by_degree);
    Some(schedule::run(device, &finest, rule, settings, limits))
}

/// Finishes a small level by the serial rules, from one label a node; the only place that calls them.
fn finish(level: &Level<'_>, mut labels: Vec<u32>, rule: Rule, seed: u64, rounds_max: u32) -> Vec<u32> {
    let mut edges = Vec::with_capacity(level.columns.len());
    (0..level.n()).for_each(|node| level.each(node, |other, weight| edges.push((other, weight))));
    let mut serial = super::leiden::level::Level { offsets: level.offsets.to_vec(), edges, mass: level.mass.clone() };
    let gains = super::leiden::rule::Rule { pull: rule.pull.into(), push: rule.push.into() }.wide();
    Workspace::<i64, i128>::default().climb(&mut serial, gains, &mut labels, seed, rounds_max);
    labels
}
