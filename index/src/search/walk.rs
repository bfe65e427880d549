//! A bounded walk over the edges between chunks: the best path to each, not the first.
//!
//! The search is written against petgraph's traits, over our own rows without a copy of them; a
//! path's worth is the product of its weights.

use std::collections::HashMap;

use petgraph::visit::{Data, EdgeRef, GraphBase, IntoEdgeReferences, IntoEdges, IntoNeighbors};

use super::gather::chunk_hit;
use super::query::{Hop, K_MAX, Reached, Walk, WalkQuery};
use crate::error::{Error, Result};
use crate::model::{ChunkId, Edge, EdgeKind, ScopeSet};
use crate::snapshot::{Address, Snapshot};

/// The most edges on a path.
const HOPS_MAX: u32 = 6;
/// The most edges one walk looks at: a hub cannot stall a server.
const EDGES_MAX: usize = 200_000;

/// Walks from `query.from` and returns the chunks reached, best path first.
///
/// Edges are walked both ways; one with an end that `scopes` may not see is not there. Work is
/// O(edges met · segments), bounded by 200,000 edges met; the first walk of a snapshot sorts its edges.
///
/// # Errors
/// [`Error::NotFound`] for a start that the caller may not see or that does not exist,
/// [`Error::OutOfRange`] for bad `hops`, `k` or no start.
pub fn walk(snapshot: &Snapshot, scopes: &ScopeSet, query: &WalkQuery) -> Result<Walk> {
    check(query)?;
    for start in &query.from {
        if snapshot.chunk(scopes, start).is_none() {
            return Err(Error::NotFound { noun: "chunk", given: start.to_string() });
        }
    }
    let graph = Visible { snapshot, scopes, kinds: &query.kinds };
    let mut best: Vec<(ChunkId, Path)> = best_paths(&graph, &query.from, query.hops).into_iter().collect();
    best.retain(|(chunk, _)| !query.from.contains(chunk));
    best.sort_by(|(a, x), (b, y)| y.weight.total_cmp(&x.weight).then(a.cmp(b)));
    best.truncate(query.k as usize);
    let reached = best
        .into_iter()
        .filter_map(|(chunk, path)| Some((snapshot.chunk(scopes, &chunk)?, path)))
        .map(|(Address { segment, row }, path)| {
            Ok(Reached { hit: chunk_hit(&snapshot.segments()[segment as usize], row, path.weight)?, path: path.hops })
        })
        .collect::<Result<Vec<Reached>>>()?;
    Ok(Walk { version: snapshot.version(), reached })
}

fn check(query: &WalkQuery) -> Result<()> {
    let bounds = [
        ("hops", query.hops, HOPS_MAX, "1 to 6"),
        ("k", query.k, K_MAX, "1 to 1000"),
        ("number of starts", query.from.len() as u32, K_MAX, "1 to 1000"),
    ];
    for (what, given, max, allowed) in bounds {
        if given == 0 || given > max {
            return Err(Error::OutOfRange { what, given: given.to_string(), allowed });
        }
    }
    Ok(())
}

/// A path and its worth.
#[derive(Clone, Debug, PartialEq)]
struct Path {
    weight: f32,
    hops: Vec<Hop>,
}

/// The best path of at most `hops` edges from `starts` to each node, layer by layer.
fn best_paths<'g, G>(graph: G, starts: &[ChunkId], hops: u32) -> HashMap<ChunkId, Path>
where
    G: IntoEdges<NodeId = ChunkId, EdgeWeight = EdgeView<'g>>,
    G: Data,
{
    let mut best: HashMap<ChunkId, Path> = HashMap::new();
    let mut frontier: Vec<(ChunkId, Path)> = Vec::new();
    for start in starts {
        let path = Path { weight: 1.0, hops: Vec::new() };
        best.insert(*start, path.clone());
        frontier.push((*start, path));
    }
    let mut n_met = 0;
    for _ in 0..hops {
        let mut improved: HashMap<ChunkId, Path> = HashMap::new();
        for (node, path) in &frontier {
            for edge in graph.edges(*node) {
                n_met += 1;
                if n_met > EDGES_MAX {
                    return best;
                }
                let weight = path.weight * edge.weight().edge.weight;
                let known = improved.get(&edge.target()).or_else(|| best.get(&edge.target()));
                if known.is_some_and(|known| known.weight >= weight) {
                    continue;
                }
                let mut hops = path.hops.clone();
                hops.push(edge.weight().hop());
                improved.insert(edge.target(), Path { weight, hops });
            }
        }
        best.extend(improved.iter().map(|(node, path)| (*node, path.clone())));
        frontier = improved.into_iter().collect();
        frontier.sort_by_key(|(node, _)| *node);
    }
    best
}

