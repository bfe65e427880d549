//! Dot products of many rows with many rows: one ascending chain of fused multiply-adds each.
//!
//! Knows neither cosines nor layers: a row of the result is the same bits whatever other rows are beside
//! it. Sketch: a tile of 6 × 32 results (16 on narrower units) lives in registers; each step of `k` loads
//! 32 packed values once and uses them 6 times, so the tile is bound by arithmetic (384 flop for 152 bytes,
//! most of them in L1). Measured on a Xeon with AVX-512: 110–125 GFLOP/s a thread, 50–60 with AVX2.

use crate::Rows;

/// Rows of the right side that stand side by side in a panel.
const PANEL: usize = 32;
/// Rows of the left side in a tile.
const TILE: usize = 6;

/// Rows packed for dot products: panels of `PANEL` rows, transposed to `[dim, PANEL]`, padded with zeros.
pub(crate) struct Panels {
    data: Vec<f32>,
    dim: usize,
    n: usize,
}

impl Panels {
    /// Packs `rows`. Memory is that of the rows, rounded up to whole panels.
    pub(crate) fn pack(rows: Rows<'_>) -> Self {
        Self::pack_with(rows.n(), rows.dim(), |row_idx| rows.row(row_idx))
    }

    /// Packs `n` rows of `dim` values; `row(row_idx)` is `[dim]`.
    pub(crate) fn pack_with<'a>(n: usize, dim: usize, row: impl Fn(usize) -> &'a [f32]) -> Self {
        let mut data = vec![0.0; n.div_ceil(PANEL) * PANEL * dim];
        for (panel_idx, panel) in data.chunks_exact_mut(PANEL * dim).enumerate() {
            for lane in 0..PANEL.min(n - panel_idx * PANEL) {
                let row = row(panel_idx * PANEL + lane);
                for (slot, &value) in panel.iter_mut().skip(lane).step_by(PANEL).zip(row) {
                    *slot = value;
                }
            }
        }
        Self { data, dim, n }
    }

    /// Number of rows packed.
    pub(crate) fn n(&self) -> usize {
        self.n
    }

    /// Writes the dot products of `left` `[m, dim]` with the packed rows to `out` `[m, n]`, on this thread.
    pub(crate) fn multiply(&self, left: &[f32], out: &mut [f32]) {
        assert_eq!(left.len() * self.n, out.len() * self.dim, "shapes agree");
        pulp::Arch::new().dispatch(Multiply { panels: self, left, out });
    }
}

struct Multiply<'a> {
    panels: &'a Panels,
    left: &'a [f32],
    out: &'a mut [f32],
}

impl pulp::WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        // The sums of a tile must fit the registers: 32 of 16 values, or 16 of 8.
        match S::F32_LANES {
            16.. => self.run::<PANEL>(),
            _ => self.run::<{ PANEL / 2 }>(),
        }
    }
}

impl Multiply<'_> {
    /// Tiles of `TILE` × `WIDTH` results; `WIDTH` divides `PANEL`.
    #[inline(always)]
    fn run<const WIDTH: usize>(self) {
        let Panels { data, dim, n } = self.panels;
        let (dim, n) = (*dim, *n);
        let n_left = self.left.len() / dim;
        let packed = pack_left(self.left, dim);
        for first in (0..n).step_by(WIDTH) {
            let panel = &data[first / PANEL * PANEL * dim..][..PANEL * dim];
            let width = WIDTH.min(n - first);
            for (tile_idx, tile) in packed.chunks_exact(TILE * dim).enumerate() {
                let sums = multiply_tile::<WIDTH>(tile, panel, first % PANEL);
                for (lane, sums) in sums.iter().enumerate() {
                    let row = tile_idx * TILE + lane;
                    if row < n_left {
                        self.out[row * n + first..][..width].copy_from_slice(&sums[..width]);
                    }
                }
            }
        }
    }
}

/// Packs left rows as tiles `[dim, TILE]`, padded with zeros.
#[inline(always)]
fn pack_left(left: &[f32], dim: usize) -> Vec<f32> {
    let n_left = left.len() / dim;
    let mut packed = vec![0.0; n_left.div_ceil(TILE) * TILE * dim];
    for (row_idx, row) in left.chunks_exact(dim).enumerate() {
        let tile = &mut packed[row_idx / TILE * TILE * dim..][..TILE * dim];
        for (slot, &value) in tile.chunks_exact_mut(TILE).zip(row) {
            slot[row_idx % TILE] = value;
        }
    }
    packed
}

/// One tile of results, for lanes `first..` of a panel; each is `fma(a_k, b_k, …)` over ascending `k`,
/// from 0.
#[inline(always)]
fn multiply_tile<const WIDTH: usize>(tile: &[f32], panel: &[f32], first: usize) -> [[f32; WIDTH]; TILE] {
    let mut sums = [[0.0_f32; WIDTH]; TILE];
    for (left, right) in tile.chunks_exact(TILE).zip(panel.chunks_exact(PANEL)) {
        let right = &right[first..first + WIDTH];
        for (sums, &a) in sums.iter_mut().zip(left) {
            for (sum, &b) in sums.iter_mut().zip(right) {
                *sum = a.mul_add(b, *sum);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(n: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn every_product_is_the_plain_chain_bit_for_bit() {
        for (m, n, dim) in [(1, 1, 1), (5, 33, 7), (6, 32, 384), (13, 70, 65), (3, 0, 4)] {
            let (a, b) = (values(m * dim, 1), values(n * dim, 2));
            let panels = Panels::pack(Rows::new(&b, dim).expect("even"));
            let mut out = vec![0.0; m * n];
            panels.multiply(&a, &mut out);
            let mut narrow = vec![0.0; m * n];
            let (panels, left) = (&panels, &a[..]);
            let out_narrow = &mut narrow[..];
            Multiply { panels, left, out: out_narrow }.run::<{ PANEL / 2 }>();
            assert_eq!(out, narrow);
            for (i, row) in a.chunks_exact(dim).enumerate() {
                for (j, column) in b.chunks_exact(dim).enumerate() {
                    let chain = row.iter().zip(column).fold(0.0, |sum, (&a, &b)| a.mul_add(b, sum));
                    assert_eq!(out[i * n + j].to_bits(), chain.to_bits());
                }
            }
        }
    }
}
