//! Leiden of one graph on one thread: starts, rounds, levels.
//!
//! Knows graphs and partitions; which graphs it gets is the business of the door.
//!
//! Sketch, for a document of 111 sentences and 1,530 directed edges (the mean of real ones): one start makes about
//! 7,400 visits of an edge in its first round and 4,700 in each later one, of which there are 1.7. Everything fits
//! the first cache (12 kB of edges, 5 kB of state), so no byte moves beyond it; the chain of one sum is 5 cycles
//! (a store that the next load waits for) and a visit of a node ends in about three branches that no one can
//! foretell, 20 cycles each: 15,500 · 5 + 1,700 · 60 = 180,000 cycles, 60 µs at 3 GHz; 103 µs were measured, all
//! starts included (`benches/results/kernels.md`). Memory is 140 bytes a node and 24 an edge, kept from graph to
//! graph; nothing is allocated but the labels.
//!
//! Why communities are connected without a last look. A round ends at a level where no node joins a part. Say a
//! community fell into pieces there. Masses are above 0 (a node without edges is always alone) and so is `push`, so a
//! node of a piece pays for the other pieces; it would not rather be alone, for moving ends so; hence it gains from
//! its own piece more than it pays there, hence it gains from joining some neighbour in it, which is as well connected
//! as itself. The first such node in the order would have joined a part: a contradiction. Parts are connected, for
//! a node joins only a part that it has an edge to, and so is a connected set of parts.
//!
//! Why it ends: a move raises the quality, an integer that the graph bounds, and every level has fewer nodes.
//!
//! Source: Traag, Waltman, van Eck, arXiv:1810.08473.

use std::mem;

use super::level::Level;
use super::order::{Affine, key};
use super::phases::Phases;
use super::rule::{Gain, Gains, Sum};
use crate::CsrGraph;

/// Directed edges that the starts of a graph have between them, within the bounds on their number.
const STARTS_EDGES: usize = 2_048;
/// Fewest starts of a graph.
const STARTS_MIN: usize = 1;
/// Most starts of a graph.
const STARTS_MAX: usize = 4;

/// No number.
const NONE: u32 = u32::MAX;

/// Room for one graph after the other, kept between them.
#[derive(Debug, Default)]
pub(in crate::cpu) struct Workspace<W, G> {
    phases: Phases<W>,
    base: Level<W>,
    level: Level<W>,
    next: Level<W>,
    /// The node of the level that each node of the base is in.
    node_of: Vec<u32>,
    /// Nodes of the graph by their number in the base, and back.
    order: Vec<u32>,
    number: Vec<u32>,
    /// The weighted degrees and masses of the graph's nodes.
    degrees: Vec<i64>,
    masses: Vec<i64>,
    labels: Vec<u32>,
    best: Vec<u32>,
    numbers: Vec<u32>,
    gains: std::marker::PhantomData<G>,
}

impl<W: Sum, G: Gain> Workspace<W, G> {
    /// The community of each node of a graph, numbered densely in the order of first appearance.
    pub(in crate::cpu) fn partition(
        &mut self,
        graph: &CsrGraph,
        by_degree: bool,
        gains: Gains<G>,
        seed: u64,
        rounds_max: u32,
    ) -> Vec<u32> {
        let n = graph.n();
        self.reserve(n);
        self.weigh(graph, by_degree);
        let n_starts = (STARTS_EDGES / (graph.columns.len() + 1)).clamp(STARTS_MIN, STARTS_MAX) as u32;
        let mut best: Option<(G, u32, bool)> = None;
        for start in 0..n_starts {
            self.number_nodes(graph, seed, start);
            self.labels.iter_mut().zip(0..).for_each(|(label, node)| *label = node);
            let (n_moves, value) = self.round(gains, |level| key(seed, start, 0, level));
            if best.is_none_or(|(top, ..)| value > top) {
                best = Some((value, start, n_moves == 0));
                mem::swap(&mut self.labels, &mut self.best);
            }
        }
        let (_, start, done) = best.unwrap_or_default();
        mem::swap(&mut self.labels, &mut self.best);
        if start + 1 != n_starts {
            self.number_nodes(graph, seed, start);
        }
        for round in 1..if done { 1 } else { rounds_max } {
            let (n_moves, _) = self.round(gains, |level| key(seed, start, round, level));
            if n_moves == 0 {
                break;
            }
        }
        self.dense(n)
    }