/// One edge as walked.
#[derive(Clone, Copy)]
struct EdgeView<'a> {
    edge: &'a Edge,
    forward: bool,
}

impl EdgeView<'_> {
    fn hop(&self) -> Hop {
        let (from, to) = match self.forward {
            true => (self.edge.from, self.edge.to),
            false => (self.edge.to, self.edge.from),
        };
        Hop { from, to, kind: self.edge.kind, forward: self.forward, weight: self.edge.weight }
    }
}

/// The edges whose ends may both be seen, looked up where the walk comes by.
struct Visible<'a> {
    snapshot: &'a Snapshot,
    scopes: &'a ScopeSet,
    kinds: &'a [EdgeKind],
}

impl<'a> Visible<'a> {
    /// The edges of current sources at `node`, in a fixed order.
    fn views(&self, node: ChunkId) -> Vec<EdgeView<'a>> {
        let mut views = Vec::new();
        let tenant = self.scopes.tenant();
        for (segment_idx, segment) in (0..).zip(self.snapshot.segments()) {
            if segment.tenant() != tenant {
                continue;
            }
            let (starting, ending) = segment.edges_at(&node);
            let rows = starting.iter().map(|row| (row, true)).chain(ending.iter().map(|row| (row, false)));
            let current = rows.filter(|(row, _)| self.snapshot.is_current(segment_idx, segment.source_of_edge(**row)));
            views.extend(current.map(|(row, forward)| EdgeView { edge: &segment.edges()[*row as usize], forward }));
        }
        views.retain(|view| self.is_seen(view));
        views.sort_by_key(|view| (view.edge.from, view.edge.to, view.edge.kind));
        views
    }

    fn is_seen(&self, view: &EdgeView<'_>) -> bool {
        let other = if view.forward { view.edge.to } else { view.edge.from };
        let is_wanted = self.kinds.is_empty() || self.kinds.contains(&view.edge.kind);
        is_wanted && self.snapshot.chunk(self.scopes, &other).is_some()
    }
}

/// An edge seen from the node it is walked from.
#[derive(Clone, Copy)]
struct Walked<'a>(EdgeView<'a>);

impl<'a> EdgeRef for Walked<'a> {
    type NodeId = ChunkId;
    type EdgeId = (ChunkId, ChunkId, EdgeKind);
    type Weight = EdgeView<'a>;

    fn source(&self) -> ChunkId {
        self.0.hop().from
    }

    fn target(&self) -> ChunkId {
        self.0.hop().to
    }

    fn weight(&self) -> &EdgeView<'a> {
        &self.0
    }

    fn id(&self) -> Self::EdgeId {
        (self.0.edge.from, self.0.edge.to, self.0.edge.kind)
    }
}

impl GraphBase for Visible<'_> {
    type EdgeId = (ChunkId, ChunkId, EdgeKind);
    type NodeId = ChunkId;
}

impl<'a> Data for Visible<'a> {
    type NodeWeight = ();
    type EdgeWeight = EdgeView<'a>;
}

type Edges<'a> = std::iter::Map<std::vec::IntoIter<EdgeView<'a>>, fn(EdgeView<'a>) -> Walked<'a>>;

impl<'a> IntoNeighbors for &Visible<'a> {
    type Neighbors = std::iter::Map<Edges<'a>, fn(Walked<'a>) -> ChunkId>;

    fn neighbors(self, node: ChunkId) -> Self::Neighbors {
        self.edges(node).map(|edge| edge.target())
    }
}

impl<'g, 'a> IntoEdgeReferences for &'g Visible<'a> {
    type EdgeRef = Walked<'a>;
    type EdgeReferences = Box<dyn Iterator<Item = Walked<'a>> + 'g>;

    fn edge_references(self) -> Self::EdgeReferences {
        let chunks = self.snapshot.segments().iter().flat_map(|segment| segment.chunks());
        let seen = chunks.filter(|chunk| self.snapshot.chunk(self.scopes, &chunk.id).is_some());
        Box::new(seen.flat_map(|chunk| self.edges(chunk.id)).filter(|edge| edge.0.forward))
    }
}

impl<'a> IntoEdges for &Visible<'a> {
    type Edges = Edges<'a>;

    fn edges(self, node: ChunkId) -> Self::Edges {
        self.views(node).into_iter().map(Walked)
    }
}
