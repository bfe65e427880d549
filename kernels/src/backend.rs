//! The seam to a device: link rows into graphs, find nearest rows, cut graphs into communities.
//!
//! Knows vectors and graphs. Does not know texts: those are the business of [`crate::Embedder`].

use crate::{CsrGraph, Partition, Result, Rows};

/// How rows of one source are linked into a graph.
///
/// The score of a pair is its cosine plus, for index distance `d <= closeness_reach`,
/// `closeness_bonus · (1 − d / (closeness_reach + 1))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSettings {
    /// Lowest score of an edge, as a cosine; the median score of the source raises it.
    pub similarity_min: f32,
    /// Most edges that a row picks itself; others may pick it besides.
    pub neighbours_max: u32,
    /// Added to the score of adjacent rows, less with distance.
    pub closeness_bonus: f32,
    /// Farthest index distance that still gets a bonus.
    pub closeness_reach: u32,
}

impl LinkSettings {
    /// The settings that imports use unless told otherwise.
    pub const STANDARD: Self =
        Self { similarity_min: 0.5, neighbours_max: 32, closeness_bonus: 0.2, closeness_reach: 3 };
}

/// A row found near a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Its index among the rows searched.
    pub row: u32,
    /// Its cosine with the query.
    pub score: f32,
}

/// What makes a partition good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quality {
    /// Constant Potts model: a community gains what its edges weigh above `gamma` a pair.
    ///
    /// No resolution limit. Source: Traag, Van Dooren, Nesterov, arXiv:1104.3083.
    Cpm {
        /// The density, a cosine; taken as `round(gamma · 2^14)`.
        gamma: f32,
    },
    /// Modularity: a community gains what its edges weigh above chance.
    ///
    /// Source: Newman, Girvan, arXiv:cond-mat/0308217; Reichardt, Bornholdt, arXiv:cond-mat/0603718.
    Modularity {
        /// 1 is the textbook's; higher gives smaller communities; taken as `round(resolution · 2^14)`.
        resolution: f32,
    },
}

/// How a graph is cut into communities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeidenSettings {
    /// What is maximised.
    pub quality: Quality,
    /// Orders the visits of nodes; equal seeds give equal partitions on every device.
    pub seed: u64,
    /// Most passes over a graph; a pass that changes nothing is the last. At least one is made.
    pub rounds_max: u32,
}

/// A device that works on vectors and graphs.
///
/// Equal bits in, equal bits out, on every device and any number of threads.
pub trait Backend: Send + Sync {
    /// The device, as a user would name it.
    fn name(&self) -> &str;

    /// Links the rows of each source into a graph of similar rows.
    ///
    /// `rows` is `[n, dim]`, unit length; `offsets` are `n_sources + 1` ascending bounds of sources in it.
    /// A row picks its `neighbours_max` best by (score, lower index) among scores of at least the larger of
    /// `similarity_min` and the median score of its source; an edge stands if either end picked it. Weights
    /// are `round(score · 2^14)`. Each cosine is one ascending chain of fused multiply-adds.
    /// Work is O(n²·dim) a source, memory O(n·(dim + neighbours_max)).
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for offsets that do not ascend from 0 to `n`, values or settings that are not finite.
    fn link(&self, rows: Rows<'_>, offsets: &[u32], settings: &LinkSettings) -> Result<Vec<CsrGraph>>;

    /// Finds for each row the `k` other rows most similar to it, best first, ties to the lower row.
    ///
    /// `rows` is `[n, dim]`, unit length. Rows below `similarity_min` are left out, and so is the row itself; rows
    /// equal to it are not. Each cosine is one ascending chain of fused multiply-adds. Every pair is scored once:
    /// work is O(n²·dim / 2), memory O(n·k) beside the rows; the scores are never stored.
    ///
    /// # Errors
    /// [`Error::Invalid`] for values that are not finite.
    ///
    /// Source: Johnson, Douze, Jégou, arXiv:1702.08734 (tiled k-selection).
    fn neighbours(&self, rows: Rows<'_>, k: u32, similarity_min: f32) -> Result<Vec<Vec<Neighbour>>>;

    /// Finds for each query the `k` rows most similar to it, best first, ties to the lower row.
    ///
    /// `queries` is `[n_queries, dim]`, `rows` is `[n, dim]`, both of unit length. Rows below
    /// `similarity_min` are left out. Work is O(n_queries·n·dim).
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for unequal `dim` or values that are not finite.
    fn nearest(&self, queries: Rows<'_>, rows: Rows<'_>, k: u32, similarity_min: f32) -> Result<Vec<Vec<Neighbour>>>;

    /// Cuts each graph into communities; each community is connected.
    ///
    /// Work is close to O(edges) a round. Graphs are taken in parallel, each by one thread.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for a graph that fails [`CsrGraph::check`] or a setting that is not finite or negative.
    ///
    /// Source: Traag, Waltman, van Eck, arXiv:1810.08473.
    fn leiden(&self, graphs: &[CsrGraph], settings: &LeidenSettings) -> Result<Vec<Partition>>;
}
