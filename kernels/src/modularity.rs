//! How good a partition is: pure arithmetic for reports and tests.

use crate::{CsrGraph, Partition, Quality, WEIGHT_ONE};

/// Values a partition of a graph.
///
/// CPM is in units of cosine summed over pairs; modularity is in `[-1, 1]` at resolution 1, and 0 for a
/// graph without edges. Nodes that the partition does not label are left out. Work is O(edges).
pub fn quality(graph: &CsrGraph, partition: &Partition, q: Quality) -> f64 {
    let n_communities = partition.n_communities();
    let mut inner = vec![0_i64; n_communities]; // twice the weight inside each community
    let mut degree = vec![0_i64; n_communities];
    let mut n_nodes = vec![0_i64; n_communities];
    let label = |node: usize| partition.labels.get(node).map(|&label| label as usize);
    for node in 0..graph.n() {
        let Some(own) = label(node) else { continue };
        n_nodes[own] += 1;
        for (column, weight) in graph.edges(node) {
            degree[own] += i64::from(weight);
            if label(column as usize) == Some(own) {
                inner[own] += i64::from(weight);
            }
        }
    }
    match q {
        Quality::Cpm { gamma } => {
            let gamma = f64::from(gamma);
            let one = f64::from(WEIGHT_ONE);
            let community =
                |(&inner, &n): (&i64, &i64)| inner as f64 / 2.0 / one - gamma * (n as f64 * (n as f64 - 1.0) / 2.0);
            inner.iter().zip(&n_nodes).map(community).sum()
        }
        Quality::Modularity { resolution } => {
            let total = degree.iter().sum::<i64>() as f64;
            if total == 0.0 {
                return 0.0;
            }
            let community = |(&inner, &degree): (&i64, &i64)| {
                let share = degree as f64 / total;
                inner as f64 / total - f64::from(resolution) * share * share
            };
            inner.iter().zip(&degree).map(community).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pairs_are_worth_a_half() {
        let graph = CsrGraph { offsets: vec![0, 1, 2, 3, 4], columns: vec![1, 0, 3, 2], weights: vec![WEIGHT_ONE; 4] };
        let pairs = Partition { labels: vec![0, 0, 1, 1] };
        let modularity = Quality::Modularity { resolution: 1.0 };
        assert_eq!(quality(&graph, &pairs, modularity), 0.5);
        assert_eq!(quality(&graph, &pairs, Quality::Cpm { gamma: 0.25 }), 1.5);
        let whole = Partition { labels: vec![0; 4] };
        assert_eq!(quality(&graph, &whole, modularity), 0.0);
        assert_eq!(quality(&graph, &whole, Quality::Cpm { gamma: 0.25 }), 0.5);
    }
}
