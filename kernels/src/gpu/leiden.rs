//! Clusters documents on a card: one warp a document, sorted by size, a launch a size class.
//!
//! What the kernel does not take goes to the processor, with the same labels.

use pulp::bytemuck::{cast_slice, cast_slice_mut};
use rayon::prelude::*;

use super::batch::{batches, budget};
use super::coloured;
use super::engine::{Argument, Engine, Grid, Room};
use crate::cpu::leiden::{self as plain, Terms};
use crate::{CsrGraph, LeidenSettings, Partition, Result};

/// Threads of a block: one warp, one document.
const WARP: u32 = 32;
/// Shared memory of a document: bytes a sentence, and besides (`leiden.cu`).
const SENTENCE_BYTES: u32 = 35;
const DOCUMENT_BYTES: u32 = 40;
/// Most sentences of a size class: each has about half the memory of the next, so none wastes more than that.
const CLASSES: [u32; 14] = [32, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048, 4_096, 8_192];

/// See [`crate::Backend::leiden`].
pub(super) fn leiden<E: Engine>(engine: &E, graphs: &[CsrGraph], settings: &LeidenSettings) -> Result<Vec<Partition>> {
    plain::check_settings(settings)?;
    let room = engine.room()?;
    let job = |graph: &CsrGraph| {
        graph.check()?;
        Ok(pull(graph, settings, room).map(|pull| (pull, card_bytes(graph))))
    };
    let jobs: Vec<Option<(Pull, u64)>> = graphs.par_iter().map(job).collect::<Result<_>>()?;
    let (mut on_card, mut rest): (Vec<Document<'_>>, Vec<usize>) = (Vec::new(), Vec::new());
    for (idx, (graph, job)) in graphs.iter().zip(&jobs).enumerate() {
        match job {
            Some((pull, _)) => on_card.push(Document { idx, graph, pull: *pull }),
            None => rest.push(idx),
        }
    }
    let mut found = vec![Partition { labels: Vec::new() }; graphs.len()];
    let bytes: Vec<Option<u64>> = jobs.iter().flatten().map(|&(_, bytes)| Some(bytes)).collect();
    for batch in batches(&bytes, budget(room)) {
        let documents = &on_card[batch.jobs];
        if !batch.on_card {
            rest.extend(documents.iter().map(|document| document.idx));
            continue;
        }
        let labels = cluster(engine, documents, settings)?;
        let mut first = 0;
        for document in documents {
            let labels = &labels[first..first + document.graph.n()];
            found[document.idx].labels = labels.iter().map(|&label| u32::from(label)).collect();
            first += labels.len();
        }
    }
    let (large, mut rest): (Vec<usize>, Vec<usize>) =
        rest.into_iter().partition(|&idx| graphs[idx].n() > plain::SERIAL_NODES_MAX);
    for idx in large {
        match coloured::partition(engine, &graphs[idx], settings, room).transpose()? {
            Some(partition) => found[idx] = partition,
            None => rest.push(idx),
        }
    }
    let of_rest: Vec<&CsrGraph> = rest.iter().map(|&idx| &graphs[idx]).collect();
    for (idx, partition) in rest.into_iter().zip(plain::leiden(&of_rest, settings)?) {
        found[idx] = partition;
    }
    Ok(found)
}

/// The two factors of a document's gains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pull {
    pull: i64,
    push: i64,
}

/// A document that the kernel takes.
struct Document<'a> {
    /// Which one of the call.
    idx: usize,
    graph: &'a CsrGraph,
    pull: Pull,
}

/// What a document's gains are computed with; `None` where the kernel does not take it: gains beyond 64 bits, nothing
/// that pushes apart, more sentences than shared memory holds.
fn pull(graph: &CsrGraph, settings: &LeidenSettings, room: Room) -> Option<Pull> {
    class(graph.n(), room).filter(|_| graph.n() <= plain::SERIAL_NODES_MAX)?;
    let gains = Terms::of(graph, settings.quality).narrow()?;
    (gains.push != 0).then_some(Pull { pull: gains.pull, push: gains.push })
}

/// What a document takes on the card: edges, rows, labels, and its place in the lists.
fn card_bytes(graph: &CsrGraph) -> u64 {
    6 * graph.columns.len() as u64 + 6 * graph.n() as u64 + 24
}

fn shared_bytes(n_sentences: u32) -> u32 {
    (SENTENCE_BYTES * n_sentences + DOCUMENT_BYTES).next_multiple_of(16)
}

