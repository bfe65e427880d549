//! From one level to the next: one node a part, in parallel, in an order that no thread decides.

use std::borrow::Cow;

use rayon::prelude::*;

use super::level::{Level, Weights};
use super::sums::{Sums, Tables};

/// Parts that one thread takes at once.
const CHUNK: usize = 512;

/// Parts renumbered densely in the order of their lowest nodes.
pub(super) struct Parts {
    /// The part of each node.
    pub of: Vec<u32>,
    /// Number of parts.
    pub n: usize,
}

impl Parts {
    /// `raw` names each part by one of its nodes.
    pub(super) fn of(raw: &[u32]) -> Self {
        let mut dense = vec![u32::MAX; raw.len()];
        let mut n = 0;
        let number = |&name: &u32| {
            let slot = &mut dense[name as usize];
            if *slot == u32::MAX {
                *slot = n;
                n += 1;
            }
            *slot
        };
        let of = raw.iter().map(number).collect();
        Self { of, n: n as usize }
    }

    /// The community of each part, named by its lowest part; every part lies in one community.
    pub(super) fn labels(&self, labels: &[u32]) -> Vec<u32> {
        let mut of_part = vec![0; self.n];
        let mut lowest = vec![u32::MAX; labels.len()];
        for (&part, &label) in self.of.iter().zip(labels) {
            of_part[part as usize] = label;
            let lowest = &mut lowest[label as usize];
            *lowest = (*lowest).min(part);
        }
        of_part.iter().map(|&label| lowest[label as usize]).collect()
    }

    /// Nodes part after part, and where each part starts.
    fn members(&self) -> (Vec<u32>, Vec<u32>) {
        let mut bounds = vec![0_u32; self.n + 1];
        self.of.iter().for_each(|&part| bounds[part as usize + 1] += 1);
        for part in 0..self.n {
            bounds[part + 1] += bounds[part];
        }
        let mut next = bounds.clone();
        let mut members = vec![0_u32; self.of.len()];
        for (node, &part) in self.of.iter().enumerate() {
            members[next[part as usize] as usize] = node as u32;
            next[part as usize] += 1;
        }
        (members, bounds)
    }
}

/// Rows of some parts on the way to a level.
#[derive(Default)]
struct Piece {
    degrees: Vec<u32>,
    columns: Vec<u32>,
    short: Vec<i32>,
    /// All weights, once one of them did not fit `short`.
    long: Vec<i64>,
    mass: Vec<i64>,
}

impl Piece {
    fn push(&mut self, column: u32, weight: i64) {
        self.columns.push(column);
        match i32::try_from(weight) {
            Ok(weight) if self.long.is_empty() => self.short.push(weight),
            _ => {
                let before = std::mem::take(&mut self.short);
                self.long.extend(before.into_iter().map(i64::from));
                self.long.push(weight);
            }
        }
    }
}

/// The next level: one node a part, edges summed between parts, edges within one left out.
///
/// Columns of a row stand in the order in which its members name them. Work is O(edges), memory that of the new level
/// and of the pieces it is put together from.
pub(super) fn aggregate(level: &Level<'_>, parts: &Parts, tables: &Tables) -> Level<'static> {
    let (members, bounds) = parts.members();
    let piece = |range: &[u32], first: usize| {
        let mut sums = tables.mine();
        let mut piece = Piece::default();
        for (at, bounds) in range.windows(2).enumerate() {
            let members = &members[bounds[0] as usize..bounds[1] as usize];
            row(level, parts, (first + at) as u32, members, &mut sums, &mut piece);
        }
        // All pieces are held at once.
        piece.columns.shrink_to_fit();
        piece.short.shrink_to_fit();
        piece
    };
    let starts: Vec<usize> = (0..parts.n).step_by(CHUNK).collect();
    let pieces: Vec<Piece> =
        starts.into_par_iter().map(|first| piece(&bounds[first..=(first + CHUNK).min(parts.n)], first)).collect();
    join(pieces, parts.n)
}

fn row(level: &Level<'_>, parts: &Parts, part: u32, members: &[u32], sums: &mut Sums, piece: &mut Piece) {
    let n_edges: usize = members.iter().map(|&node| level.degree(node as usize)).sum();
    sums.start(n_edges.min(parts.n));
    for &node in members {
        level.each(node as usize, |other, weight| {
            let to = parts.of[other as usize];
            if to != part {
                sums.add(to, weight);
            }
        });
    }
    let before = piece.columns.len();
    sums.iter().for_each(|(to, weight)| piece.push(to, weight));
    piece.degrees.push((piece.columns.len() - before) as u32);
    piece.mass.push(members.iter().map(|&node| level.mass[node as usize]).sum());
}

fn join(pieces: Vec<Piece>, n: usize) -> Level<'static> {
    let n_edges = pieces.iter().map(|piece| piece.columns.len()).sum();
    let long = pieces.iter().any(|piece| !piece.long.is_empty());
    let mut offsets = Vec::with_capacity(n + 1);
    let mut columns = Vec::with_capacity(n_edges);
    let mut mass = Vec::with_capacity(n);
    let mut short: Vec<i32> = Vec::with_capacity(if long { 0 } else { n_edges });
    let mut wide: Vec<i64> = Vec::with_capacity(if long { n_edges } else { 0 });
    let mut end = 0_u32;
    offsets.push(0);
    for piece in pieces {
        for degree in piece.degrees {
            end += degree;
            offsets.push(end);
        }
        columns.extend(piece.columns);
        mass.extend(piece.mass);
        if long {
            wide.extend(piece.short.into_iter().map(i64::from).chain(piece.long));
        } else {
            short.extend(piece.short);
        }
    }
    let weights = if long { Weights::Long(wide) } else { Weights::Short(Cow::Owned(short)) };
    Level { offsets: Cow::Owned(offsets), columns: Cow::Owned(columns), weights, mass }
}
