//! Colours of nodes so that no two neighbours share one: rounds of picks from a snapshot, clashes settled by rank.
//!
//! Knows a graph and a salt. The same colours come out on every device: a round reads only what the one before left.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::level::Level;

/// Colours are tried in windows of this many, lowest window first: enough that most picks do not clash.
pub(crate) const WINDOW: u32 = 64;
/// No colour yet.
pub(crate) const NONE: u32 = u32::MAX;
const CHUNK: usize = 2_048;

/// Nodes by colour.
pub(crate) struct Classes {
    /// All nodes, colour after colour, ascending within one; `[n]`.
    pub order: Vec<u32>,
    /// Where the nodes of each colour start; `[n_classes + 1]`. No class is empty.
    pub bounds: Vec<u32>,
}

impl Classes {
    /// Sorts nodes by their colours.
    pub(crate) fn of(colours: &[u32]) -> Self {
        let n_colours = colours.iter().max().map_or(0, |&top| top as usize + 1);
        let mut bounds = vec![0_u32; n_colours + 1];
        colours.iter().for_each(|&colour| bounds[colour as usize + 1] += 1);
        for colour in 0..n_colours {
            bounds[colour + 1] += bounds[colour];
        }
        let mut next = bounds.clone();
        let mut order = vec![0_u32; colours.len()];
        for (node, &colour) in colours.iter().enumerate() {
            order[next[colour as usize] as usize] = node as u32;
            next[colour as usize] += 1;
        }
        bounds.dedup();
        Self { order, bounds }
    }

    /// Number of classes.
    pub(crate) fn n(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The nodes of a class, ascending.
    pub(crate) fn nodes(&self, class: usize) -> &[u32] {
        &self.order[self.bounds[class] as usize..self.bounds[class + 1] as usize]
    }
}

/// A well-mixed number of `x`. Source: Appleby, MurmurHash3, its finaliser of 32 bits.
pub(crate) fn mix(x: u32) -> u32 {
    let x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    let x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// Gives every node a colour that none of its neighbours has.
///
/// In round `r` every node without a colour looks for the lowest window of [`WINDOW`] colours in which one is free
/// of its neighbours and picks the `mix(node ^ mix(salt + r)) mod n_free`-th free one. Of neighbours that picked the
/// same, all but the highest by (`mix(node ^ salt)`, node) give it back. At least one node keeps its pick in every
/// round, in practice half of them do. Work is close to O(edges), memory 8 bytes a node.
///
/// Source: the rounds of Gebremedhin, Manne, «Scalable parallel graph coloring algorithms», made independent of timing.
pub(crate) fn colours(level: &Level<'_>, salt: u32) -> Vec<u32> {
    let colours: Vec<AtomicU32> = (0..level.n()).into_par_iter().map(|_| AtomicU32::new(NONE)).collect();
    let mut open: Vec<u32> = (0..level.n() as u32).collect();
    let mut round = 0_u32;
    while !open.is_empty() {
        let pick_salt = mix(salt.wrapping_add(round));
        let pick = |&node: &u32| match round {
            0 => mix(node ^ pick_salt) % WINDOW,
            _ => pick(level, &colours, node, mix(node ^ pick_salt)),
        };
        let picks: Vec<u32> = open.par_iter().with_min_len(CHUNK).map(pick).collect();
        let give = |(&node, &pick): (&u32, &u32)| colours[node as usize].store(pick, Relaxed);
        open.par_iter().zip(&picks).with_min_len(CHUNK).for_each(give);
        let lost: Vec<u32> =
            open.par_iter().with_min_len(CHUNK).copied().filter(|&node| loses(level, &colours, node, salt)).collect();
        lost.par_iter().with_min_len(CHUNK).for_each(|&node| colours[node as usize].store(NONE, Relaxed));
        open = lost;
        round = round.wrapping_add(1);
    }
    colours.into_par_iter().map(AtomicU32::into_inner).collect()
}

fn pick(level: &Level<'_>, colours: &[AtomicU32], node: u32, number: u32) -> u32 {
    let mut window = 0;
    loop {
        let mut taken = 0_u64;
        for &other in level.neighbours(node as usize) {
            let within = colours[other as usize].load(Relaxed).wrapping_sub(window);
            taken |= u64::from(within < WINDOW) << (within & (WINDOW - 1));
        }
        let mut free = !taken;
        if free != 0 {
            for _ in 0..number % free.count_ones() {
                free &= free - 1;
            }
            return window + free.trailing_zeros();
        }
        window += WINDOW;
    }
}

fn loses(level: &Level<'_>, colours: &[AtomicU32], node: u32, salt: u32) -> bool {
    let own = colours[node as usize].load(Relaxed);
    let rank = |node: u32| (mix(node ^ salt), node);
    let clashes = |other: &u32| colours[*other as usize].load(Relaxed) == own;
    level.neighbours(node as usize).iter().filter(|other| clashes(other)).any(|&other| rank(other) > rank(node))
}
