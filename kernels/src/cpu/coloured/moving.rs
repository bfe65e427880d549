//! Local moving, one colour at a time: choices from a snapshot, and only moves that pay in whatever order.

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::colour::mix;
use super::level::Level;
use super::rule::Rule;
use super::sums::{Sums, Tables};

/// Nodes that one thread takes at once.
const CHUNK: usize = 256;
/// Labels that are read at once, or those of one node if there are more.
const GATHERED: usize = 512;
/// Times that the nodes of a colour which wanted the same place are thinned by half.
pub(crate) const TRIALS: u32 = 8;

/// Nodes on the way to communities.
pub(super) struct Moving<'a> {
    level: &'a Level<'a>,
    rule: Rule,
    salt: u32,
    tables: &'a Tables,
    labels: Vec<AtomicU32>,
    communities: Vec<Community>,
    active: Vec<AtomicU8>,
}

/// Masses of a community, side by side: who needs one of them mostly needs the others.
#[derive(Default)]
#[repr(align(32))]
struct Community {
    mass: AtomicI64,
    /// Mass of the nodes that want to join.
    joining: AtomicI64,
    /// Mass of the nodes that want to leave.
    leaving: AtomicI64,
}

/// A node's choice, with the weights that it was made on: they stay true while its colour moves.
struct Choice {
    node: u32,
    from: u32,
    to: u32,
    holds: bool,
    weight_from: i64,
    weight_to: i64,
}

impl<'a> Moving<'a> {
    pub(super) fn new(level: &'a Level<'a>, rule: Rule, salt: u32, tables: &'a Tables, labels: &[u32]) -> Self {
        let n = level.n();
        let communities: Vec<Community> = (0..n).into_par_iter().map(|_| Community::default()).collect();
        labels.par_iter().zip(&level.mass).for_each(|(&label, &own)| {
            communities[label as usize].mass.fetch_add(own, Relaxed);
        });
        Self {
            level,
            rule,
            salt,
            tables,
            labels: labels.iter().map(|&label| AtomicU32::new(label)).collect(),
            communities,
            active: (0..n).map(|_| AtomicU8::new(1)).collect(),
        }
    }

    /// Lets the active nodes of a colour move; says how many did.
    pub(super) fn class(&self, nodes: &[u32]) -> usize {
        let mut pending: Vec<Vec<Choice>> = nodes.par_chunks(CHUNK).map(|nodes| self.choices(nodes)).collect();
        let mut moved = 0;
        for trial in 0..TRIALS {
            if pending.iter().all(Vec::is_empty) {
                return moved;
            }
            let choices = || pending.par_iter().flat_map_iter(|chunk| chunk.iter());
            choices().for_each(|choice| self.announce(choice));
            pending
                .par_iter_mut()
                .for_each(|chunk| chunk.iter_mut().for_each(|choice| choice.holds = self.holds(choice)));
            let choices = || pending.par_iter().flat_map_iter(|chunk| chunk.iter());
            choices().for_each(|choice| self.withdraw(choice));
            moved += choices().map(|choice| self.apply(choice)).sum::<usize>();
            let stays = |choice: &Choice| {
                let again = mix(choice.node ^ mix(self.salt.wrapping_add(trial))) & 1 == 0;
                if !choice.holds && !again {
                    self.active[choice.node as usize].store(1, Relaxed);
                }
                !choice.holds && again
            };
            pending.par_iter_mut().for_each(|chunk| chunk.retain(stays));
        }
        let rest = pending.iter().flatten();
        rest.for_each(|choice| self.active[choice.node as usize].store(1, Relaxed));
        moved
    }

