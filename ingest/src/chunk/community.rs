//! Topics: Leiden communities of the graphs of similar sentences.
//!
//! Source: Traag, Waltman, van Eck, arXiv:1810.08473.

use std::collections::BTreeMap;

use index::model::{ChunkKind, Sentence};
use kernels::{Backend, LeidenSettings, LinkSettings, Quality, Rows};

use super::{Cut, Group, as_u32, cut_in_order, groups, tokens};
use crate::error::{Error, Result};
use crate::prepare::Prepared;
use crate::settings::ChunkSettings;

/// Sentences that are linked in one call: 64 Ki × 384 numbers are 100 MB.
const CALL_ROWS_MAX: usize = 64 << 10;
/// Rounds of Leiden at most; it ends sooner where nothing moves.
const ROUNDS_MAX: u32 = 32;

/// The communities of each source's groups; `None` for a group that is too short for them.
///
/// # Errors
/// The device's.
pub(crate) fn all(
    batch: &[Prepared],
    dim: usize,
    backend: &dyn Backend,
    settings: &ChunkSettings,
) -> Result<Vec<Vec<Option<Vec<u32>>>>> {
    let mut found: Vec<Vec<Option<Vec<u32>>>> = Vec::with_capacity(batch.len());
    let mut call = Call::default();
    for (source, prepared) in batch.iter().enumerate() {
        let groups = groups(&prepared.entry);
        found.push(vec![None; groups.len()]);
        for (slot, group) in groups.iter().enumerate() {
            let n = group.sentences.len();
            if as_u32(n) < settings.sentences_min.max(2) {
                continue;
            }
            if call.n_rows + n > CALL_ROWS_MAX {
                call.run(dim, backend, settings, &mut found)?;
            }
            let range = group.sentences.start as usize * dim..group.sentences.end as usize * dim;
            call.rows.extend_from_slice(&prepared.entry.vectors[range]);
            call.n_rows += n;
            call.bounds.push(as_u32(call.n_rows));
            call.slots.push((source, slot));
        }
    }
    call.run(dim, backend, settings, &mut found)?;
    Ok(found)
}

#[derive(Default)]
struct Call {
    rows: Vec<f32>,
    n_rows: usize,
    /// Where each group's rows end.
    bounds: Vec<u32>,
    slots: Vec<(usize, usize)>,
}

impl Call {
    fn run(
        &mut self,
        dim: usize,
        backend: &dyn Backend,
        settings: &ChunkSettings,
        found: &mut [Vec<Option<Vec<u32>>>],
    ) -> Result<()> {
        let call = std::mem::take(self);
        if call.slots.is_empty() {
            return Ok(());
        }
        let mut offsets = vec![0];
        offsets.extend(call.bounds);
        let rows = Rows::new(&call.rows, dim)
            .ok_or_else(|| Error::Invalid { what: "embedder", reason: "vectors of uneven length".to_owned() })?;
        let graphs = backend.link(rows, &offsets, &LinkSettings::STANDARD)?;
        let leiden = LeidenSettings {
            quality: Quality::Modularity { resolution: settings.resolution },
            seed: settings.seed,
            rounds_max: ROUNDS_MAX,
        };
        let partitions = backend.leiden(&graphs, &leiden)?;
        for ((source, slot), partition) in call.slots.into_iter().zip(partitions) {
            found[source][slot] = Some(partition.labels);
        }
        Ok(())
    }
}

/// Communities to cuts: small ones join a neighbour, large ones are cut in order.
pub(super) fn cut(
    sentences: &[Sentence],
    group: &Group,
    labels: &[u32],
    first_community: u32,
    settings: &ChunkSettings,
) -> Vec<Cut> {
    let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut labels = labels.to_vec();
    for (idx, &label) in group.sentences.clone().zip(&labels) {
        members.entry(label).or_default().push(idx);
    }
    join_small(sentences, group, &mut labels, &mut members, settings);
    let mut cuts = Vec::new();
    for (label, members) in members {
        let community = first_community + label;
        for sentences in cut_in_order(sentences, &members, settings.tokens_max) {
            cuts.push(Cut {
                kind: ChunkKind::Community,
                session: group.session,
                sentences,
                community: Some(community),
            });
        }
    }
    cuts
}

/// Joins each community below the minimum to that of the sentence before it, else after it, where the
/// two fit the budget. One pass in the order of the communities: bounded, and the same every time.
fn join_small(
    sentences: &[Sentence],
    group: &Group,
    labels: &mut [u32],
    members: &mut BTreeMap<u32, Vec<u32>>,
    settings: &ChunkSettings,
) {
    let start = group.sentences.start;
    let all: Vec<u32> = members.keys().copied().collect();
    for label in all {
        let Some(own) = members.get(&label) else { continue };
        let own_tokens = tokens(sentences, own);
        if own_tokens >= u64::from(settings.tokens_min) {
            continue;
        }
        let (Some(&first), Some(&last)) = (own.first(), own.last()) else { continue };
        let before = first.checked_sub(start + 1);
        let after = Some(last - start + 1);
        let fits = |at: u32| {
            let other = *labels.get(at as usize)?;
            let joined = own_tokens + tokens(sentences, members.get(&other)?);
            (other != label && joined <= u64::from(settings.tokens_max)).then_some(other)
        };
        let Some(into) = before.and_then(fits).or_else(|| after.and_then(fits)) else { continue };
        let own = members.remove(&label).unwrap_or_default();
        for &idx in &own {
            labels[(idx - start) as usize] = into;
        }
        let joined = members.entry(into).or_default();
        joined.extend(own);
        joined.sort_unstable();
    }
}
