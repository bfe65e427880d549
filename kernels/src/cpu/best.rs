//! The best neighbours of a row, whatever the order in which they come.
//!
//! Knows scores and row numbers. A neighbour is one integer, score above row, so that comparing two of them is
//! comparing two integers, and the best `k` of a set are one set however they were found.

use crate::Neighbour;

#[cfg(any(feature = "cuda", all(feature = "metal", target_os = "macos"), test))]
mod listed;

/// The `k` best rows seen so far, by (score, lower row): cut down whenever there are twice as many.
///
/// Memory is 16 · `k` bytes at most, and no more than twice what was kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Best {
    /// Keys, in no order; see [`key`].
    kept: Vec<u64>,
    /// The key of the `k`-th best; 0, below every key, while fewer were seen.
    floor: u64,
}

impl Best {
    /// Forgets every row, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        self.floor = 0;
    }

    /// Takes one row; whether that raised the floor.
    #[inline(always)]
    pub(super) fn push(&mut self, k: usize, row: u32, score: f32) -> bool {
        let key = key(row, score);
        if key <= self.floor {
            return false;
        }
        self.kept.push(key);
        self.kept.len() >= k.saturating_mul(2) && self.cut(k)
    }

    /// Drops all but the `k` best, of more than `k` kept.
    #[inline(never)]
    fn cut(&mut self, k: usize) -> bool {
        let Some(last) = k.checked_sub(1).filter(|_| self.kept.len() > k) else {
            return false;
        };
        let (_, &mut floor, _) = self.kept.select_nth_unstable_by(last, |a, b| b.cmp(a));
        self.kept.truncate(k);
        self.floor = floor;
        true
    }

    /// The least score that a row at or after `row_first` must have to be kept, where it is above `similarity_min`.
    ///
    /// A row that has it may still be one too many; [`Best::push`] decides.
    #[inline(always)]
    pub(super) fn bar(&self, similarity_min: f32, row_first: u32) -> f32 {
        if self.floor == 0 {
            return similarity_min;
        }
        let floor = neighbour(self.floor);
        // A later row of the same score is no better. Of the two zeros the negative one is less.
        let is_late = row_first > floor.row && floor.score.to_bits() != (-0.0_f32).to_bits();
        let bar = if is_late { floor.score.next_up() } else { floor.score };
        if bar > similarity_min { bar } else { similarity_min }
    }

    /// Whether every row that was pushed is kept, and is among the `k` best.
    pub(super) fn is_whole(&self, k: usize) -> bool {
        self.floor == 0 && self.kept.len() <= k
    }

    /// What is kept, in the order in which it came while all is kept.
    pub(super) fn kept(&self) -> impl Iterator<Item = Neighbour> + '_ {
        self.kept.iter().map(|&key| neighbour(key))
    }

    /// The best, in no order.
    pub(super) fn top(&mut self, k: usize) -> impl Iterator<Item = Neighbour> + '_ {
        self.cut(k);
        self.kept.iter().map(|&key| neighbour(key))
    }

    /// The best, best first.
    pub(super) fn into_sorted(mut self, k: usize) -> Vec<Neighbour> {
        self.cut(k);
        self.kept.sort_unstable_by(|a, b| b.cmp(a));
        self.kept.into_iter().map(neighbour).collect()
    }
}

/// Orders neighbours as integers (`key_of` in `nearest.cu`): first by score, in the total order of floats, then by lower row.
#[inline(always)]
fn key(row: u32, score: f32) -> u64 {
    let bits = score.to_bits();
    let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
    u64::from(ordered) << 32 | u64::from(!row)
}

#[inline(always)]
pub(crate) fn neighbour(key: u64) -> Neighbour {
    let ordered = (key >> 32) as u32;
    let bits = if ordered >> 31 == 1 { ordered ^ 1 << 31 } else { !ordered };
    Neighbour { row: !(key as u32), score: f32::from_bits(bits) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_scores_then_rows_and_come_back() {
        let best_first = [
            (0, f32::INFINITY),
            (7, 1.5),
            (3, 0.5),
            (4, 0.5),
            (9, f32::MIN_POSITIVE),
            (1, 0.0),
            (0, -0.0),
            (u32::MAX, -0.0),
            (2, -1e-40),
            (2, -2.0),
            (0, f32::NEG_INFINITY),
        ];
        assert!(best_first.is_sorted_by(|a, b| key(a.0, a.1) > key(b.0, b.1)));
        for (row, score) in best_first {
            let back = neighbour(key(row, score));
            assert_eq!((back.row, back.score.to_bits()), (row, score.to_bits()));
            assert!(key(row, score) > 0);
        }
    }

    #[test]
    fn any_order_of_rows_keeps_the_same_best() {
        let scores: Vec<f32> = (0..40_u32).map(|row| [0.5, -0.0, 0.0, 0.25, -1.0][row as usize * 7 % 5]).collect();
        let mut want: Vec<u64> = (0..).zip(&scores).map(|(row, &score)| key(row, score)).collect();
        want.sort_unstable_by(|a, b| b.cmp(a));
        for k in [1, 3, 9, 16, 24, 40, 50] {
            for stride in [1, 3, 7, 39] {
                let mut best = Best::default();
                for at in 0..40 {
                    let row = at * stride % 40;
                    let is_over = scores[row as usize] >= best.bar(f32::NEG_INFINITY, row);
                    let before = best.clone().into_sorted(k);
                    best.push(k, row, scores[row as usize]);
                    // A row below the bar changes nothing.
                    assert!(is_over || before == best.clone().into_sorted(k));
                }
                let want: Vec<Neighbour> = want.iter().take(k).map(|&key| neighbour(key)).collect();
                assert_eq!(best.into_sorted(k), want, "{k} {stride}");
            }
        }
    }
}
