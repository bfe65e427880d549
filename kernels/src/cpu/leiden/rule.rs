//! What a partition is worth, on exact integers: gain = `pull · weight − push · mass · mass`.
//!
//! Knows numbers only.

use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use crate::{Quality, WEIGHT_ONE};

/// Products up to this are added and compared as 64-bit integers: a gain is a difference of two of them.
const NARROW_MAX: i128 = 1 << 62;

/// A quality on exact integers; the gain of joining two masses by a weight is `pull·w − push·a·b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cpu) struct Rule {
    pub pull: i128,
    pub push: i128,
}

impl Rule {
    /// For a graph whose directed edges weigh `total` in sum.
    ///
    /// Both factors of modularity are divided by their common power of two: no decision changes, and the
    /// textbook's resolution of 1 becomes `total·w − a·b`, which fits 64 bits up to a total of 2^31.
    pub(in crate::cpu) fn new(total: i128, quality: Quality) -> Self {
        let one = f64::from(WEIGHT_ONE);
        match quality {
            Quality::Cpm { gamma } => Self { pull: 1, push: (f64::from(gamma) * one).round() as i128 },
            Quality::Modularity { resolution } => {
                let push = (f64::from(resolution) * one).round() as i128;
                let shift = (push | i128::from(WEIGHT_ONE)).trailing_zeros();
                Self { pull: total * (i128::from(WEIGHT_ONE) >> shift), push: push >> shift }
            }
        }
    }

    /// The rule in 64 bits, where no gain in a graph of this weight and mass can overflow them.
    pub(in crate::cpu) fn narrow(self, total: i128, mass: i128) -> Option<Gains<i64>> {
        let fits = |factor: i128, by: i128| factor.checked_mul(by).is_some_and(|product| product <= NARROW_MAX);
        let narrow = fits(self.pull, total) && mass.checked_mul(mass).is_some_and(|square| fits(self.push, square));
        Some(Gains { pull: i64::try_from(self.pull).ok()?, push: i64::try_from(self.push).ok()? }).filter(|_| narrow)
    }

    /// The rule in 128 bits.
    pub(in crate::cpu) fn wide(self) -> Gains<i128> {
        Gains { pull: self.pull, push: self.push }
    }
}

/// A number that gains are computed in.
pub(in crate::cpu) trait Gain:
    Copy + Ord + Default + From<i64> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + AddAssign
{
}

impl Gain for i64 {}
impl Gain for i128 {}

/// A number that weights are added up in.
pub(in crate::cpu) trait Sum:
    Copy + Default + PartialEq + Into<i64> + From<i32> + AddAssign + SubAssign + Send
{
}

impl Sum for i32 {}
impl Sum for i64 {}

/// A rule in numbers that hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cpu) struct Gains<G> {
    pub pull: G,
    pub push: G,
}

impl<G: Gain> Gains<G> {
    /// What a mass pushes away, for [`Gains::of`].
    #[inline(always)]
    pub(in crate::cpu) fn pushed(self, mass: i64) -> G {
        self.push * G::from(mass)
    }

    /// What it is worth that a mass, given by what it pushes, and `mass`, joined by `weight`, are together.
    #[inline(always)]
    pub(in crate::cpu) fn of(self, weight: impl Into<i64>, pushed: G, mass: i64) -> G {
        self.pull * G::from(weight.into()) - pushed * G::from(mass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_powers_of_two_are_divided_out_and_leave_the_decisions() {
        let rule = |resolution| Rule::new(1_000, Quality::Modularity { resolution });
        assert_eq!(rule(1.0), Rule { pull: 1_000, push: 1 });
        assert_eq!(rule(0.75), Rule { pull: 4_000, push: 3 });
        assert_eq!(rule(0.7), Rule { pull: 16_384_000, push: 11_469 });
        assert_eq!(rule(0.0), Rule { pull: 1_000, push: 0 });
        assert_eq!(Rule::new(1_000, Quality::Cpm { gamma: 0.5 }), Rule { pull: 1, push: 8_192 });
    }

    #[test]
    fn sixty_four_bits_are_taken_exactly_where_they_are_enough() {
        let rule = Rule { pull: 1 << 31, push: 1 };
        assert!(rule.narrow(1 << 31, 1 << 31).is_some());
        assert!(rule.narrow((1 << 31) + 1, 1 << 31).is_none());
        assert!(rule.narrow(1 << 31, (1 << 31) + 1).is_none());
        assert!(rule.narrow(i128::MAX, 1).is_none());
    }
}
