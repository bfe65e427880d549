//! The graph of a source's sentences and a partition of it, with checks of their invariants.
//!
//! Knows integers only: where the weights came from is the business of whoever linked the rows.

use std::ops::Range;

use rayon::prelude::*;

use crate::{Error, Result};

/// The integer weight of a score of 1: weights are `round(score · 2^14)`.
pub const WEIGHT_ONE: i32 = 1 << 14;

/// Directed edges that one thread checks, or more: each range walks over all nodes once.
const RANGE_EDGES: usize = 1 << 22;

/// A symmetric weighted graph in compressed sparse rows.
///
/// Invariant: `offsets.len() == n + 1`, ascending, from 0 to `columns.len()`; `columns` ascend strictly
/// within a row and never name the row itself; `weights` are above 0, one a column, equal in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsrGraph {
    /// Where each row's columns start; `[n + 1]`.
    pub offsets: Vec<u32>,
    /// Neighbours of the rows, row after row.
    pub columns: Vec<u32>,
    /// Edge weights, `round(score · 2^14)`, beside `columns`.
    pub weights: Vec<i32>,
}

impl CsrGraph {
    /// A graph of `n` nodes without an edge.
    pub fn without_edges(n: usize) -> Self {
        Self { offsets: vec![0; n + 1], columns: Vec::new(), weights: Vec::new() }
    }

    /// Number of nodes.
    pub fn n(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The neighbours of `node` with the weights of the edges, by ascending neighbour.
    ///
    /// # Panics
    /// When `node >= n()`, or when the graph breaks the invariants that [`CsrGraph::check`] states.
    pub fn edges(&self, node: usize) -> impl Iterator<Item = (u32, i32)> + '_ {
        let range = self.offsets[node] as usize..self.offsets[node + 1] as usize;
        let weights = self.weights[range.clone()].iter().copied();
        self.columns[range].iter().copied().zip(weights)
    }

    /// Checks every invariant of the type. Work is O(edges), memory 4 bytes a node and thread.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first broken invariant and the node it is broken at.
    pub fn check(&self) -> Result<()> {
        self.check_shape()?;
        let n_ranges = self.columns.len() / RANGE_EDGES + 1;
        let bound = |range: usize| self.n() * range / n_ranges;
        let ranges = (0..n_ranges).into_par_iter().map(|range| self.check_rows(bound(range)..bound(range + 1)));
        // The first error is the answer, whoever is done first.
        ranges.collect::<Vec<_>>().into_iter().collect()
    }

    fn check_rows(&self, rows: Range<usize>) -> Result<()> {
        // Rows are walked in order, so the other end of an edge is the next one of its row that was not met yet.
        let first = |column: usize| {
            let row = self.offsets[column] as usize..self.offsets[column + 1] as usize;
            self.offsets[column] + self.columns[row].partition_point(|&other| (other as usize) < rows.start) as u32
        };
        let mut met: Vec<u32> = match rows.start {
            0 => self.offsets.clone(),
            _ => (0..self.n()).map(first).collect(),
        };
        for node in rows {
            let mut before = None;
            for (column, weight) in self.edges(node) {
                if column as usize >= self.n() || column as usize == node {
                    return broken(node, "a column is out of range or names its own row");
                }
                if before >= Some(column) {
                    return broken(node, "columns do not ascend");
                }
                if weight <= 0 {
                    return broken(node, "a weight is not above 0");
                }
                let at = met[column as usize];
                let inside = at < self.offsets[column as usize + 1];
                if !inside || self.columns[at as usize] != node as u32 || self.weights[at as usize] != weight {
                    return broken(node, "an edge is not symmetric");
                }
                met[column as usize] = at + 1;
                before = Some(column);
            }
        }
        Ok(())
    }

    fn check_shape(&self) -> Result<()> {
        let n_edges = self.columns.len();
        if self.offsets.first() != Some(&0) || self.offsets.last().map(|&o| o as usize) != Some(n_edges) {
            return broken(0, "offsets do not run from 0 to the number of columns");
        }
        if self.weights.len() != n_edges {
            return broken(0, "weights and columns differ in number");
        }
        match self.offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            Some(node) => broken(node, "offsets do not ascend"),
            None => Ok(()),
        }
    }
}

/// A partition of a graph's nodes into communities.
///
/// Invariant: labels are dense and numbered in the order of first appearance, so equal partitions are equal
/// values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The community of each node, `[n]`.
    pub labels: Vec<u32>,
}

impl Partition {
    /// Renumbers any labels densely, in the order of first appearance.
    ///
    /// `raw` holds one label a node, each below `raw.len()`.
    pub(crate) fn from_raw(raw: &[u32]) -> Self {
        let mut dense = vec![u32::MAX; raw.len()];
        let mut n_communities = 0;
        let labels = raw.iter().map(|&label| {
            let slot = &mut dense[label as usize];
            if *slot == u32::MAX {
                *slot = n_communities;
                n_communities += 1;
            }
            *slot
        });
        Self { labels: labels.collect() }
    }

    /// Number of communities.
    pub fn n_communities(&self) -> usize {
        self.labels.iter().max().map_or(0, |&top| top as usize + 1)
    }

    /// Checks that the partition labels exactly `n` nodes, densely, in the order of first appearance.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first node that breaks it.
    pub fn check(&self, n: usize) -> Result<()> {
        if self.labels.len() != n {
            let reason = format!("partition of {} nodes, graph of {n}", self.labels.len());
            return Err(Error::Invalid { reason });
        }
        let mut next = 0;
        for (node, &label) in self.labels.iter().enumerate() {
            if label > next {
                return broken(node, "its label skips a number");
            }
            next = next.max(label + 1);
        }
        Ok(())
    }
}

fn broken(node: usize, what: &str) -> Result<()> {
    Err(Error::Invalid { reason: format!("graph node {node}: {what}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> CsrGraph {
        CsrGraph { offsets: vec![0, 1, 2], columns: vec![1, 0], weights: vec![7, 7] }
    }

    #[test]
    fn a_symmetric_pair_passes() {
        pair().check().expect("valid");
        CsrGraph::without_edges(0).check().expect("empty");
    }

    #[test]
    fn each_broken_invariant_is_named() {
        let check = |graph: CsrGraph, part: &str| {
            let error = graph.check().expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        };
        check(CsrGraph { weights: vec![7, 8], ..pair() }, "symmetric");
        check(CsrGraph { weights: vec![0, 0], ..pair() }, "above 0");
        check(CsrGraph { columns: vec![0, 0], ..pair() }, "own row");
        check(CsrGraph { columns: vec![5, 0], ..pair() }, "out of range");
        check(CsrGraph { offsets: vec![0, 3, 2], ..pair() }, "ascend");
        check(CsrGraph { offsets: vec![], ..pair() }, "offsets");
        check(CsrGraph { weights: vec![7], ..pair() }, "number");
    }

    #[test]
    fn labels_are_numbered_by_first_appearance() {
        let partition = Partition::from_raw(&[3, 1, 3, 0]);
        assert_eq!(partition.labels, vec![0, 1, 0, 2]);
        assert_eq!(partition.n_communities(), 3);
        partition.check(4).expect("dense");
        assert!(partition.check(3).is_err());
        assert!(Partition { labels: vec![1, 0] }.check(2).is_err());
    }
}
