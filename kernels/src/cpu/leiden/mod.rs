//! Leiden communities, by one of two sets of rules: which one depends on the size of a graph, never on the device.
//!
//! Knows graphs only. Here are the document rules, one thread a graph, so the number of threads cannot change a
//! label; decisions are made on exact integers, so neither can the order of anything.
//!
//! Source: Traag, Waltman, van Eck, arXiv:1810.08473.

pub(super) mod level;
mod order;
mod phases;
pub(crate) mod rule;
pub(super) mod serial;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;

use rayon::prelude::*;

use self::rule::{Gains, Rule};
use self::serial::Workspace;
use super::coloured;
use crate::{CsrGraph, Error, LeidenSettings, Partition, Quality, Result};

/// Largest setting of a quality.
const SETTING_MAX: f32 = 65_536.0;

/// Most nodes of a graph that is cut by the document rules; larger ones are cut by those of `coloured`.
pub(crate) const SERIAL_NODES_MAX: usize = 32_768;

/// See [`crate::Backend::leiden`].
pub(crate) fn leiden<G: Borrow<CsrGraph> + Sync>(graphs: &[G], settings: &LeidenSettings) -> Result<Vec<Partition>> {
    check_settings(settings)?;
    let small = |room: &mut Room, graph: &G| {
        let graph = graph.borrow();
        graph.check()?;
        let is_small = graph.n() <= SERIAL_NODES_MAX;
        Ok(is_small.then(|| Partition { labels: room.partition(graph, settings) }))
    };
    let mut found: Vec<Option<Partition>> = graphs.par_iter().map_init(Room::default, small).collect::<Result<_>>()?;
    // Large graphs come one after another, each with all threads.
    for (graph, found) in graphs.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
        let graph = graph.borrow();
        let coloured = coloured::partition(graph, settings, &coloured::Limits::STANDARD).transpose()?;
        *found = Some(coloured.unwrap_or_else(|| Partition { labels: Room::default().partition(graph, settings) }));
    }
    Ok(found.into_iter().flatten().collect())
}

/// Refuses a quality that is no number or out of range.
pub(crate) fn check_settings(settings: &LeidenSettings) -> Result<()> {
    let value = match settings.quality {
        Quality::Cpm { gamma } => gamma,
        Quality::Modularity { resolution } => resolution,
    };
    if !(0.0..=SETTING_MAX).contains(&value) {
        let reason = format!("quality setting {value} is not between 0 and {SETTING_MAX}");
        return Err(Error::Invalid { reason });
    }
    Ok(())
}

/// What gains are computed with in a graph: `total` is the sum of its directed edges' weights.
pub(crate) struct Terms {
    pub rule: Rule,
    pub by_degree: bool,
    pub total: i128,
    pub mass: i128,
}

impl Terms {
    pub(crate) fn of(graph: &CsrGraph, quality: Quality) -> Self {
        let total: i128 = graph.weights.iter().map(|&weight| i128::from(weight)).sum();
        let by_degree = matches!(quality, Quality::Modularity { .. });
        let mass = if by_degree { total } else { graph.n() as i128 };
        Self { rule: Rule::new(total, quality), by_degree, total, mass }
    }

    /// The rule in 64 bits, where neither gains nor sums of weights in 32 bits can overflow.
    pub(crate) fn narrow(&self) -> Option<Gains<i64>> {
        self.rule.narrow(self.total, self.mass).filter(|_| self.total <= i128::from(i32::MAX))
    }
}

/// Room for graphs whose numbers fit 64 bits (nearly all), and for the others.
#[derive(Default)]
struct Room {
    narrow: Workspace<i32, i64>,
    wide: Workspace<i64, i128>,
}

impl Room {
    fn partition(&mut self, graph: &CsrGraph, settings: &LeidenSettings) -> Vec<u32> {
        let terms = Terms::of(graph, settings.quality);
        let (by_degree, seed, rounds_max) = (terms.by_degree, settings.seed, settings.rounds_max);
        if terms.rule.push == 0 {
            // Nothing pushes nodes apart: whatever an edge joins is best together.
            return components(graph);
        }
        match terms.narrow() {
            Some(gains) => self.narrow.partition(graph, by_degree, gains, seed, rounds_max),
            None => self.wide.partition(graph, by_degree, terms.rule.wide(), seed, rounds_max),
        }
    }
}

/// The connected component of each node, numbered in the order of first appearance.
fn components(graph: &CsrGraph) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut labels = vec![NONE; graph.n()];
    let mut open = Vec::new();
    for first in 0..graph.n() {
        if labels[first] != NONE {
            continue;
        }
        labels[first] = first as u32;
        open.push(first);
        while let Some(node) = open.pop() {
            for (other, _) in graph.edges(node) {
                if labels[other as usize] == NONE {
                    labels[other as usize] = first as u32;
                    open.push(other as usize);
                }
            }
        }
    }
    Partition::from_raw(&labels).labels
}
