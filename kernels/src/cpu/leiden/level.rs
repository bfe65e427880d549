//! A level of Leiden: a graph whose nodes are groups of nodes of the level below.
//!
//! Knows masses and weights; what they are worth is the business of `rule`.

use super::rule::Sum;
use crate::CsrGraph;

/// A symmetric graph without self loops, its edges in any order within a row. Edges inside a node are left
/// out: they weigh the same wherever the node goes.
///
/// Invariant: `offsets.len() == mass.len() + 1`, ascending, from 0 to `edges.len()`; weights are above 0.
#[derive(Clone, Debug, Default)]
pub(in crate::cpu) struct Level<W> {
    /// Where each row's edges start; `[n + 1]`.
    pub offsets: Vec<u32>,
    /// Neighbour and weight, row after row.
    pub edges: Vec<(u32, W)>,
    /// What a node counts when it is held against others: nodes of the graph in it, or their degrees.
    pub mass: Vec<i64>,
}

impl<W: Sum> Level<W> {
    pub(in crate::cpu) fn n(&self) -> usize {
        self.mass.len()
    }

    #[inline(always)]
    pub(in crate::cpu) fn row(&self, node: usize) -> &[(u32, W)] {
        &self.edges[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// Becomes the graph itself, its nodes renumbered: `order` names the node of each number, `number` the
    /// number of each node.
    pub(in crate::cpu) fn fill(&mut self, graph: &CsrGraph, mass: &[i64], order: &[u32], number: &[u32]) {
        self.clear();
        for &node in order {
            let node = node as usize;
            let row = graph.offsets[node] as usize..graph.offsets[node + 1] as usize;
            let row = graph.columns[row.clone()].iter().zip(&graph.weights[row]);
            self.edges.extend(row.map(|(&column, &weight)| (number[column as usize], W::from(weight))));
            self.offsets.push(self.edges.len() as u32);
            self.mass.push(mass[node]);
        }
    }

    /// An empty level whose rows are about to be pushed.
    pub(in crate::cpu) fn clear(&mut self) {
        self.offsets.clear();
        self.offsets.push(0);
        self.edges.clear();
        self.mass.clear();
    }
}
