//! Dot products of many rows with many rows: one ascending chain of fused multiply-adds each.
//!
//! Knows neither cosines nor layers: a row of the result is the same bits whatever other rows are beside
//! it. Sketch: a tile of 12 × 32 sums lives in registers (6 × 16 where a unit has 16 registers of 8 values);
//! each step of `k` loads 32 packed values and 12 values of the left rows as they lie, for 768 flop: 176
//! bytes, of which 128 come from L2 and 48 from L1. So the tile is bound by arithmetic. Measured on a Xeon, a
//! thread, 256 × 256 rows of 384: 165–195 GFLOP/s with AVX-512, 95–105 with AVX2.
//! Memory: the packed rows; the left rows are not copied.

use std::ops::Range;

use pulp::{NullaryFnOnce, Simd, WithSimd};

use crate::Rows;

/// Rows of the right side that stand side by side in a panel.
pub(super) const PANEL: usize = 32;
/// Rows of the left side in a tile, where a unit has 32 registers.
const TILE: usize = 12;
/// And where it has 16.
const TILE_NARROW: usize = 6;
/// Left rows that do not fill a tile are taken by so many.
const TILE_REST: usize = 4;
/// Rows that are transposed at a time, and of each so many values.
const TURN_ROWS: usize = 8;
const TURN_VALUES: usize = 4;

/// Rows packed for dot products: panels of `PANEL` rows, transposed to `[dim, PANEL]`, padded to whole panels.
#[derive(Default)]
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

    /// Packs `rows` in the place of those packed before, in the same memory where it suffices.
    pub(super) fn repack(&mut self, rows: Rows<'_>) {
        self.fill(rows.n(), rows.dim(), |row_idx| rows.row(row_idx));
    }

    /// Packs `n` rows of `dim` values; `row(row_idx)` is `[dim]`.
    pub(crate) fn pack_with<'a>(n: usize, dim: usize, row: impl Fn(usize) -> &'a [f32]) -> Self {
        let mut panels = Self::default();
        panels.fill(n, dim, row);
        panels
    }

    fn fill<'a>(&mut self, n: usize, dim: usize, row: impl Fn(usize) -> &'a [f32]) {
        (self.n, self.dim) = (n, dim);
        self.data.resize(n.div_ceil(PANEL) * PANEL * dim, 0.0);
        pulp::Arch::new().dispatch(Turn { data: &mut self.data, dim, n, row });
    }

    /// Number of rows packed.
    pub(crate) fn n(&self) -> usize {
        self.n
    }

    /// Writes the dot products of `left` `[m, dim]` with the packed rows to `out`, whose rows are `stride` apart, on
    /// this thread. Only the part asked for; the rest of `out` is left as it was or overwritten.
    pub(super) fn multiply_part(&self, left: &[f32], out: &mut [f32], stride: usize, part: Part) {
        let m = left.len().checked_div(self.dim).unwrap_or(0);
        assert!(stride >= self.n && out.len() >= m * stride, "the products fit");
        pulp::Arch::new().dispatch(Multiply { panels: self, left, out, stride, part });
    }
}

/// Which products are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Of every left row with every packed row.
    All,
    /// Of every left row `i` with the packed rows before `i`.
    BelowDiagonal,
}

/// Transposes rows into panels.
struct Turn<'a, F> {
    data: &'a mut [f32],
    dim: usize,
    n: usize,
    row: F,
}

impl<'r, F: Fn(usize) -> &'r [f32]> NullaryFnOnce for Turn<'_, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (dim, n) = (self.dim, self.n);
        for (panel_idx, panel) in self.data.chunks_exact_mut(PANEL * dim).enumerate() {
            for lane in (0..PANEL).step_by(TURN_ROWS) {
                let first = panel_idx * PANEL + lane;
                if first < n {
                    // What stands in lanes beyond the last row is multiplied and never given out.
                    let rows = std::array::from_fn(|row_idx| &(self.row)((first + row_idx).min(n - 1))[..dim]);
                    turn(rows, panel, lane);
                }
            }
        }
    }
}

/// Transposes `TURN_ROWS` whole rows into lanes `lane..` of a panel.
#[inline(always)]
fn turn(rows: [&[f32]; TURN_ROWS], panel: &mut [f32], lane: usize) {
    let mut steps = panel.chunks_exact_mut(PANEL * TURN_VALUES);
    let mut at = 0;
    for step in &mut steps {
        let block: [[f32; TURN_VALUES]; TURN_ROWS] =
            std::array::from_fn(|row_idx| std::array::from_fn(|k| rows[row_idx][at + k]));
        for k in 0..TURN_VALUES {
            let lanes: [f32; TURN_ROWS] = std::array::from_fn(|row_idx| block[row_idx][k]);
            step[k * PANEL + lane..][..TURN_ROWS].copy_from_slice(&lanes);
        }
        at += TURN_VALUES;
    }
    for (k, lanes) in steps.into_remainder().chunks_exact_mut(PANEL).enumerate() {
        for (slot, row) in lanes[lane..].iter_mut().zip(rows) {
            *slot = row[at + k];
        }
    }
}

struct Multiply<'a> {
    panels: &'a Panels,
    left: &'a [f32],
    out: &'a mut [f32],
    stride: usize,
    part: Part,
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        // The sums of a tile, a row of panel values and one of the left side must fit the registers.
        match S::F32_LANES {
            8 => self.run::<S, TILE_NARROW>(simd),
            _ => self.run::<S, TILE>(simd),
        }
    }
}

