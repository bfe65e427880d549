//! Refinement, one colour at a time: lone nodes join parts of their community.

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::colour::mix;
use super::level::Level;
use super::moving::TRIALS;
use super::rule::Rule;
use super::sums::Tables;

const CHUNK: usize = 256;

/// Lone nodes on the way to parts.
pub(super) struct Refining<'a> {
    level: &'a Level<'a>,
    labels: Vec<u32>,
    rule: Rule,
    salt: u32,
    tables: &'a Tables,
    /// Mass of each community, by label.
    whole: Vec<AtomicI64>,
    parts: Vec<AtomicU32>,
    /// Mass of each part, by its first node.
    mass: Vec<AtomicI64>,
    joining: Vec<AtomicI64>,
    /// Weight between each part and the rest of its community.
    cut: Vec<AtomicI64>,
    /// A part of more than one node.
    joined: Vec<AtomicU8>,
}

struct Choice {
    node: u32,
    to: u32,
    holds: bool,
    weight: i64,
}

impl<'a> Refining<'a> {
    pub(super) fn new(level: &'a Level<'a>, rule: Rule, salt: u32, tables: &'a Tables, labels: Vec<u32>) -> Self {
        let n = level.n();
        let zeros = || (0..n).into_par_iter().map(|_| AtomicI64::new(0)).collect::<Vec<_>>();
        let whole = zeros();
        labels.par_iter().zip(&level.mass).for_each(|(&label, &own)| {
            whole[label as usize].fetch_add(own, Relaxed);
        });
        let in_cut = |node: usize| {
            let mut cut = 0;
            level.each(node, |other, weight| {
                cut += if labels[other as usize] == labels[node] { weight } else { 0 };
            });
            AtomicI64::new(cut)
        };
        let cut = (0..n).into_par_iter().map(in_cut).collect();
        Self {
            level,
            labels,
            rule,
            salt,
            tables,
            whole,
            parts: (0..n as u32).map(AtomicU32::new).collect(),
            mass: level.mass.iter().map(|&mass| AtomicI64::new(mass)).collect(),
            joining: zeros(),
            cut,
            joined: (0..n).map(|_| AtomicU8::new(0)).collect(),
        }
    }

    /// Lets the lone nodes of a colour join parts.
    pub(super) fn class(&self, nodes: &[u32]) {
        let mut pending: Vec<Vec<Choice>> = nodes.par_chunks(CHUNK).map(|nodes| self.choices(nodes)).collect();
        for trial in 0..TRIALS {
            if pending.iter().all(Vec::is_empty) {
                return;
            }
            let choices = || pending.par_iter().flat_map_iter(|chunk| chunk.iter());
            choices().for_each(|choice| {
                self.joining[choice.to as usize].fetch_add(self.level.mass[choice.node as usize], Relaxed);
            });
            pending
                .par_iter_mut()
                .for_each(|chunk| chunk.iter_mut().for_each(|choice| choice.holds = self.holds(choice)));
            let choices = || pending.par_iter().flat_map_iter(|chunk| chunk.iter());
            choices().for_each(|choice| self.joining[choice.to as usize].store(0, Relaxed));
            choices().filter(|choice| choice.holds).for_each(|choice| self.apply(choice));
            let stays =
                |choice: &Choice| !choice.holds && mix(choice.node ^ mix(self.salt.wrapping_add(trial))) & 1 == 0;
            pending.par_iter_mut().for_each(|chunk| chunk.retain(stays));
        }
    }

    fn choices(&self, nodes: &[u32]) -> Vec<Choice> {
        let mut sums = self.tables.mine();
        let mut choices = Vec::new();
        for &node in nodes {
            let own = node as usize;
            let (label, mass, cut) = (self.labels[own], self.level.mass[own], self.cut[own].load(Relaxed));
            if self.joined[own].load(Relaxed) != 0 || cut == 0 || !self.well_connected(label, mass, cut) {
                continue;
            }
            sums.start(self.level.degree(own));
            self.level.each(own, |other, weight| {
                if self.labels[other as usize] == label {
                    sums.add(self.parts[other as usize].load(Relaxed), weight);
                }
            });
            let cost = self.rule.cost(mass);
            let mut best: Option<(i128, u32, i64)> = None;
            for (to, weight) in sums.iter() {
                let to_mass = self.mass[to as usize].load(Relaxed);
                let gain = self.rule.gain(weight, cost, to_mass);
                let better = best.is_none_or(|(top, at, _)| gain > top || (gain == top && to < at));
                if gain >= 0 && better && self.well_connected(label, to_mass, self.cut[to as usize].load(Relaxed)) {
                    best = Some((gain, to, weight));
                }
            }
            if let Some((_, to, weight)) = best {
                choices.push(Choice { node, to, holds: false, weight });
            }
        }
        choices
    }

    /// Whether something of a community is joined to the rest of it by as much as its masses ask for.
    fn well_connected(&self, label: u32, mass: i64, cut: i64) -> bool {
        let rest = self.whole[label as usize].load(Relaxed) - mass;
        self.rule.gain(cut, self.rule.cost(mass), rest) >= 0
    }

    /// Whether joining does not cost even if all others that want to join the same part are there already.
    fn holds(&self, choice: &Choice) -> bool {
        let mass = self.level.mass[choice.node as usize];
        let to = choice.to as usize;
        let full = self.mass[to].load(Relaxed) + self.joining[to].load(Relaxed) - mass;
        self.rule.gain(choice.weight, self.rule.cost(mass), full) >= 0
    }

    fn apply(&self, choice: &Choice) {
        let (own, to) = (choice.node as usize, choice.to as usize);
        self.parts[own].store(choice.to, Relaxed);
        // A node that joined is alone no longer, and neither is the one it joined.
        self.joined[own].store(1, Relaxed);
        self.joined[to].store(1, Relaxed);
        self.mass[to].fetch_add(self.level.mass[own], Relaxed);
        self.cut[to].fetch_add(self.cut[own].load(Relaxed) - 2 * choice.weight, Relaxed);
    }

    pub(super) fn into_parts(self) -> Vec<u32> {
        self.parts.into_iter().map(AtomicU32::into_inner).collect()
    }
}
