//! The exact median of very many weights, where it matters: above a bound.

use crate::WEIGHT_ONE;

/// So many weights are kept as they come before they are counted by value.
const FEW_MAX: usize = 1 << 16;

/// The weights above a bound: as they came while they are few, then how many there are of each.
///
/// Memory is 256 kB and 8 bytes a weight between the bound and the highest possible.
#[derive(Debug, Default)]
pub(crate) struct Weights {
    /// Weights up to this one are only known to exist.
    above: i32,
    /// Weights beyond the lowest or highest that unit rows can have are taken as those.
    highest: i32,
    few: Vec<i32>,
    /// From `above + 1` on.
    counts: Vec<u64>,
}

impl Weights {
    /// Below every weight: a cosine of unit rows is at least −1, give or take rounding.
    pub(crate) const LOWEST: i32 = -WEIGHT_ONE - 64;

    /// Forgets every weight, keeps the memory, and will take those above `above`.
    pub(super) fn clear(&mut self, above: i32, bonus: f32) {
        self.above = above.max(Self::LOWEST - 1);
        self.highest = weight(1.0 + bonus) + 64;
        self.few.clear();
        self.counts.clear();
    }

    /// The least score whose weight may be taken.
    pub(super) fn score_min(&self) -> f32 {
        match self.above {
            ..Self::LOWEST => f32::NEG_INFINITY,
            above => above as f32 / WEIGHT_ONE as f32,
        }
    }

    #[inline(always)]
    pub(super) fn record(&mut self, weight: i32) {
        let weight = weight.clamp(Self::LOWEST, self.highest);
        if weight > self.above {
            self.few.push(weight);
            if self.few.len() >= FEW_MAX {
                self.count();
            }
        }
    }

    #[inline(never)]
    fn count(&mut self) {
        let n_values = self.highest.saturating_sub(self.above).max(0) as usize;
        self.counts.resize(n_values, 0);
        for weight in self.few.drain(..) {
            self.counts[(weight - self.above - 1) as usize] += 1;
        }
    }

    /// The weights of both; both were made with the same bounds.
    pub(super) fn merge(mut self, mut other: Self) -> Self {
        if self.few.len() + other.few.len() >= FEW_MAX {
            self.count();
            other.count();
        }
        self.few.append(&mut other.few);
        match self.counts.is_empty() {
            true => self.counts = other.counts,
            false => self.counts.iter_mut().zip(&other.counts).for_each(|(sum, part)| *sum += part),
        }
        self
    }

    /// The larger of the bound and the mean, rounded down, of the two middle weights of `n_pairs`.
    ///
    /// `None` where one of the two lies above the bound and the other does not, so that it is not known.
    pub(super) fn median(&mut self, n_pairs: u64) -> Option<i32> {
        let n_taken = self.few.len() as u64 + self.counts.iter().sum::<u64>();
        let n_below = n_pairs.saturating_sub(n_taken);
        let (low, high) = (n_pairs.saturating_sub(1) / 2, n_pairs / 2);
        if high < n_below || n_taken == 0 {
            return Some(self.above);
        }
        let low = low.checked_sub(n_below)?;
        let (low, high) = self.middle(low, high - n_below);
        Some((i64::from(low) + i64::from(high)).div_euclid(2) as i32)
    }

    /// The weights of two ranks that are equal or follow each other, from 0.
    fn middle(&mut self, low: u64, high: u64) -> (i32, i32) {
        if self.counts.is_empty() {
            let (_, &mut at_low, later) = self.few.select_nth_unstable(low as usize);
            let next = later.iter().copied().min().filter(|_| high > low);
            return (at_low, next.unwrap_or(at_low));
        }
        self.count();
        let at = |rank: u64| {
            let mut before = 0;
            let found = self.counts.iter().position(|count| {
                before += count;
                before > rank
            });
            self.above + 1 + found.unwrap_or(0) as i32
        };
        (at(low), at(high))
    }
}

/// The integer weight of a score, `round(score · 2^14)`, halves away from 0.
///
/// Without a call: on the oldest processors `round` is one.
#[inline(always)]
pub(crate) fn weight(score: f32) -> i32 {
    let scaled = score * WEIGHT_ONE as f32;
    let whole = scaled as i32;
    let rest = scaled - whole as f32;
    whole.saturating_add(i32::from(rest >= 0.5)).saturating_sub(i32::from(rest <= -0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(weights: &[i32], above: i32) -> Weights {
        let mut found = Weights::default();
        found.clear(above, 0.2);
        weights.iter().for_each(|&weight| found.record(weight));
        found
    }

    #[test]
    fn weights_are_rounded_scores() {
        let odd = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 131_072.0, -131_072.0];
        let halves = (-40_000..40_000).map(|at| at as f32 / (2 * WEIGHT_ONE) as f32);
        for score in halves.flat_map(|half| [half.next_down(), half, half.next_up()]).chain(odd) {
            assert_eq!(weight(score), (score * WEIGHT_ONE as f32).round() as i32, "{score}");
        }
        assert_eq!((weight(1.0), weight(-0.5)), (WEIGHT_ONE, -WEIGHT_ONE / 2));
    }

    #[test]
    fn the_median_of_an_even_count_is_the_middle() {
        assert_eq!(of(&[10, -3, 7, 40], i32::MIN).median(4), Some(8));
        assert_eq!(of(&[10, -3, 7, 40, 9], i32::MIN).median(5), Some(9));
        assert_eq!(of(&[-3, -4], i32::MIN).median(2), Some(-4));
    }

    #[test]
    fn a_median_below_the_bound_is_the_bound_and_one_across_it_is_not_known() {
        assert_eq!(of(&[10, -3, 7, 40], 20).median(4), Some(20));
        assert_eq!(of(&[10, -3, 7, 40], 7).median(4), None);
        assert_eq!(of(&[10, -3, 7, 40, 9], 7).median(5), Some(9));
        assert_eq!(of(&[10, -3, 7, 40, 9], 9).median(5), Some(9));
        assert_eq!(of(&[1], i32::MAX).median(1), Some(i32::MAX));
    }

    #[test]
    fn many_weights_are_counted_and_parts_added() {
        let values: Vec<i32> = (0..3 * FEW_MAX as i32).map(|at| at * 7919 % 30_011 - 10_000).collect();
        let mut sorted: Vec<i32> = values.iter().map(|value| (*value).clamp(Weights::LOWEST, 19_725)).collect();
        sorted.sort_unstable();
        let n = sorted.len();
        let want = (sorted[(n - 1) / 2] + sorted[n / 2]).div_euclid(2);
        for split in [0, 10, FEW_MAX, FEW_MAX + 1, n] {
            for above in [i32::MIN, -5, 1000] {
                let mut both = of(&values[..split], above).merge(of(&values[split..], above));
                assert_eq!(both.median(n as u64), Some(want.max(above)), "{split} {above}");
            }
        }
    }
}