impl Multiply<'_> {
    #[inline(always)]
    fn run<S: Simd, const ROWS: usize>(&mut self, simd: S) {
        let n_left = self.left.len().checked_div(self.panels.dim).unwrap_or(0);
        let (one, two) = (S::F32_LANES, 2 * S::F32_LANES);
        for first in (0..self.panels.n).step_by(two) {
            match self.part {
                Part::All if first + one >= self.panels.n => self.strip::<S, ROWS, 1>(simd, 0..n_left, first),
                Part::All => self.strip::<S, ROWS, 2>(simd, 0..n_left, first),
                Part::BelowDiagonal => {
                    // The first rows of the strip have only its left half below the diagonal.
                    let half = n_left.min(first + one);
                    self.strip::<S, ROWS, 1>(simd, n_left.min(first)..half, first);
                    self.strip::<S, ROWS, 2>(simd, half..n_left, first);
                }
            }
        }
    }

    /// The products of left rows `rows` with `VECTORS` vectors of packed rows from `first` on.
    #[inline(always)]
    fn strip<S: Simd, const ROWS: usize, const VECTORS: usize>(
        &mut self,
        simd: S,
        mut rows: Range<usize>,
        first: usize,
    ) {
        while rows.len() >= ROWS {
            self.tile::<S, ROWS, VECTORS>(simd, rows.start..rows.start + ROWS, first);
            rows.start += ROWS;
        }
        while !rows.is_empty() {
            let end = rows.end.min(rows.start + TILE_REST);
            self.tile::<S, TILE_REST, VECTORS>(simd, rows.start..end, first);
            rows.start = end;
        }
    }

    /// One tile; each of its products is `fma(a_k, b_k, …)` over ascending `k`, from 0.
    #[inline(always)]
    fn tile<S: Simd, const ROWS: usize, const VECTORS: usize>(&mut self, simd: S, rows: Range<usize>, first: usize) {
        let &Panels { ref data, dim, n } = self.panels;
        let panel = &data[first / PANEL * PANEL * dim..][..PANEL * dim];
        // A tile that lacks rows computes its last one again.
        let left: [&[f32]; ROWS] =
            std::array::from_fn(|lane| &self.left[(rows.start + lane).min(rows.end - 1) * dim..][..dim]);
        // Said here, it need not be checked at every step.
        left.iter().for_each(|left| assert!(left.len() == dim));
        let mut sums = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
        for (k, right) in panel.chunks_exact(PANEL).take(dim).enumerate() {
            let (right, _) = S::as_simd_f32s(&right[first % PANEL..][..VECTORS * S::F32_LANES]);
            let right: [S::f32s; VECTORS] = std::array::from_fn(|vector| right[vector]);
            for lane in 0..ROWS {
                let value = simd.splat_f32s(left[lane][k]);
                for vector in 0..VECTORS {
                    sums[lane][vector] = simd.mul_add_f32s(value, right[vector], sums[lane][vector]);
                }
            }
        }
        for (row, sums) in rows.zip(sums) {
            for (vector, sum) in sums.into_iter().enumerate() {
                let start = first + vector * S::F32_LANES;
                let width = n.saturating_sub(start).min(S::F32_LANES);
                let out = &mut self.out[row * self.stride..][..n][start.min(n)..][..width];
                match S::as_mut_simd_f32s(out) {
                    ([whole], _) => *whole = sum,
                    (_, part) => simd.partial_store_f32s(part, sum),
                }
            }
        }
    }
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

    /// The units of this machine by which `multiply` can be run.
    fn units() -> Vec<pulp::Arch> {
        let mut units = vec![pulp::Arch::Scalar, pulp::Arch::new()];
        #[cfg(target_arch = "x86_64")]
        units.extend(pulp::x86::V3::try_new().map(pulp::Arch::V3));
        units
    }

    #[test]
    fn every_product_is_the_plain_chain_bit_for_bit_on_every_unit() {
        for (m, n, dim) in [(1, 1, 1), (5, 33, 7), (12, 32, 384), (13, 70, 65), (40, 40, 9), (70, 81, 3), (3, 0, 4)] {
            let (a, b) = (values(m * dim, 1), values(n * dim, 2));
            let panels = Panels::pack(Rows::new(&b, dim).expect("even"));
            let chain = |i: usize, j: usize| {
                let (a, b) = (&a[i * dim..][..dim], &b[j * dim..][..dim]);
                a.iter().zip(b).fold(0.0, |sum, (&a, &b)| a.mul_add(b, sum)).to_bits()
            };
            for unit in units() {
                for (part, stride) in [(Part::All, n), (Part::All, n + 3), (Part::BelowDiagonal, n + 1)] {
                    let mut out = vec![f32::NAN; m * stride];
                    unit.dispatch(Multiply { panels: &panels, left: &a, out: &mut out, stride, part });
                    for i in 0..m {
                        let end = if part == Part::All { n } else { i.min(n) };
                        (0..end).for_each(|j| assert_eq!(out[i * stride + j].to_bits(), chain(i, j)));
                        assert!(out[i * stride + n..(i + 1) * stride].iter().all(|pad| pad.is_nan()));
                    }
                }
            }
        }
    }

    #[test]
    fn rows_packed_again_are_those_of_a_fresh_packing() {
        let mut panels = Panels::default();
        for (n, dim) in [(70, 13), (3, 8), (33, 5), (0, 4), (64, 4)] {
            let data = values(n * dim, 3);
            let rows = Rows::new(&data, dim).expect("even");
            panels.repack(rows);
            for (row_idx, row) in data.chunks_exact(dim).enumerate() {
                let panel = &panels.data[row_idx / PANEL * PANEL * dim..][..PANEL * dim];
                let lane: Vec<f32> = panel.iter().skip(row_idx % PANEL).step_by(PANEL).copied().collect();
                assert_eq!(lane, row, "{row_idx} of {n}");
            }
        }
    }
}