/// Most sentences of the size class that a document of `n` belongs to; `None` where no block has the memory for it.
///
/// The last class is cut to what the card has.
fn class(n: usize, room: Room) -> Option<u32> {
    let most = (room.shared_bytes_max / 16 * 16).checked_sub(DOCUMENT_BYTES)? / SENTENCE_BYTES;
    let most = most.min(u32::from(u16::MAX));
    let n = u32::try_from(n).ok().filter(|&n| n <= most)?;
    let class = CLASSES.into_iter().find(|&class| n <= class).unwrap_or(most);
    Some(class.min(most))
}

/// The documents of each launch by their place in the batch, largest class first: what takes longest starts first.
fn launches(sizes: &[usize], room: Room) -> Vec<(u32, Vec<u32>)> {
    let mut by_size: Vec<(u32, u32)> =
        sizes.iter().zip(0..).filter_map(|(&n, place)| Some((class(n, room)?, place))).collect();
    by_size.sort_by_key(|&(class, place)| (std::cmp::Reverse(class), std::cmp::Reverse(sizes[place as usize]), place));
    let runs = by_size.chunk_by(|a, b| a.0 == b.0);
    runs.map(|run| (run[0].0, run.iter().map(|&(_, place)| place).collect())).collect()
}

/// The labels of documents, one after the other.
fn cluster<E: Engine>(engine: &E, documents: &[Document<'_>], settings: &LeidenSettings) -> Result<Vec<u16>> {
    let (mut offsets, mut rows) = (vec![0_u32], Vec::new());
    let (mut columns, mut weights) = (Vec::<u16>::new(), Vec::<i32>::new());
    for Document { graph, .. } in documents {
        let first = weights.len() as u32;
        rows.extend(graph.offsets[..graph.n()].iter().map(|offset| first + offset));
        columns.extend(graph.columns.iter().map(|&column| column as u16));
        weights.extend_from_slice(&graph.weights);
        offsets.push(rows.len() as u32);
    }
    rows.push(weights.len() as u32);
    let mut labels = vec![0_u16; rows.len() - 1];
    let pulls: Vec<i64> = documents.iter().map(|document| document.pull.pull).collect();
    let inputs: [&[u8]; 5] =
        [cast_slice(&offsets), cast_slice(&rows), cast_slice(&columns), cast_slice(&weights), cast_slice(&pulls)];
    let inputs = inputs.map(|input| engine.upload(input));
    let on_card = engine.zeros(size_of_val(labels.as_slice()))?;
    let room = engine.room()?;
    let sizes: Vec<usize> = documents.iter().map(|document| document.graph.n()).collect();
    let shape = shape(documents, settings);
    let inputs: Vec<E::Memory> = inputs.into_iter().collect::<Result<_>>()?;
    for (class, places) in launches(&sizes, room) {
        let grid = Grid { blocks: places.len() as u32, threads: WARP, shared_bytes: shared_bytes(class) };
        let places = engine.upload(cast_slice(&places))?;
        let memories = std::iter::once(&places).chain(&inputs).chain([&on_card]);
        let arguments: Vec<_> = memories.map(Argument::Memory).chain([Argument::Value(cast_slice(&shape))]).collect();
        engine.launch("leiden_documents", grid, &arguments)?;
    }
    engine.download(&on_card, cast_slice_mut(&mut labels))?;
    Ok(labels)
}

/// `LeidenShape`: what documents push apart does not depend on them.
fn shape(documents: &[Document<'_>], settings: &LeidenSettings) -> [u64; 3] {
    let push = documents.first().map_or(0, |document| document.pull.push);
    let by_degree = u64::from(matches!(settings.quality, crate::Quality::Modularity { .. }));
    [settings.seed, push.cast_unsigned(), by_degree | u64::from(settings.rounds_max.max(1)) << 32]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(shared_bytes_max: u32) -> Room {
        Room { free_bytes: 1 << 30, shared_bytes_max }
    }

    #[test]
    fn a_class_fits_its_documents_and_the_card() {
        for shared in [48 << 10, 64 << 10, 227 << 10] {
            let mut most = 0;
            for n in 0..10_000 {
                let Some(class) = class(n, room(shared)) else { continue };
                assert!(class as usize >= n && shared_bytes(class) <= shared, "{n} {class}");
                most = n;
            }
            assert!(shared_bytes(most as u32 + 1) > shared, "{most} of {shared}");
        }
        assert_eq!(class(0, room(16)), None);
    }

    #[test]
    fn every_document_is_launched_once_and_large_ones_first() {
        let sizes = [10, 3_000, 32, 33, 0, 500, 400, 1_400];
        let found = launches(&sizes, room(48 << 10));
        let said: Vec<String> = found.iter().map(|(class, places)| format!("{class} {places:?}")).collect();
        assert_eq!(said, ["1403 [7]", "512 [5, 6]", "64 [3]", "32 [2, 0, 4]"]);
    }
}