    fn choices(&self, nodes: &[u32]) -> Vec<Choice> {
        let mut sums = self.tables.mine();
        let mut around = Vec::with_capacity(2 * GATHERED);
        let mut choices = Vec::new();
        let mut rest = nodes;
        while !rest.is_empty() {
            // Labels are read for many nodes at a time: the reads do not wait for each other.
            around.clear();
            let mut n_nodes = 0;
            while n_nodes < rest.len() && around.len() < GATHERED {
                let node = rest[n_nodes] as usize;
                if self.active[node].load(Relaxed) != 0 {
                    let label = |&other: &u32| self.labels[other as usize].load(Relaxed);
                    around.extend(self.level.neighbours(node).iter().map(label));
                }
                n_nodes += 1;
            }
            let mut around = &around[..];
            for &node in &rest[..n_nodes] {
                if self.active[node as usize].load(Relaxed) != 0 {
                    self.active[node as usize].store(0, Relaxed);
                    let (own, others) = around.split_at(self.level.degree(node as usize));
                    around = others;
                    choices.extend(self.choice(node, own, &mut sums));
                }
            }
            rest = &rest[n_nodes..];
        }
        choices
    }

    /// What `node` wants, whose neighbours are in the communities `around`.
    fn choice(&self, node: u32, around: &[u32], sums: &mut Sums) -> Option<Choice> {
        let from = self.labels[node as usize].load(Relaxed);
        let mass = self.level.mass[node as usize];
        let cost = self.rule.cost(mass);
        let mass_of = |label: u32| self.communities[label as usize].mass.load(Relaxed);
        let rest = mass_of(from) - mass;
        let (weight_from, weight_others) = self.level.split(node as usize, around, from);
        let stay = self.rule.gain(weight_from, cost, rest);
        if stay >= 0 && i128::from(self.rule.pull) * i128::from(weight_others) <= stay {
            return None;
        }
        self.level.sum(node as usize, around, sums);
        let mut best = (stay, from, weight_from);
        for (to, weight) in sums.iter() {
            // Masses only cost: without them the gain must reach what is there already.
            if to == from || i128::from(self.rule.pull) * i128::from(weight) < best.0 {
                continue;
            }
            let gain = self.rule.gain(weight, cost, mass_of(to));
            if gain > best.0 || (gain == best.0 && best.1 != from && to < best.1) {
                best = (gain, to, weight);
            }
        }
        if best.0 < 0 && rest > 0 && mass_of(node) == 0 {
            best = (0, node, 0);
        }
        let (_, to, weight_to) = best;
        (to != from).then_some(Choice { node, from, to, holds: false, weight_from, weight_to })
    }

    fn announce(&self, choice: &Choice) {
        let mass = self.level.mass[choice.node as usize];
        self.communities[choice.to as usize].joining.fetch_add(mass, Relaxed);
        self.communities[choice.from as usize].leaving.fetch_add(mass, Relaxed);
    }

    fn withdraw(&self, choice: &Choice) {
        self.communities[choice.to as usize].joining.store(0, Relaxed);
        self.communities[choice.from as usize].leaving.store(0, Relaxed);
    }

    /// Whether the move pays even if all others that want to join its target are there already and all that want to
    /// leave its community have left.
    fn holds(&self, choice: &Choice) -> bool {
        let mass = self.level.mass[choice.node as usize];
        let cost = self.rule.cost(mass);
        let (to, from) = (&self.communities[choice.to as usize], &self.communities[choice.from as usize]);
        let full = to.mass.load(Relaxed) + to.joining.load(Relaxed) - mass;
        let bare = from.mass.load(Relaxed) - from.leaving.load(Relaxed);
        self.rule.gain(choice.weight_to, cost, full) > self.rule.gain(choice.weight_from, cost, bare)
    }

    fn apply(&self, choice: &Choice) -> usize {
        if !choice.holds {
            return 0;
        }
        let mass = self.level.mass[choice.node as usize];
        self.labels[choice.node as usize].store(choice.to, Relaxed);
        self.communities[choice.to as usize].mass.fetch_add(mass, Relaxed);
        self.communities[choice.from as usize].mass.fetch_sub(mass, Relaxed);
        for &other in self.level.neighbours(choice.node as usize) {
            if self.labels[other as usize].load(Relaxed) != choice.to {
                self.active[other as usize].store(1, Relaxed);
            }
        }
        1
    }

    pub(super) fn into_labels(self) -> Vec<u32> {
        self.labels.into_iter().map(AtomicU32::into_inner).collect()
    }
}
