//! Leiden communities: move, refine, aggregate; seeded, on exact integers.
//!
//! Knows graphs only. One thread a graph, so the number of threads cannot change a label. A move is made
//! only for a larger gain (ties: stay, else the lower community), gains are integers, and so quality
//! rises with every move and never falls.
//!
//! Source: Traag, Waltman, van Eck, arXiv:1810.08473.

use rayon::prelude::*;

use super::coarse::{Level, Sums, split_unconnected};
use super::coloured;
use crate::{CsrGraph, Error, LeidenSettings, Partition, Quality, Result, WEIGHT_ONE};

/// Visits of a node in one local moving, on average, after which it stops as it is. Real graphs need < 10.
const VISITS_MAX: usize = 1_000;
/// Most nodes of a graph that is cut by the serial rules; larger ones are cut by those of `coloured`.
pub(super) const NODES_SERIAL_MAX: usize = 32_768;
/// A community that no node is in yet, as a target of a move.
const EMPTY: u32 = u32::MAX;

/// See [`crate::Backend::leiden`].
pub(super) fn leiden(graphs: &[CsrGraph], settings: &LeidenSettings) -> Result<Vec<Partition>> {
    let value = match settings.quality {
        Quality::Cpm { gamma } => gamma,
        Quality::Modularity { resolution } => resolution,
    };
    if !(0.0..=65_536.0).contains(&value) {
        let reason = format!("quality setting {value} is not between 0 and 65536");
        return Err(Error::Invalid { reason });
    }
    graphs.par_iter().try_for_each(CsrGraph::check)?;
    let is_large = |graph: &CsrGraph| graph.n() > NODES_SERIAL_MAX;
    let small = |graph: &CsrGraph| (!is_large(graph)).then(|| partition(graph, settings));
    let mut found: Vec<Option<Partition>> = graphs.par_iter().map(small).collect();
    // Large graphs come one after another, each with all threads.
    for (graph, found) in graphs.iter().zip(&mut found).filter(|(graph, _)| is_large(graph)) {
        let coloured = coloured::partition(graph, settings, &coloured::Limits::STANDARD).transpose()?;
        *found = Some(coloured.unwrap_or_else(|| partition(graph, settings)));
    }
    Ok(found.into_iter().flatten().collect())
}

/// Rounds of the whole algorithm, each from the partition of the one before, until one changes nothing.
fn partition(graph: &CsrGraph, settings: &LeidenSettings) -> Partition {
    let rule = Rule::new(graph, settings.quality);
    let mut found = Partition { labels: (0..graph.n() as u32).collect() };
    for round in 0..settings.rounds_max.max(1) {
        let mut random = Random(settings.seed ^ (u64::from(round) << 32));
        let next = round_from(graph, &found, &rule, &mut random);
        if next == found {
            break;
        }
        found = next;
    }
    found
}

/// What a weight and a pair of masses are worth, in integers: gain = `pull · w − push · a · b`.
struct Rule {
    pull: i128,
    push: i128,
    by_degree: bool,
}

impl Rule {
    fn new(graph: &CsrGraph, quality: Quality) -> Self {
        let one = f64::from(WEIGHT_ONE);
        match quality {
            Quality::Cpm { gamma } => {
                let push = (f64::from(gamma) * one).round() as i128;
                Self { pull: 1, push, by_degree: false }
            }
            Quality::Modularity { resolution } => {
                let total: i128 = graph.weights.iter().map(|&weight| i128::from(weight)).sum();
                let push = (f64::from(resolution) * one).round() as i128;
                Self { pull: total * i128::from(WEIGHT_ONE), push, by_degree: true }
            }
        }
    }

    /// What it is worth that masses `a` and `b`, joined by `weight`, are in one community.
    fn gain(&self, weight: i64, a: i64, b: i64) -> i128 {
        self.pull * i128::from(weight) - self.push * i128::from(a) * i128::from(b)
    }
}

/// One pass over all levels, from a partition of the graph's nodes to one that is at least as good.
fn round_from(graph: &CsrGraph, from: &Partition, rule: &Rule, random: &mut Random) -> Partition {
    let mut level = Level::of(graph, rule.by_degree);
    let mut labels = from.labels.clone();
    // The node of the level that each node of the graph is in.
    let mut node_of: Vec<u32> = (0..graph.n() as u32).collect();
    loop {
        move_nodes(&level, &mut labels, rule, random);
        let refined = refine(&level, &labels, rule, random);
        let refined = Partition::from_raw(&refined);
        if refined.n_communities() == level.n() {
            break;
        }
        labels = level.labels_of_parts(&labels, &refined);
        for node in &mut node_of {
            *node = refined.labels[*node as usize];
        }
        level = level.aggregate(&refined);
    }
    let raw: Vec<u32> = node_of.iter().map(|&node| labels[node as usize]).collect();
    split_unconnected(graph, &raw)
}

