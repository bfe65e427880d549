//! The order of the steps, the same on every device: rounds, levels, sweeps, colours.
//!
//! Knows when; what a step does is the business of a [`Device`].

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use rayon::prelude::*;

use super::Limits;
use super::aggregate::{Parts, aggregate};
use super::colour::mix;
use super::components::components;
use super::level::Level;
use super::rule::Rule;
use super::sums::Tables;
use crate::{LeidenSettings, Partition, Result};

/// Most sweeps of one local moving, after which it stops as it is. Real graphs need fewer than ten.
const SWEEPS_MAX: usize = 100;
/// A sweep in which fewer than one node in `2^5` moved is the last of its level: what is left moves a level higher.
const SWEEP_MOVES_SHIFT: u32 = 5;
/// A further round in which fewer than one node in `2^10` moves at the finest level ends there.
const ROUND_MOVES_SHIFT: u32 = 10;
/// A round that gained less than one part in `2^12` of what all edges are worth is the last.
const ROUND_GAIN_SHIFT: u32 = 12;
/// Most rounds of the serial rules on the last level of a round of these.
const FINISH_ROUNDS_MAX: u32 = 1;
const CHUNK: usize = 1_024;

/// Something that can hold levels and run the steps of the coloured rules on them.
pub(crate) trait Device {
    /// A level on the device.
    type Held<'a>: Steps
    where
        Self: 'a;

    /// Takes a level over and colours it with `salt` by the rules of `colour`.
    ///
    /// # Errors
    /// Whatever the device says, such as too little memory; the run ends with it.
    fn hold<'a>(&'a self, level: &'a Level<'a>, rule: Rule, salt: u32) -> Result<Self::Held<'a>>;
}

/// The steps on one level. Every method may only queue its work; those that hand something back wait for it.
pub(crate) trait Steps {
    /// Number of colours in use.
    fn n_classes(&self) -> usize;
    /// Sets the communities out, one label below `n` a node, and marks all nodes active.
    fn start_moving(&mut self, labels: &[u32]) -> Result<()>;
    /// Lets the active nodes of a colour move.
    fn move_class(&mut self, class: usize) -> Result<()>;
    /// How many nodes moved since `start_moving` or the last call.
    fn n_moved(&mut self) -> Result<usize>;
    /// The label of each node; ends the moving.
    fn labels(&mut self) -> Result<Vec<u32>>;
    /// Makes every node a part of its own, inside the communities `labels`.
    fn start_refining(&mut self, labels: &[u32]) -> Result<()>;
    /// Lets the lone nodes of a colour join parts.
    fn refine_class(&mut self, class: usize) -> Result<()>;
    /// The part of each node, named by one of its nodes; ends the refining.
    fn parts(&mut self) -> Result<Vec<u32>>;
}

/// Rounds over all levels until one gains little.
pub(super) fn run<D: Device>(
    device: &D,
    finest: &Level<'_>,
    rule: Rule,
    settings: &LeidenSettings,
    limits: &Limits,
) -> Result<Partition> {
    let salt = mix(settings.seed as u32) ^ (settings.seed >> 32) as u32;
    let mut climb = Climb { device, finest, rule, limits, tables: Tables::new() };
    let mut held = device.hold(finest, rule, salt)?;
    let mut labels: Vec<u32> = (0..finest.n() as u32).collect();
    let mut value = value(finest, rule, &labels);
    for round in 0..settings.rounds_max.max(1) {
        let seed = settings.seed ^ (u64::from(round) << 32);
        let (next, more) = climb.round(&mut held, &labels, seed, round > 0)?;
        let value_next = self::value(finest, rule, &next);
        let gained = value_next - value;
        if gained > 0 {
            (labels, value) = (next, value_next);
        }
        if !more || gained << ROUND_GAIN_SHIFT < worth(finest, rule) {
            break;
        }
    }
    Ok(Partition::from_raw(&labels))
}

struct Climb<'a, D> {
    device: &'a D,
    finest: &'a Level<'a>,
    rule: Rule,
    limits: &'a Limits,
    tables: Tables,
}

