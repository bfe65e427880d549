//! BM25 over exactly the rows that may be seen.
//!
//! Statistics (rows, lengths, document frequencies) are taken over the caller's rows, not over
//! everything that is stored: hidden data cannot shift a score, and neither can the cut into segments.
//! Work is O(postings of the question's terms); memory O(rows).
//!
//! Source: Robertson, Zaragoza, «The Probabilistic Relevance Framework: BM25 and Beyond», 2009.

use super::reach::Reach;
use crate::error::Result;
use crate::segment::Field;

/// Saturation of repeated terms.
const K1: f32 = 1.2;
/// Share of the length normalisation.
const B: f32 = 0.75;
/// How much more a row's own words count than its neighbours' in a windowed score.
const OWN_WEIGHT: f32 = 3.0;
/// How many rows to each side a window reaches.
const WINDOW: usize = 2;

/// One question term's occurrences: `(slot, frequency)`, slots ascending.
pub(super) struct Occurrences(Vec<(u32, f32)>);

/// What the words of a question meet: occurrences by term, and the length of every slot.
pub(super) struct Lexicon {
    terms: Vec<Occurrences>,
    /// Terms of each slot.
    lengths: Vec<f32>,
}

impl Lexicon {
    /// Reads the postings of `terms` that may be seen.
    pub fn gather(reach: &Reach<'_>, terms: &[String]) -> Result<Self> {
        let mut distinct: Vec<&String> = terms.iter().collect();
        distinct.sort();
        distinct.dedup();
        let mut found = Vec::with_capacity(distinct.len());
        for term in distinct {
            let mut slots = Vec::new();
            for (segment_idx, segment) in reach.segments().iter().enumerate() {
                if !reach.touches(segment_idx) {
                    continue;
                }
                for field in [Field::Turn, Field::Chunk] {
                    segment.postings(field, term, &mut |row, frequency| {
                        if let Some(slot) = reach.slot(segment_idx, field, row) {
                            slots.push((slot as u32, frequency as f32));
                        }
                    })?;
                }
            }
            slots.sort_unstable_by_key(|(slot, _)| *slot);
            found.push(Occurrences(slots));
        }
        Ok(Self { terms: found, lengths: lengths(reach) })
    }

    /// BM25 of every slot by its own words.
    pub fn own(&self) -> Vec<f32> {
        score(&self.terms, &self.lengths)
    }

    /// BM25 of every slot by its words and, more weakly, those of its neighbours in the same group.
    pub fn windowed(&self, groups: &[u32]) -> Vec<f32> {
        let spread = |values: &mut dyn FnMut(usize, f32), slot: usize, amount: f32| {
            let from = slot.saturating_sub(WINDOW);
            let to = (slot + WINDOW).min(groups.len() - 1);
            for near in from..=to {
                if groups[near] == groups[slot] {
                    values(near, if near == slot { amount * OWN_WEIGHT } else { amount });
                }
            }
        };
        let mut lengths = vec![0.0; self.lengths.len()];
        for (slot, length) in self.lengths.iter().enumerate() {
            spread(&mut |near, amount| lengths[near] += amount, slot, *length);
        }
        let mut dense = vec![0.0_f32; self.lengths.len()];
        let terms: Vec<Occurrences> = self
            .terms
            .iter()
            .map(|term| {
                let mut touched = Vec::new();
                for (slot, frequency) in &term.0 {
                    let mut add = |near: usize, amount: f32| {
                        if dense[near] == 0.0 {
                            touched.push(near as u32);
                        }
                        dense[near] += amount;
                    };
                    spread(&mut add, *slot as usize, *frequency);
                }
                touched.sort_unstable();
                let take = |slot: u32| (slot, std::mem::take(&mut dense[slot as usize]));
                Occurrences(touched.into_iter().map(take).collect())
            })
            .collect();
        score(&terms, &lengths)
    }

    /// BM25 of every group as one text; `groups` are dense numbers.
    pub fn grouped(&self, groups: &[u32]) -> Vec<f32> {
        let n_groups = groups.iter().max().map_or(0, |last| *last as usize + 1);
        let mut lengths = vec![0.0; n_groups];
        for (slot, length) in self.lengths.iter().enumerate() {
            lengths[groups[slot] as usize] += length;
        }
        let terms: Vec<Occurrences> = self
            .terms
            .iter()
            .map(|term| {
                let mut merged: Vec<(u32, f32)> =
                    term.0.iter().map(|(slot, frequency)| (groups[*slot as usize], *frequency)).collect();
                merged.sort_by_key(|(group, _)| *group);
                merged.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    if same {
                        kept.1 += next.1;
                    }
                    same
                });
                Occurrences(merged)
            })
            .collect();
        score(&terms, &lengths)
    }
}

fn lengths(reach: &Reach<'_>) -> Vec<f32> {
    let mut lengths = Vec::with_capacity(reach.n_slots());
    for part in reach.parts() {
        let segment = reach.segment(part);
        lengths.extend(part.rows.clone().map(|row| segment.n_terms(part.field, row) as f32));
    }
    lengths
}

fn score(terms: &[Occurrences], lengths: &[f32]) -> Vec<f32> {
    let n_rows = lengths.len() as f32;
    let mean_length = (lengths.iter().sum::<f32>() / n_rows.max(1.0)).max(1.0);
    let mut scores = vec![0.0; lengths.len()];
    for term in terms {
        let n_with = term.0.len() as f32;
        let rarity = (1.0 + (n_rows - n_with + 0.5) / (n_with + 0.5)).ln();
        for (slot, frequency) in &term.0 {
            let length = lengths[*slot as usize] / mean_length;
            let saturated = frequency * (K1 + 1.0) / (frequency + K1 * (1.0 - B + B * length));
            scores[*slot as usize] += rarity * saturated;
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexicon(terms: &[&[(u32, f32)]], lengths: &[f32]) -> Lexicon {
        Lexicon { terms: terms.iter().map(|slots| Occurrences(slots.to_vec())).collect(), lengths: lengths.to_vec() }
    }

    #[test]
    fn rarer_words_and_shorter_rows_weigh_more() {
        let scores = lexicon(&[&[(0, 1.0)], &[(1, 1.0), (2, 1.0)]], &[5.0, 5.0, 10.0]).own();
        assert!(scores[0] > scores[1], "the rarer word lost: {scores:?}");
        assert!(scores[1] > scores[2], "the longer row won: {scores:?}");
    }

    #[test]
    fn a_window_reaches_neighbours_but_no_other_group() {
        let scores = lexicon(&[&[(1, 1.0)]], &[4.0; 6]).windowed(&[0, 0, 0, 0, 1, 1]);
        assert!(scores[1] > scores[0] && scores[0] > 0.0 && scores[3] > 0.0);
        assert_eq!(scores[4..], [0.0, 0.0]);
    }

    #[test]
    fn a_group_is_scored_as_one_text() {
        let scores = lexicon(&[&[(0, 1.0), (1, 1.0), (3, 1.0)]], &[4.0; 4]).grouped(&[0, 0, 1, 1]);
        assert_eq!(scores.len(), 2);
        assert!(scores[0] > scores[1]);
    }

    #[test]
    fn nothing_to_score_is_no_score() {
        assert!(lexicon(&[&[]], &[]).own().is_empty());
        assert!(lexicon(&[], &[]).grouped(&[]).is_empty());
        assert_eq!(lexicon(&[], &[3.0]).windowed(&[0]), [0.0]);
    }
}
