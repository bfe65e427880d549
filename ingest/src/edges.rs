//! Typed relations between chunks: what follows, what is alike, what names the same.
//!
//! An edge stands once, at a chunk of the source that owns it; it is walkable both ways.

use std::collections::{BTreeMap, HashMap, HashSet};

use index::Snapshot;
use index::model::{Chunk, ChunkId, ChunkKind, Edge, EdgeKind, Scope, SourceId, SourceKind, SourceState};
use kernels::{Backend, Neighbour, Rows};

use crate::error::{Error, Result};
use crate::prepare::Prepared;

/// Least cosine of two chunks that are about the same within a source.
const SIMILAR_MIN: f32 = 0.7;
/// So many such edges a chunk picks.
const SIMILAR_MAX: usize = 5;
/// Least cosine of two chunks of different sources.
const CROSS_MIN: f32 = 0.45;
/// So many such edges a chunk picks, each to another source.
const CROSS_MAX: usize = 3;
/// So many neighbours are looked at for them: the nearest are often of the same source.
const CROSS_CANDIDATES: u32 = 16;
/// The weight of a shared name.
const ENTITY_WEIGHT: f32 = 0.6;
/// A name in more chunks than this tells nothing.
const ENTITY_CHUNKS_MAX: usize = 10;
/// So many edges by name a chunk owns.
const ENTITY_EDGES_MAX: usize = 16;
/// Beyond so many chunks in the scope, cross-source edges to older imports are left to the search.
const BASE_CHUNKS_MAX: usize = 50_000;
/// And beyond so many pairs: at 384 numbers a pair, some seconds of two cores.
const PAIRS_MAX: usize = 200_000_000;

/// Gives every chunk of `batch` its edges.
///
/// # Errors
/// The device's.
pub(crate) fn all(batch: &mut [Prepared], dim: usize, backend: &dyn Backend, snapshot: &Snapshot) -> Result<()> {
    let mut owned: Vec<Vec<Edge>> = Vec::with_capacity(batch.len());
    for prepared in batch.iter() {
        let mut edges = next(&prepared.entry.chunks);
        edges.extend(same_community(&prepared.entry.chunks, &prepared.communities));
        edges.extend(similar(prepared, dim, backend)?);
        owned.push(edges);
    }
    let leading = Leading::of_batch(batch, dim);
    by_name(batch, &leading, &mut owned);
    cross_source(&leading, &leading, dim, backend, &mut owned)?;
    if let Some(base) = Leading::of_base(batch, dim, snapshot)? {
        cross_source(&leading, &base, dim, backend, &mut owned)?;
    }
    for (prepared, edges) in batch.iter_mut().zip(owned) {
        let mut seen = HashSet::new();
        prepared.entry.edges = edges.into_iter().filter(|edge| seen.insert((edge.from, edge.to, edge.kind))).collect();
    }
    Ok(())
}

/// From each chunk to the next of its kind.
fn next(chunks: &[Chunk]) -> Vec<Edge> {
    let mut last: BTreeMap<ChunkKind, ChunkId> = BTreeMap::new();
    let mut edges = Vec::new();
    for chunk in chunks {
        if let Some(from) = last.insert(chunk.kind, chunk.id) {
            edges.push(Edge { from, to: chunk.id, kind: EdgeKind::Next, weight: 1.0 });
        }
    }
    edges
}

/// Between the parts of a community that did not fit the budget.
fn same_community(chunks: &[Chunk], communities: &[Option<u32>]) -> Vec<Edge> {
    let mut last: HashMap<u32, ChunkId> = HashMap::new();
    let mut edges = Vec::new();
    for (chunk, community) in chunks.iter().zip(communities) {
        let Some(community) = community else { continue };
        if let Some(from) = last.insert(*community, chunk.id) {
            edges.push(Edge { from, to: chunk.id, kind: EdgeKind::SameCommunity, weight: 1.0 });
        }
    }
    edges
}

