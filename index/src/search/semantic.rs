//! Cosines between a question's vector and the sentences of every competing row.
//!
//! Up to [`EXACT_SENTENCES_MAX`] sentences all are compared; above it the segments' vector indexes
//! and the words choose the sources, and those are compared in full.

use std::collections::HashSet;
use std::ops::Range;

use rayon::prelude::*;

use super::reach::{Part, Reach};
use crate::dot::dot;
use crate::error::Result;
use crate::segment::{Field, Segment};

/// Up to this many sentences every one is compared: 64 Ki × 384 is 25 M multiply-adds.
const EXACT_SENTENCES_MAX: usize = 65_536;
/// Sentences asked of each segment's vector index above that.
const INDEX_SENTENCES: usize = 512;
/// Best rows by words whose sources are compared too.
const LEXICAL_ROWS: usize = 512;
/// How a sentence and the mean of its row share a row's cosine.
const BEST_SHARE: f32 = 0.5;
/// How much a row's neighbour at distance 0, 1, 2 counts in a context score.
const NEIGHBOUR_WEIGHTS: [f32; 3] = [1.0, 0.4, 0.2];

/// The cosine of every slot, `NaN`-free; slots that were not compared hold `None`.
pub(super) struct Cosines(Vec<Option<f32>>);

impl Cosines {
    /// Compares `vector` with the rows of `reach`; `lexical` chooses sources where there are too many.
    pub fn compute(reach: &Reach<'_>, vector: &[f32], lexical: &[f32]) -> Result<Self> {
        Self::compute_bounded(reach, vector, lexical, EXACT_SENTENCES_MAX)
    }

    /// As [`Self::compute`], with the bound as an argument.
    pub fn compute_bounded(reach: &Reach<'_>, vector: &[f32], lexical: &[f32], exact_max: usize) -> Result<Self> {
        let mut cosines = vec![None; reach.n_slots()];
        if vector.is_empty() {
            return Ok(Self(cosines));
        }
        let chosen = choose_parts(reach, vector, lexical, exact_max)?;
        let computed: Vec<(&Part, Vec<Option<f32>>)> = chosen
            .into_par_iter()
            .map(|part| Ok((part, part_cosines(reach.segment(part), part, vector)?)))
            .collect::<Result<_>>()?;
        for (part, values) in computed {
            cosines[part.slots()].copy_from_slice(&values);
        }
        Ok(Self(cosines))
    }

    /// The cosine of each slot.
    pub fn own(&self) -> &[Option<f32>] {
        &self.0
    }

    /// Each slot's cosine averaged with its neighbours' in the same group, nearer ones more.
    pub fn averaged(&self, groups: &[u32]) -> Vec<Option<f32>> {
        let average = |slot: usize| {
            self.0[slot]?;
            let from = slot.saturating_sub(NEIGHBOUR_WEIGHTS.len() - 1);
            let to = (slot + NEIGHBOUR_WEIGHTS.len() - 1).min(self.0.len() - 1);
            let (mut sum, mut total) = (0.0, 0.0);
            for near in from..=to {
                if let (true, Some(cosine)) = (groups[near] == groups[slot], self.0[near]) {
                    let weight = NEIGHBOUR_WEIGHTS[near.abs_diff(slot)];
                    sum += weight * cosine;
                    total += weight;
                }
            }
            Some(sum / total)
        };
        (0..self.0.len()).map(average).collect()
    }

    /// The best cosine of each group; `groups` are dense numbers.
    pub fn grouped(&self, groups: &[u32]) -> Vec<Option<f32>> {
        let n_groups = groups.iter().max().map_or(0, |last| *last as usize + 1);
        let mut best: Vec<Option<f32>> = vec![None; n_groups];
        for (slot, cosine) in self.0.iter().enumerate() {
            let kept = &mut best[groups[slot] as usize];
            *kept = match (*kept, *cosine) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            };
        }
        best
    }
}

