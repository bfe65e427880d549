//! What a weight and a pair of masses are worth, in exact integers.
//!
//! Knows the two qualities. Does not know how nodes are visited.

use crate::{CsrGraph, Quality, WEIGHT_ONE};

/// Factors in `gain = pull · weight − push · mass · mass`; any product of a factor and a sum fits 63 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// What a unit of weight is worth.
    pub pull: i64,
    /// What a unit of mass times a unit of mass costs.
    pub push: i64,
    /// Masses are weighted degrees; otherwise they count nodes.
    pub by_degree: bool,
}

impl Rule {
    /// The factors of a quality on a graph, both divided by what they share of `2^14`: the same decisions, smaller
    /// numbers. `None` where a product would not fit: a graph of more than 2^47 units of weight or so.
    pub(crate) fn new(graph: &CsrGraph, quality: Quality) -> Option<Self> {
        let total: i128 = graph.weights.iter().map(|&weight| i128::from(weight)).sum();
        let one = f64::from(WEIGHT_ONE);
        let rounded = |value: f32| (f64::from(value) * one).round() as i128;
        let (pull, push, by_degree, mass) = match quality {
            Quality::Cpm { gamma } => (1, rounded(gamma), false, graph.n() as i128),
            Quality::Modularity { resolution } => {
                let push = rounded(resolution);
                let shared = 1_i128 << push.trailing_zeros().min(WEIGHT_ONE.trailing_zeros());
                (total * i128::from(WEIGHT_ONE) / shared, push / shared, true, total)
            }
        };
        let fits = |value: i128| i64::try_from(value).ok();
        fits(push * mass.max(1))?;
        fits(total)?;
        Some(Self { pull: fits(pull)?, push: fits(push)?, by_degree })
    }

    /// `pull · weight − cost · mass`, where `cost` is [`Rule::cost`] of the other mass.
    #[inline]
    pub(crate) fn gain(&self, weight: i64, cost: i64, mass: i64) -> i128 {
        i128::from(self.pull) * i128::from(weight) - i128::from(cost) * i128::from(mass)
    }

    /// What a unit of mass costs a node of mass `mass`.
    #[inline]
    pub(crate) fn cost(&self, mass: i64) -> i64 {
        self.push * mass
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_small_and_a_graph_too_heavy_is_refused() {
        let pair = |weight| CsrGraph { offsets: vec![0, 1, 2], columns: vec![1, 0], weights: vec![weight; 2] };
        let modularity = |resolution| Quality::Modularity { resolution };
        let rule = Rule::new(&pair(3), modularity(1.0)).expect("fits");
        assert_eq!((rule.pull, rule.push), (6, 1));
        let rule = Rule::new(&pair(3), modularity(0.75)).expect("fits");
        assert_eq!((rule.pull, rule.push), (24, 3));
        assert_eq!(rule.gain(1, rule.cost(3), 3), 24 - 27);
        let rule = Rule::new(&pair(3), Quality::Cpm { gamma: 0.5 }).expect("fits");
        assert_eq!((rule.pull, rule.push, rule.by_degree), (1, 8_192, false));
        assert!(Rule::new(&pair(i32::MAX), modularity(1.1)).is_some());
        assert!(Rule::new(&pair(i32::MAX), modularity(0.0)).is_some());
        let many = CsrGraph { offsets: vec![0, 1 << 17], columns: vec![0; 1 << 17], weights: vec![i32::MAX; 1 << 17] };
        assert!(Rule::new(&many, modularity(65_536.0)).is_none());
        assert!(Rule::new(&many, modularity(1.0)).is_some());
    }
}
