//! A graph of groups of nodes: the finest level borrows the caller's graph, coarser ones are compact.
//!
//! Knows masses and weights; what they are worth is the business of `rule`.

use std::borrow::Cow;

use rayon::prelude::*;

use super::sums::Sums;
use crate::CsrGraph;

/// A symmetric graph without self loops: edges within a group weigh the same wherever the group goes.
///
/// Invariant: `offsets` are `n + 1` ascending bounds in `columns`; columns ascend within a row; `weights` are above
/// 0, one a column, equal in both directions.
pub(crate) struct Level<'a> {
    /// Where each row's columns start; `[n + 1]`.
    pub offsets: Cow<'a, [u32]>,
    /// Neighbours, row after row.
    pub columns: Cow<'a, [u32]>,
    /// Edge weights beside `columns`.
    pub weights: Weights<'a>,
    /// What a node counts when it is held against others: nodes in it, or their degrees; `[n]`.
    pub mass: Vec<i64>,
}

/// Edge weights in the narrowest integers that hold them all.
pub(crate) enum Weights<'a> {
    /// Each fits 32 bits.
    Short(Cow<'a, [i32]>),
    /// Some do not.
    Long(Vec<i64>),
}

impl<'a> Level<'a> {
    /// The finest level. Nothing is copied; masses take 8 bytes a node.
    pub(crate) fn finest(graph: &'a CsrGraph, by_degree: bool) -> Self {
        let mass = |node: usize| match by_degree {
            true => graph.edges(node).map(|(_, weight)| i64::from(weight)).sum(),
            false => 1,
        };
        Self {
            offsets: Cow::Borrowed(&graph.offsets),
            columns: Cow::Borrowed(&graph.columns),
            weights: Weights::Short(Cow::Borrowed(&graph.weights)),
            mass: (0..graph.n()).into_par_iter().map(mass).collect(),
        }
    }

    /// Number of nodes.
    pub(crate) fn n(&self) -> usize {
        self.mass.len()
    }

    /// Number of edges at `node`.
    pub(crate) fn degree(&self, node: usize) -> usize {
        (self.offsets[node + 1] - self.offsets[node]) as usize
    }

    /// The neighbours of `node`, ascending.
    pub(crate) fn neighbours(&self, node: usize) -> &[u32] {
        &self.columns[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// Hands every neighbour of `node` and the weight of its edge to `take`, by ascending neighbour.
    #[inline]
    pub(crate) fn each(&self, node: usize, mut take: impl FnMut(u32, i64)) {
        let range = self.offsets[node] as usize..self.offsets[node + 1] as usize;
        let columns = &self.columns[range.clone()];
        match &self.weights {
            Weights::Short(weights) => {
                columns.iter().zip(&weights[range]).for_each(|(&column, &weight)| take(column, i64::from(weight)));
            }
            Weights::Long(weights) => {
                columns.iter().zip(&weights[range]).for_each(|(&column, &weight)| take(column, weight));
            }
        }
    }

    /// Sums the weights of the edges at `node` by `labels`, which stand beside its neighbours.
    #[inline]
    pub(super) fn sum(&self, node: usize, labels: &[u32], sums: &mut Sums) {
        let range = self.offsets[node] as usize..self.offsets[node + 1] as usize;
        sums.start(labels.len());
        match &self.weights {
            Weights::Short(weights) => {
                labels.iter().zip(&weights[range]).for_each(|(&label, &weight)| sums.add(label, i64::from(weight)));
            }
            Weights::Long(weights) => {
                labels.iter().zip(&weights[range]).for_each(|(&label, &weight)| sums.add(label, weight));
            }
        }
    }

    /// The weight of the edges at `node` whose label is `own`, and of all others.
    #[inline]
    pub(super) fn split(&self, node: usize, labels: &[u32], own: u32) -> (i64, i64) {
        let range = self.offsets[node] as usize..self.offsets[node + 1] as usize;
        let (mut inner, mut all) = (0, 0);
        let mut add = |label: u32, weight: i64| {
            inner += if label == own { weight } else { 0 };
            all += weight;
        };
        match &self.weights {
            Weights::Short(weights) => {
                labels.iter().zip(&weights[range]).for_each(|(&label, &weight)| add(label, i64::from(weight)));
            }
            Weights::Long(weights) => {
                labels.iter().zip(&weights[range]).for_each(|(&label, &weight)| add(label, weight))
            }
        }
        (inner, all - inner)
    }

    /// All weights as 64-bit integers, beside `columns`.
    #[cfg(test)]
    pub(crate) fn long_weights(&self) -> Vec<i64> {
        match &self.weights {
            Weights::Short(weights) => weights.iter().map(|&weight| i64::from(weight)).collect(),
            Weights::Long(weights) => weights.clone(),
        }
    }
}
