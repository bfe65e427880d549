//! From the picks of rows to a symmetric graph.

use super::best::Best;
use super::weights::weight;
use crate::{CsrGraph, Error, Result};

/// The memory of one thread, used for graph after graph: 24 bytes a pick, 8 a row.
#[derive(Default)]
pub(crate) struct Edges {
    /// Row, whom it picked, weight.
    picks: Vec<(u32, u32, i32)>,
    /// Where the edges of each row start; `[n + 1]`.
    starts: Vec<usize>,
    ends: Vec<usize>,
    /// Column and weight, row after row, first by nothing and then by column.
    found: Vec<(u32, i32)>,
    sorted: Vec<(u32, i32)>,
}

impl Edges {
    /// The graph of all edges that either end picked and that weigh at least `weight_min`.
    ///
    /// Every row picks its `k` best. Work is linear in the picks: rows are sorted by turning the graph over once.
    pub(crate) fn symmetrise(&mut self, best: &mut [Best], k: usize, weight_min: i32) -> Result<CsrGraph> {
        if best.iter().all(|best| best.is_whole(k)) {
            return self.collect(best, weight_min);
        }
        self.pick(best, k, weight_min);
        self.ends.clear();
        self.ends.extend_from_slice(&self.starts);
        self.found.resize(2 * self.picks.len(), (0, 0));
        for &(row, other, weight) in &self.picks {
            for (from, to) in [(row, other), (other, row)] {
                let end = &mut self.ends[from as usize];
                self.found[*end] = (to, weight);
                *end += 1;
            }
        }
        self.ends.clear();
        self.ends.extend_from_slice(&self.starts);
        self.sorted.resize(self.found.len(), (0, 0));
        for (row, bounds) in self.starts.windows(2).enumerate() {
            let row = row as u32;
            for &(other, weight) in &self.found[bounds[0]..bounds[1]] {
                let (start, end) = (self.starts[other as usize], &mut self.ends[other as usize]);
                // Where both ends picked each other, the edge comes twice in a row.
                if *end == start || self.sorted[*end - 1].0 != row {
                    self.sorted[*end] = (row, weight);
                    *end += 1;
                }
            }
        }
        self.graph()
    }

    /// The graph of rows that all kept every row that was good enough: each edge was picked by both ends.
    fn collect(&mut self, best: &[Best], weight_min: i32) -> Result<CsrGraph> {
        self.starts.clear();
        self.ends.clear();
        self.sorted.clear();
        for best in best {
            let start = self.sorted.len();
            let edges = best.kept().map(|neighbour| (neighbour.row, weight(neighbour.score)));
            self.sorted.extend(edges.filter(|&(_, weight)| weight >= weight_min));
            // Tiles taken in turn bring rows in their order.
            if !self.sorted[start..].is_sorted() {
                self.sorted[start..].sort_unstable();
            }
            self.starts.push(start);
            self.ends.push(self.sorted.len());
        }
        self.starts.push(self.sorted.len());
        self.graph()
    }

    /// Collects the picks, and where the edges of every row start.
    fn pick(&mut self, best: &mut [Best], k: usize, weight_min: i32) {
        self.picks.clear();
        self.starts.clear();
        self.starts.resize(best.len() + 1, 0);
        for (row, best) in best.iter_mut().enumerate() {
            for neighbour in best.top(k) {
                let weight = weight(neighbour.score);
                if weight >= weight_min {
                    self.picks.push((row as u32, neighbour.row, weight));
                    self.starts[row] += 1;
                    self.starts[neighbour.row as usize] += 1;
                }
            }
        }
        let mut before = 0;
        for start in &mut self.starts {
            (*start, before) = (before, before + *start);
        }
    }

    fn graph(&self) -> Result<CsrGraph> {
        let n = self.starts.len().saturating_sub(1);
        let n_edges = self.starts.iter().zip(&self.ends).take(n).map(|(start, end)| end - start).sum();
        if u32::try_from(n_edges).is_err() {
            return Err(Error::Invalid { reason: "a source has 2^32 edges or more".to_owned() });
        }
        let mut graph = CsrGraph {
            offsets: Vec::with_capacity(n + 1),
            columns: Vec::with_capacity(n_edges),
            weights: Vec::with_capacity(n_edges),
        };
        graph.offsets.push(0);
        for (&start, &end) in self.starts.iter().zip(&self.ends).take(n) {
            let row = &self.sorted[start..end];
            graph.columns.extend(row.iter().map(|edge| edge.0));
            graph.weights.extend(row.iter().map(|edge| edge.1));
            graph.offsets.push(graph.columns.len() as u32);
        }
        Ok(graph)
    }
}