/// Between chunks of one kind that are alike and do not follow each other.
fn similar(prepared: &Prepared, dim: usize, backend: &dyn Backend) -> Result<Vec<Edge>> {
    let mut edges = Vec::new();
    for kind in [ChunkKind::Community, ChunkKind::Exchange, ChunkKind::Paragraph] {
        let chunks: Vec<&Chunk> = prepared.entry.chunks.iter().filter(|chunk| chunk.kind == kind).collect();
        if chunks.len() < 3 || chunks.len().saturating_mul(chunks.len()) > PAIRS_MAX {
            continue;
        }
        let means: Vec<f32> = chunks.iter().flat_map(|chunk| mean(chunk, &prepared.entry.vectors, dim)).collect();
        // Itself and both neighbours come back too.
        let found = nearest(backend, &means, &means, dim, SIMILAR_MAX as u32 + 3, SIMILAR_MIN)?;
        for (row, neighbours) in found.iter().enumerate() {
            let others = neighbours.iter().filter(|other| (other.row as usize).abs_diff(row) > 1).take(SIMILAR_MAX);
            for other in others {
                let (low, high) = ordered(row, other.row as usize);
                edges.push(Edge {
                    from: chunks[low].id,
                    to: chunks[high].id,
                    kind: EdgeKind::Similar,
                    weight: other.score.min(1.0),
                });
            }
        }
    }
    Ok(edges)
}

/// The chunks that stand for their sources: exchanges of conversations, topics or paragraphs of documents.
///
/// A conversation's sentences are in exchanges and in topics; counting both would double every edge.
struct Leading<'a> {
    chunks: Vec<Lead<'a>>,
    /// `[n_chunks, dim]`.
    means: Vec<f32>,
}

struct Lead<'a> {
    /// Which source of the batch; `None` outside it.
    owner: Option<usize>,
    source: SourceId,
    chunk: &'a Chunk,
}

fn leads(kind: SourceKind, chunk: &Chunk) -> bool {
    match kind {
        SourceKind::Conversation => chunk.kind == ChunkKind::Exchange,
        SourceKind::Document => matches!(chunk.kind, ChunkKind::Community | ChunkKind::Paragraph),
    }
}

impl<'a> Leading<'a> {
    fn of_batch(batch: &'a [Prepared], dim: usize) -> Self {
        let mut chunks = Vec::new();
        let mut means = Vec::new();
        for (owner, prepared) in batch.iter().enumerate() {
            let entry = &prepared.entry;
            for chunk in entry.chunks.iter().filter(|chunk| leads(entry.source.kind, chunk)) {
                means.extend(mean(chunk, &entry.vectors, dim));
                chunks.push(Lead { owner: Some(owner), source: entry.source.id, chunk });
            }
        }
        Self { chunks, means }
    }

    /// What the store holds now in the batch's scope, less what the batch replaces; `None` where it is
    /// nothing or too much.
    fn of_base(batch: &[Prepared], dim: usize, snapshot: &'a Snapshot) -> Result<Option<Self>> {
        let Some(first) = batch.first() else {
            return Ok(None);
        };
        let scope: &Scope = &first.entry.source.scope;
        let replaced: HashSet<SourceId> = batch.iter().map(|prepared| prepared.entry.source.id).collect();
        let mut leading = Self { chunks: Vec::new(), means: Vec::new() };
        // The first sentence of each chunk's source, and where each segment's chunks end: vectors are decoded
        // segment by segment, and only once it is clear that they are not too many.
        let (mut firsts, mut spans): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for (number, segment) in (0..).zip(snapshot.segments()) {
            for (row, source) in (0..).zip(segment.sources()) {
                let is_wanted = source.scope == *scope
                    && source.state == SourceState::Live
                    && !replaced.contains(&source.id)
                    && snapshot.is_current(number, row);
                if !is_wanted {
                    continue;
                }
                let range = segment.chunks_of(row);
                let first = segment.sentences_of(row).start as usize;
                let chunks = &segment.chunks()[range.start as usize..range.end as usize];
                for chunk in chunks.iter().filter(|chunk| leads(source.kind, chunk)) {
                    leading.chunks.push(Lead { owner: None, source: source.id, chunk });
                    firsts.push(first);
                }
                if leading.chunks.len() > BASE_CHUNKS_MAX {
                    return Ok(None);
                }
            }
            spans.push(leading.chunks.len());
        }
        let mut start = 0;
        for (segment, end) in snapshot.segments().iter().zip(spans) {
            let own = leading.chunks[start..end].iter().zip(&firsts[start..end]);
            if start < end {
                let means = &mut leading.means;
                segment.lend_vectors(|vectors| {
                    for (lead, first) in own {
                        means.extend(mean(lead.chunk, vectors.get(first * dim..).unwrap_or_default(), dim));
                    }
                })?;
            }
            start = end;
        }
        Ok((!leading.chunks.is_empty()).then_some(leading))
    }
}

