//! Graphs of communities: a level of Leiden, its aggregation, sums by community, connected components.
//!
//! Knows masses and weights; what they are worth is the business of `leiden`.

use crate::{CsrGraph, Partition};

/// A graph whose nodes are groups of the nodes of a finer one. Edges within a group are left out: they
/// weigh the same wherever the group goes.
pub(super) struct Level {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    weights: Vec<i64>,
    /// What a node counts when it is held against others: nodes in it, or their degrees.
    pub mass: Vec<i64>,
}

impl Level {
    /// The finest level: the graph itself.
    pub(super) fn of(graph: &CsrGraph, by_degree: bool) -> Self {
        let mass = |node: usize| match by_degree {
            true => graph.edges(node).map(|(_, weight)| i64::from(weight)).sum(),
            false => 1,
        };
        Self {
            offsets: graph.offsets.iter().map(|&offset| offset as usize).collect(),
            columns: graph.columns.clone(),
            weights: graph.weights.iter().map(|&weight| i64::from(weight)).collect(),
            mass: (0..graph.n()).map(mass).collect(),
        }
    }

    /// A level from its parts; see [`Level`].
    pub(super) fn new(offsets: Vec<usize>, columns: Vec<u32>, weights: Vec<i64>, mass: Vec<i64>) -> Self {
        Self { offsets, columns, weights, mass }
    }

    pub(super) fn n(&self) -> usize {
        self.mass.len()
    }

    pub(super) fn edges(&self, node: usize) -> impl Iterator<Item = (u32, i64)> + '_ {
        let range = self.offsets[node]..self.offsets[node + 1];
        let weights = self.weights[range.clone()].iter().copied();
        self.columns[range].iter().copied().zip(weights)
    }

    /// The community of each part, numbered by its lowest part; every part lies in one community.
    pub(super) fn labels_of_parts(&self, labels: &[u32], parts: &Partition) -> Vec<u32> {
        let mut of_part = vec![0; parts.n_communities()];
        for (&part, &label) in parts.labels.iter().zip(labels) {
            of_part[part as usize] = label;
        }
        let mut lowest = vec![u32::MAX; self.n()];
        for (part, label) in of_part.iter().enumerate() {
            let lowest = &mut lowest[*label as usize];
            *lowest = (*lowest).min(part as u32);
        }
        of_part.iter().map(|&label| lowest[label as usize]).collect()
    }

    /// The next level: one node a part.
    pub(super) fn aggregate(&self, parts: &Partition) -> Self {
        let n_parts = parts.n_communities();
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); n_parts];
        for (node, &part) in parts.labels.iter().enumerate() {
            members[part as usize].push(node as u32);
        }
        let mut coarse =
            Self { offsets: vec![0], columns: Vec::new(), weights: Vec::new(), mass: Vec::with_capacity(n_parts) };
        let mut sums = Sums::new(n_parts);
        for (part, members) in members.iter().enumerate() {
            let edges = members.iter().flat_map(|&node| self.edges(node as usize));
            sums.gather(edges.map(|(other, weight)| (parts.labels[other as usize], weight)));
            let mut row: Vec<(u32, i64)> = sums.iter().filter(|&(other, _)| other as usize != part).collect();
            sums.clear();
            row.sort_unstable();
            coarse.columns.extend(row.iter().map(|edge| edge.0));
            coarse.weights.extend(row.iter().map(|edge| edge.1));
            coarse.offsets.push(coarse.columns.len());
            coarse.mass.push(members.iter().map(|&node| self.mass[node as usize]).sum());
        }
        coarse
    }
}

/// Sums of weights by label, cleared in the time it took to fill them.
pub(super) struct Sums {
    sums: Vec<i64>,
    seen: Vec<u32>,
}

impl Sums {
    /// For labels below `n`.
    pub(super) fn new(n: usize) -> Self {
        Self { sums: vec![0; n], seen: Vec::new() }
    }

    /// Adds up weights, each above 0.
    pub(super) fn gather(&mut self, weights: impl Iterator<Item = (u32, i64)>) {
        for (label, weight) in weights {
            let sum = &mut self.sums[label as usize];
            if *sum == 0 {
                self.seen.push(label);
            }
            *sum += weight;
        }
    }

    pub(super) fn of(&self, label: u32) -> i64 {
        self.sums[label as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, i64)> + '_ {
        self.seen.iter().map(|&label| (label, self.sums[label as usize]))
    }

    pub(super) fn clear(&mut self) {
        for label in self.seen.drain(..) {
            self.sums[label as usize] = 0;
        }
    }
}

/// The partition with every community cut into its connected components, which can only be better.
pub(super) fn split_unconnected(graph: &CsrGraph, labels: &[u32]) -> Partition {
    let mut component = vec![u32::MAX; graph.n()];
    let mut open = Vec::new();
    for first in 0..graph.n() {
        if component[first] != u32::MAX {
            continue;
        }
        component[first] = first as u32;
        open.push(first);
        while let Some(node) = open.pop() {
            for (other, _) in graph.edges(node) {
                let other = other as usize;
                if component[other] == u32::MAX && labels[other] == labels[node] {
                    component[other] = first as u32;
                    open.push(other);
                }
            }
        }
    }
    Partition::from_raw(&component)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> CsrGraph {
        CsrGraph { offsets: vec![0, 1, 3, 5, 6], columns: vec![1, 0, 2, 1, 3, 2], weights: vec![1, 1, 2, 2, 3, 3] }
    }

    #[test]
    fn aggregation_keeps_mass_and_the_weight_between_parts() {
        let level = Level::of(&path(), true);
        assert_eq!(level.mass, [1, 3, 5, 3]);
        let coarse = level.aggregate(&Partition { labels: vec![0, 0, 1, 1] });
        assert_eq!(coarse.mass, [4, 8]);
        assert_eq!(coarse.edges(0).collect::<Vec<_>>(), [(1, 2)]);
        assert_eq!(coarse.edges(1).collect::<Vec<_>>(), [(0, 2)]);
    }

    #[test]
    fn a_community_in_two_pieces_is_cut() {
        let split = split_unconnected(&path(), &[0, 1, 0, 0]);
        assert_eq!(split.labels, [0, 1, 2, 2]);
    }
}