    /// Rounds from `labels`, each below the number of nodes, until one moves nothing; a community is named by its
    /// lowest node afterwards. For levels that another schedule has made.
    pub(in crate::cpu) fn climb(
        &mut self,
        level: &mut Level<W>,
        gains: Gains<G>,
        labels: &mut [u32],
        seed: u64,
        rounds_max: u32,
    ) {
        self.reserve(level.n());
        mem::swap(&mut self.base, level);
        self.labels.copy_from_slice(labels);
        for round in 0..rounds_max.max(1) {
            if self.round(gains, |level| key(seed, 0, round, level)).0 == 0 {
                break;
            }
        }
        labels.copy_from_slice(&self.labels);
        mem::swap(&mut self.base, level);
    }

    fn reserve(&mut self, n: usize) {
        self.phases.reserve(n);
        for numbers in [&mut self.node_of, &mut self.order, &mut self.number, &mut self.labels, &mut self.best] {
            numbers.resize(n, 0);
        }
        self.numbers.resize(n, 0);
    }

    fn weigh(&mut self, graph: &CsrGraph, by_degree: bool) {
        self.degrees.clear();
        let degree = |bounds: &[u32]| {
            let row = &graph.weights[bounds[0] as usize..bounds[1] as usize];
            row.iter().map(|&weight| i64::from(weight)).sum::<i64>()
        };
        self.degrees.extend(graph.offsets.windows(2).map(degree));
        self.masses.clear();
        self.masses.extend(self.degrees.iter().map(|&degree| if by_degree { degree } else { 1 }));
    }

    /// Makes the base: the graph with its nodes in the order of a start.
    fn number_nodes(&mut self, graph: &CsrGraph, seed: u64, start: u32) {
        let n = graph.n() as u32;
        self.order.clear();
        if start == 0 {
            self.order.extend(0..n);
            self.order.sort_unstable_by_key(|&node| (self.degrees[node as usize], node));
        } else {
            self.order.extend(Affine::new(key(seed, start, 0, 0), n).nodes().map(|node| node as u32));
        }
        for (&node, number) in self.order.iter().zip(0..) {
            self.number[node as usize] = number;
        }
        self.base.fill(graph, &self.masses, &self.order, &self.number);
    }

    /// One pass over all levels from `labels`, the communities of the base, to communities that are at least
    /// as good; returns the number of moves and what they gained.
    fn round(&mut self, gains: Gains<G>, key: impl Fn(u32) -> u64) -> (u64, G) {
        let n = self.base.n();
        let phases = &mut self.phases;
        phases.labels[..n].copy_from_slice(&self.labels);
        let (mut n_moves, mut gained) = phases.move_nodes(&self.base, gains);
        let mut m = n;
        let mut n_parts = phases.refine(&self.base, gains, Affine::new(key(0), n as u32));
        if n_parts < m {
            phases.aggregate(&self.base, n_parts, &mut self.level);
            self.node_of.copy_from_slice(&phases.parts[..n]);
        } else {
            self.node_of.iter_mut().zip(0..).for_each(|(of, node)| *of = node);
        }
        let mut height = 0;
        while n_parts < m {
            height += 1;
            m = n_parts;
            mem::swap(&mut phases.labels, &mut phases.labels_next);
            let (more, gain) = phases.move_nodes(&self.level, gains);
            n_moves += more;
            gained += gain;
            n_parts = phases.refine(&self.level, gains, Affine::new(key(height), m as u32));
            if n_parts < m {
                phases.aggregate(&self.level, n_parts, &mut self.next);
                mem::swap(&mut self.level, &mut self.next);
                self.node_of.iter_mut().for_each(|node| *node = phases.parts[*node as usize]);
            }
        }
        self.numbers[..m].fill(NONE);
        for (node, (label, &of)) in self.labels.iter_mut().zip(&self.node_of).enumerate() {
            let lowest = &mut self.numbers[phases.labels[of as usize] as usize];
            *lowest = (*lowest).min(node as u32);
            *label = *lowest;
        }
        (n_moves, gained)
    }

    /// The labels of the base by node of the graph, numbered in the order of first appearance.
    fn dense(&mut self, n: usize) -> Vec<u32> {
        self.numbers.fill(NONE);
        let mut n_found = 0;
        let label = |&number: &u32| {
            let label = &mut self.numbers[self.labels[number as usize] as usize];
            if *label == NONE {
                *label = n_found;
                n_found += 1;
            }
            *label
        };
        self.number[..n].iter().map(label).collect()
    }
}
