//! A random graph with planted blocks: seeded, written once as sorted pairs, read back in two passes.
//!
//! Knows no clustering. The file holds pairs of `u32`, little endian, the lower node first, ascending and without
//! repeats, so that a program in any language reads the same graph.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use kernels::{CsrGraph, WEIGHT_ONE};

use crate::random::Random;

/// Bytes of a pair in the file.
const PAIR_BYTES: usize = 8;

/// What a planted graph looks like.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// Nodes, at least `n_blocks`.
    pub n: u32,
    /// Edges, each counted once.
    pub n_edges: usize,
    /// Blocks; node `v` lies in block `v % n_blocks`, so that neighbours in memory are strangers in the graph.
    pub n_blocks: u32,
    /// Share of the edges drawn inside a block, in thousandths.
    pub inner_permille: u32,
    /// Seed of all draws.
    pub seed: u64,
}

impl Planted {
    /// Writes the graph to `path`. Memory is 8 bytes an edge.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut random = Random(self.seed);
        let mut pairs: Vec<u64> = Vec::with_capacity(self.n_edges);
        while pairs.len() < self.n_edges {
            for _ in pairs.len()..self.n_edges {
                pairs.push(self.draw(&mut random));
            }
            pairs.sort_unstable();
            pairs.dedup();
        }
        let mut file = BufWriter::new(File::create(path)?);
        for pair in pairs {
            file.write_all(&((pair >> 32) as u32).to_le_bytes())?;
            file.write_all(&(pair as u32).to_le_bytes())?;
        }
        file.flush()
    }

    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let from = random.below(self.n);
            let block = from % self.n_blocks;
            let to = if random.below(1000) < self.inner_permille {
                let n_members = (self.n - block).div_ceil(self.n_blocks);
                block + self.n_blocks * random.below(n_members)
            } else {
                random.below(self.n)
            };
            if from != to {
                return u64::from(from.min(to)) << 32 | u64::from(from.max(to));
            }
        }
    }
}

/// Reads a graph of `n` nodes whose edges all weigh one. Memory is that of the graph.
///
/// # Errors
/// What the file system says, and a file whose pairs are not of `n` nodes.
pub fn read(path: &Path, n: u32) -> io::Result<CsrGraph> {
    let mut offsets = vec![0_u32; n as usize + 1];
    each_pair(path, n, |from, to| {
        offsets[from as usize + 1] += 1;
        offsets[to as usize + 1] += 1;
    })?;
    for node in 0..n as usize {
        offsets[node + 1] += offsets[node];
    }
    let mut columns = vec![0_u32; offsets[n as usize] as usize];
    let mut next = offsets.clone();
    // Ascending pairs fill every row in ascending order: first its lower neighbours, then its higher ones.
    each_pair(path, n, |from, to| {
        for (row, column) in [(from, to), (to, from)] {
            let at = &mut next[row as usize];
            columns[*at as usize] = column;
            *at += 1;
        }
    })?;
    drop(next);
    let weights = vec![WEIGHT_ONE; columns.len()];
    Ok(CsrGraph { offsets, columns, weights })
}

fn each_pair(path: &Path, n: u32, mut take: impl FnMut(u32, u32)) -> io::Result<()> {
    let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
    let mut bytes = [0_u8; PAIR_BYTES];
    loop {
        match file.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let pair = u64::from_le_bytes(bytes);
        let (from, to) = (pair as u32, (pair >> 32) as u32);
        if from >= to || to >= n {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("no edge of {n} nodes: {from}, {to}")));
        }
        take(from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_comes_back_as_it_was_drawn() {
        let planted = Planted { n: 300, n_edges: 2_000, n_blocks: 7, inner_permille: 700, seed: 5 };
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("pairs");
        planted.write(&path).expect("written");
        let graph = read(&path, planted.n).expect("read");
        graph.check().expect("invariants");
        assert_eq!(graph.columns.len(), 4_000);
        let inner = (0..300).flat_map(|node| graph.edges(node).map(move |edge| (node as u32, edge.0)));
        let n_inner = inner.filter(|(from, to)| from % 7 == to % 7).count();
        assert!((2_600..3_400).contains(&n_inner), "{n_inner}");
        assert!(read(&path, 200).is_err());
    }
}