fn choose_parts<'r>(reach: &'r Reach<'_>, vector: &[f32], lexical: &[f32], exact_max: usize) -> Result<Vec<&'r Part>> {
    let n_sentences: usize =
        reach.parts().iter().map(|part| reach.segment(part).sentences_of(part.source_row).len()).sum();
    if n_sentences <= exact_max {
        return Ok(reach.parts().iter().collect());
    }
    let mut chosen: HashSet<usize> = HashSet::new();
    for (segment_idx, segment) in reach.segments().iter().enumerate() {
        if !reach.touches(segment_idx) {
            continue;
        }
        let part_of = |row: u32| reach.part_of_source(segment_idx, segment.source_of_sentence(row));
        match segment.nearest(vector, INDEX_SENTENCES, &|row| part_of(row).is_some())? {
            Some(found) => chosen.extend(found.iter().filter_map(|(row, _)| part_of(*row))),
            // A live segment has no index and is small: all of it is compared.
            None => chosen.extend(
                (0..segment.sources().len())
                    .filter_map(|row| reach.part_of_source(segment_idx, u32::try_from(row).ok()?)),
            ),
        }
    }
    chosen.extend(best_slots(lexical, LEXICAL_ROWS).into_iter().map(|slot| reach.part_idx_of_slot(slot)));
    let mut chosen: Vec<usize> = chosen.into_iter().collect();
    chosen.sort_unstable();
    Ok(chosen.into_iter().map(|part| &reach.parts()[part]).collect())
}

/// The slots with the `n` highest scores above zero, in no order.
fn best_slots(scores: &[f32], n: usize) -> Vec<usize> {
    let mut slots: Vec<usize> = (0..scores.len()).filter(|slot| scores[*slot] > 0.0).collect();
    if slots.len() > n {
        slots.select_nth_unstable_by(n, |a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        slots.truncate(n);
    }
    slots
}

/// The cosine of every row of `part`: half its best sentence, half the mean of its sentences.
fn part_cosines(segment: &Segment, part: &Part, vector: &[f32]) -> Result<Vec<Option<f32>>> {
    let sentences = segment.sentences_of(part.source_row);
    let (dim, vectors) = (segment.dim(), segment.vectors()?);
    let dots: Vec<f32> = sentences
        .clone()
        .map(|row| {
            let at = row as usize * dim;
            dot(&vectors[at..at + dim], vector)
        })
        .collect();
    let cosines = match part.field {
        Field::Turn => {
            let first = sentences.start;
            let of_turn = |row| {
                let own = segment.sentences_of_turn(row);
                combine(&dots, (own.start - first) as usize..(own.end - first) as usize)
            };
            part.rows.clone().map(of_turn).collect()
        }
        Field::Chunk => part
            .rows
            .clone()
            .map(|row| {
                let members = &segment.chunks()[row as usize].sentences;
                let values: Vec<f32> =
                    members.iter().filter_map(|member| dots.get(*member as usize).copied()).collect();
                combine(&values, 0..values.len())
            })
            .collect(),
    };
    Ok(cosines)
}

fn combine(dots: &[f32], range: Range<usize>) -> Option<f32> {
    let dots = dots.get(range)?;
    let best = dots.iter().copied().reduce(f32::max)?;
    let mean = dots.iter().sum::<f32>() / dots.len() as f32;
    Some(BEST_SHARE * best + (1.0 - BEST_SHARE) * mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TextDigest;
    use crate::search::query::Unit;
    use crate::tests::{commit_of, entry, grant, memory_store, vector};

    #[test]
    fn the_index_finds_what_comparing_all_finds() {
        let (_, store) = memory_store();
        let text = |i: u32| format!("Ana: stone {i}. Under bridge {}\nBo: water {i}", i * 3);
        let entries = (0..60).map(|i| entry("local", &format!("k{i}"), 1, &text(i)));
        store.commit(commit_of(entries.collect(), false)).unwrap();
        let snapshot = store.snapshot().unwrap();
        let reach = Reach::new(&snapshot, &grant("local"), Unit::Turn, &[]);
        let words = vec![0.0; reach.n_slots()];
        let best = |cosines: &[Option<f32>]| {
            let known = cosines.iter().enumerate().filter_map(|(slot, cosine)| Some((slot, (*cosine)?)));
            known.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(slot, _)| slot)
        };
        for i in 0..60 {
            let asked = vector(&TextDigest::of(&format!("water {i}")));
            let all = Cosines::compute_bounded(&reach, &asked, &words, usize::MAX).unwrap();
            let found = Cosines::compute_bounded(&reach, &asked, &words, 0).unwrap();
            assert_eq!(best(found.own()), best(all.own()));
            let differs = |(found, all): (&Option<f32>, &Option<f32>)| found.is_some() && found != all;
            assert!(!found.own().iter().zip(all.own()).any(differs), "an index changed a cosine");
        }
    }
}