/// Between chunks of the batch that share a name which few have.
fn by_name(batch: &[Prepared], leading: &Leading<'_>, owned: &mut [Vec<Edge>]) {
    let scope = |owner: usize| &batch[owner].entry.source.scope;
    let mut named: BTreeMap<(&Scope, &str), Vec<usize>> = BTreeMap::new();
    for (at, lead) in leading.chunks.iter().enumerate() {
        let Some(owner) = lead.owner else { continue };
        for entity in &lead.chunk.entities {
            named.entry((scope(owner), entity)).or_default().push(at);
        }
    }
    let mut n_edges = vec![0; leading.chunks.len()];
    let mut seen = HashSet::new();
    for places in named.values().filter(|places| (2..=ENTITY_CHUNKS_MAX).contains(&places.len())) {
        for (n, &from) in places.iter().enumerate() {
            for &to in &places[n + 1..] {
                let Some(owner) = leading.chunks[from].owner else { continue };
                if n_edges[from] == ENTITY_EDGES_MAX || !seen.insert((from, to)) {
                    continue;
                }
                n_edges[from] += 1;
                owned[owner].push(Edge {
                    from: leading.chunks[from].chunk.id,
                    to: leading.chunks[to].chunk.id,
                    kind: EdgeKind::Entity,
                    weight: ENTITY_WEIGHT,
                });
            }
        }
    }
}

/// From chunks of the batch to the most alike ones of other sources, one a source.
fn cross_source(
    from: &Leading<'_>,
    to: &Leading<'_>,
    dim: usize,
    backend: &dyn Backend,
    owned: &mut [Vec<Edge>],
) -> Result<()> {
    if from.chunks.is_empty() || from.chunks.len().saturating_mul(to.chunks.len()) > PAIRS_MAX {
        return Ok(());
    }
    let found = nearest(backend, &from.means, &to.means, dim, CROSS_CANDIDATES, CROSS_MIN)?;
    let mut seen: HashSet<(ChunkId, ChunkId)> = HashSet::new();
    for (lead, neighbours) in from.chunks.iter().zip(&found) {
        let Some(owner) = lead.owner else { continue };
        let mut sources = HashSet::from([lead.source]);
        for neighbour in neighbours {
            let other = &to.chunks[neighbour.row as usize];
            if !sources.insert(other.source) {
                continue;
            }
            if sources.len() > CROSS_MAX + 1 {
                break;
            }
            let (low, high) = ordered(lead.chunk.id, other.chunk.id);
            if seen.insert((low, high)) {
                owned[owner].push(Edge {
                    from: lead.chunk.id,
                    to: other.chunk.id,
                    kind: EdgeKind::CrossSource,
                    weight: neighbour.score.min(1.0),
                });
            }
        }
    }
    Ok(())
}

fn nearest(
    backend: &dyn Backend,
    queries: &[f32],
    rows: &[f32],
    dim: usize,
    k: u32,
    min: f32,
) -> Result<Vec<Vec<Neighbour>>> {
    let uneven = || Error::Invalid { what: "embedder", reason: "vectors of uneven length".to_owned() };
    let queries = Rows::new(queries, dim).ok_or_else(uneven)?;
    let rows = Rows::new(rows, dim).ok_or_else(uneven)?;
    Ok(backend.nearest(queries, rows, k, min)?)
}

/// The mean of a chunk's sentence vectors at unit length; `vectors` start at its source's first sentence.
fn mean(chunk: &Chunk, vectors: &[f32], dim: usize) -> Vec<f32> {
    let mut sum = vec![0.0_f32; dim];
    for &sentence in &chunk.sentences {
        let at = sentence as usize * dim;
        for (sum, value) in sum.iter_mut().zip(vectors.get(at..at + dim).unwrap_or_default()) {
            *sum += value;
        }
    }
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        sum.iter_mut().for_each(|value| *value /= length);
    }
    sum
}

fn ordered<T: Ord>(a: T, b: T) -> (T, T) {
    if a <= b { (a, b) } else { (b, a) }
}