impl<D: Device> Climb<'_, D> {
    /// One pass over all levels, from one label a node to labels that are at least as good, and whether the next round
    /// is worth a try.
    fn round(&mut self, held: &mut D::Held<'_>, from: &[u32], seed: u64, again: bool) -> Result<(Vec<u32>, bool)> {
        let (labels, n_moved) = moved(held, self.finest.n(), from)?;
        if again && n_moved << ROUND_MOVES_SHIFT < self.finest.n() {
            return Ok((components(self.finest, &labels), false));
        }
        let mut parts = Parts::of(&refined(held, &labels)?);
        let mut labels = parts.labels(&labels);
        let mut level = aggregate(self.finest, &parts, &self.tables);
        let mut node_of = std::mem::take(&mut parts.of);
        while !self.limits.is_serial(&level) {
            let mut held = self.device.hold(&level, self.rule, mix(seed as u32 ^ level.n() as u32))?;
            (labels, _) = moved(&mut held, level.n(), &labels)?;
            parts = Parts::of(&refined(&mut held, &labels)?);
            if parts.n == level.n() {
                break;
            }
            labels = parts.labels(&labels);
            let next = aggregate(&level, &parts, &self.tables);
            drop(held);
            level = next;
            node_of.iter_mut().for_each(|node| *node = parts.of[*node as usize]);
        }
        if self.limits.is_serial(&level) {
            labels = super::finish(&level, labels, self.rule, seed, FINISH_ROUNDS_MAX);
        }
        // Parts hold together, so communities of the graph are connected where those of the last level are.
        let labels = components(&level, &labels);
        Ok((node_of.iter().map(|&node| labels[node as usize]).collect(), true))
    }
}

/// Sweeps over the colours until few nodes move; the labels, and how many moves there were.
fn moved(held: &mut impl Steps, n: usize, labels: &[u32]) -> Result<(Vec<u32>, usize)> {
    held.start_moving(labels)?;
    let mut n_all = 0;
    for _ in 0..SWEEPS_MAX {
        for class in 0..held.n_classes() {
            held.move_class(class)?;
        }
        let n_moved = held.n_moved()?;
        n_all += n_moved;
        if n_moved == 0 || n_moved << SWEEP_MOVES_SHIFT < n {
            break;
        }
    }
    Ok((held.labels()?, n_all))
}

fn refined(held: &mut impl Steps, labels: &[u32]) -> Result<Vec<u32>> {
    held.start_refining(labels)?;
    for class in 0..held.n_classes() {
        held.refine_class(class)?;
    }
    held.parts()
}

/// Twice the quality of a partition, up to what does not depend on it.
pub(super) fn value(level: &Level<'_>, rule: Rule, labels: &[u32]) -> i128 {
    let masses: Vec<AtomicI64> = (0..level.n()).into_par_iter().map(|_| AtomicI64::new(0)).collect();
    let inner = |node: usize| {
        masses[labels[node] as usize].fetch_add(level.mass[node], Relaxed);
        let mut inner = 0;
        level.each(node, |other, weight| inner += if labels[other as usize] == labels[node] { weight } else { 0 });
        inner
    };
    let inner: i64 = (0..level.n()).into_par_iter().with_min_len(CHUNK).map(inner).sum();
    let squares = |mass: &AtomicI64| i128::from(mass.load(Relaxed)).pow(2);
    let squares: i128 = masses.par_iter().with_min_len(CHUNK).map(squares).sum();
    i128::from(rule.pull) * i128::from(inner) - i128::from(rule.push) * squares
}

/// What all edges would be worth if masses cost nothing, in the units of [`value`].
fn worth(level: &Level<'_>, rule: Rule) -> i128 {
    let at = |node: usize| {
        let mut sum = 0;
        level.each(node, |_, weight| sum += weight);
        sum
    };
    let total: i64 = (0..level.n()).into_par_iter().with_min_len(CHUNK).map(at).sum();
    i128::from(rule.pull) * i128::from(total)
}
