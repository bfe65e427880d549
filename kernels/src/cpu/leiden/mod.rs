//! Leiden communities, by one of two sets of rules: which one depends on the size of a graph, never on the device.
//!
//! Knows graphs only. Here are the document rules, one thread a graph, so the number of threads cannot change a
//! label; decisions are made on exact integers, so neither can the order of anything.
//!
//! Source: Traag, Waltman, van Eck, arXiv:1810.08473.

pub(in crate::cpu) mod level;
mod order;
mod phases;
pub(in crate::cpu) mod rule;
pub(in crate::cpu) mod serial;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use self::rule::Rule;
use self::serial::Workspace;
use super::coloured;
use crate::{CsrGraph, Error, LeidenSettings, Partition, Quality, Result};

/// Most nodes of a graph that is cut by the document rules; larger ones are cut by those of `coloured`.
pub(in crate::cpu) const SERIAL_NODES_MAX: usize = 32_768;
/// Largest setting of a quality.
const SETTING_MAX: f32 = 65_536.0;

/// See [`crate::Backend::leiden`].
pub(super) fn leiden(graphs: &[CsrGraph], settings: &LeidenSettings) -> Result<Vec<Partition>> {
    let value = match settings.quality {
        Quality::Cpm { gamma } => gamma,
        Quality::Modularity { resolution } => resolution,
    };
    if !(0.0..=SETTING_MAX).contains(&value) {
        let reason = format!("quality setting {value} is not between 0 and {SETTING_MAX}");
        return Err(Error::Invalid { reason });
    }
    graphs.par_iter().try_for_each(CsrGraph::check)?;
    let is_large = |graph: &CsrGraph| graph.n() > SERIAL_NODES_MAX;
    let small = |room: &mut Room, graph: &CsrGraph| match is_large(graph) {
        false => room.partition(graph, settings),
        true => Vec::new(),
    };
    let mut found: Vec<Vec<u32>> = graphs.par_iter().map_init(Room::default, small).collect();
    // Large graphs come one after another, each with all threads.
    for (graph, found) in graphs.iter().zip(&mut found).filter(|(graph, _)| is_large(graph)) {
        *found = match coloured::partition(graph, settings, &coloured::Limits::STANDARD) {
            Some(partition) => partition?.labels,
            None => Room::default().partition(graph, settings),
        };
    }
    Ok(found.into_iter().map(|labels| Partition { labels }).collect())
}

/// Room for graphs whose numbers fit 64 bits (nearly all), and for the others.
#[derive(Default)]
struct Room {
    narrow: Workspace<i32, i64>,
    wide: Workspace<i64, i128>,
}

impl Room {
    fn partition(&mut self, graph: &CsrGraph, settings: &LeidenSettings) -> Vec<u32> {
        let total: i128 = graph.weights.iter().map(|&weight| i128::from(weight)).sum();
        let by_degree = matches!(settings.quality, Quality::Modularity { .. });
        let rule = Rule::new(total, settings.quality);
        let mass = if by_degree { total } else { graph.n() as i128 };
        let (seed, rounds_max) = (settings.seed, settings.rounds_max);
        if rule.push == 0 {
            // Nothing pushes nodes apart: whatever an edge joins is best together.
            return components(graph);
        }
        match rule.narrow(total, mass) {
            Some(gains) if total <= i128::from(i32::MAX) => {
                self.narrow.partition(graph, by_degree, gains, seed, rounds_max)
            }
            _ => self.wide.partition(graph, by_degree, rule.wide(), seed, rounds_max),
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