/// Leiden on a level that another schedule made, from `labels`, one a node of the level.
pub(super) fn finish(mut level: Level, mut labels: Vec<u32>, (pull, push): (i64, i64), seed: u64) -> Vec<u32> {
    let rule = Rule { pull: pull.into(), push: push.into(), by_degree: true };
    let mut random = Random(seed);
    let mut node_of: Vec<u32> = (0..level.n() as u32).collect();
    loop {
        move_nodes(&level, &mut labels, &rule, &mut random);
        let refined = Partition::from_raw(&refine(&level, &labels, &rule, &mut random));
        if refined.n_communities() == level.n() {
            return node_of.iter().map(|&node| labels[node as usize]).collect();
        }
        labels = level.labels_of_parts(&labels, &refined);
        node_of.iter_mut().for_each(|node| *node = refined.labels[*node as usize]);
        level = level.aggregate(&refined);
    }
}

/// Moves nodes to the community that gains most, until none gains; nodes wait in a queue.
fn move_nodes(level: &Level, labels: &mut [u32], rule: &Rule, random: &mut Random) {
    let n = level.n();
    let mut mass = vec![0_i64; n];
    for (node, &label) in labels.iter().enumerate() {
        mass[label as usize] += level.mass[node];
    }
    let mut n_nodes = vec![0_u32; n];
    labels.iter().for_each(|&label| n_nodes[label as usize] += 1);
    let mut free: Vec<u32> = (0..n as u32).filter(|&c| n_nodes[c as usize] == 0).collect();
    let mut queue = std::collections::VecDeque::from(random.order(n));
    let mut queued = vec![true; n];
    let mut sums = Sums::new(n);
    for _ in 0..n.saturating_mul(VISITS_MAX) {
        let Some(node) = queue.pop_front() else { break };
        let node = node as usize;
        queued[node] = false;
        let (own, weight) = (labels[node] as usize, level.mass[node]);
        sums.gather(level.edges(node).map(|(other, w)| (labels[other as usize], w)));
        mass[own] -= weight;
        let stay = rule.gain(sums.of(own as u32), weight, mass[own]);
        let mut best = (stay, own as u32);
        for (label, sum) in sums.iter() {
            let gain = rule.gain(sum, weight, mass[label as usize]);
            let lower = best.1 != own as u32 && label < best.1;
            if gain > best.0 || (gain == best.0 && lower) {
                best = (gain, label);
            }
        }
        if best.0 < 0 && n_nodes[own] > 1 {
            best = (0, free.pop().unwrap_or(EMPTY));
        }
        sums.clear();
        // With two nodes in its community some other community is empty, so EMPTY never gets here.
        let target = if best.1 == EMPTY { own } else { best.1 as usize };
        mass[target] += weight;
        if target == own {
            continue;
        }
        labels[node] = target as u32;
        n_nodes[target] += 1;
        n_nodes[own] -= 1;
        if n_nodes[own] == 0 {
            free.push(own as u32);
        }
        for (other, _) in level.edges(node) {
            if labels[other as usize] != target as u32 && !queued[other as usize] {
                queued[other as usize] = true;
                queue.push_back(other);
            }
        }
    }
}

/// Parts of communities that hold together: lone nodes join a part of their own community if both are well
/// connected to the rest of it and the join does not cost.
fn refine(level: &Level, labels: &[u32], rule: &Rule, random: &mut Random) -> Vec<u32> {
    let n = level.n();
    let mut community_mass = vec![0_i64; n];
    for (node, &label) in labels.iter().enumerate() {
        community_mass[label as usize] += level.mass[node];
    }
    let mut part: Vec<u32> = (0..n as u32).collect();
    let mut part_mass = level.mass.clone();
    let mut part_size = vec![1_u32; n];
    let inner = |node: usize| {
        let same = move |&(other, _): &(u32, i64)| labels[other as usize] == labels[node];
        level.edges(node).filter(same)
    };
    // Weight between each part and the rest of its community.
    let mut cut: Vec<i64> = (0..n).map(|node| inner(node).map(|(_, w)| w).sum()).collect();
    let mut sums = Sums::new(n);
    for node in random.order(n) {
        let own = node as usize;
        let (mass, whole) = (level.mass[own], community_mass[labels[own] as usize]);
        let well = |cut: i64, mass: i64| rule.gain(cut, mass, whole - mass) >= 0;
        if part[own] != node || part_size[own] != 1 || !well(cut[own], mass) {
            continue;
        }
        sums.gather(inner(own).map(|(other, weight)| (part[other as usize], weight)));
        let mut best: Option<(i128, u32, i64)> = None;
        for (to, sum) in sums.iter() {
            let to_mass = part_mass[to as usize];
            let gain = rule.gain(sum, mass, to_mass);
            if gain < 0 || !well(cut[to as usize], to_mass) {
                continue;
            }
            if best.is_none_or(|(top, at, _)| gain > top || (gain == top && to < at)) {
                best = Some((gain, to, sum));
            }
        }
        sums.clear();
        if let Some((_, to, sum)) = best {
            part[own] = to;
            part_size[to as usize] += 1;
            part_mass[to as usize] += mass;
            cut[to as usize] += cut[own] - 2 * sum;
        }
    }
    part
}

/// Seeded numbers. Source: Steele, Lea, Flood, «Fast splittable pseudorandom number generators» (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The numbers `0..n` in some order (Fisher, Yates).
    fn order(&mut self, n: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..n as u32).collect();
        for last in (1..n).rev() {
            let pick = (u128::from(self.next()) * (last as u128 + 1)) >> 64;
            order.swap(last, pick as usize);
        }
        order
    }
}
