//! The small functions of a transformer: GELU, softmax, norm, over tokens that are the lanes of a vector unit.
//!
//! Each value is a fixed chain of operations: the same bits on every machine with fused multiply-adds.

use pulp::{Arch, NullaryFnOnce};

use super::linear::BLOCK;

/// Lanes that the loops below are written for; compilers make one wide vector of them, or a few narrow ones.
const LANES: usize = 16;

/// Which GELU a model was trained with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gelu {
    /// `x · Φ(x)`, with Φ up to 2·10⁻⁷.
    Exact,
    /// The form with a hyperbolic tangent.
    Tanh,
}

/// Replaces every value by its GELU. `values` are whole rows of a block.
///
/// Source: Hendrycks, Gimpel, arXiv:1606.08415.
#[inline(always)]
pub(super) fn gelu(values: &mut [f32], gelu: Gelu) {
    for lanes in values.as_chunks_mut::<LANES>().0 {
        match gelu {
            Gelu::Exact => lanes.iter_mut().for_each(|value| *value = gelu_exact(*value)),
            Gelu::Tanh => lanes.iter_mut().for_each(|value| *value = gelu_tanh(*value)),
        }
    }
}

/// Turns every column of `scores` `[n, BLOCK]` into powers of e, the largest 1; returns the inverse of each
/// column's sum. Only the first `n_lanes` columns, in groups of `LANES`.
#[inline(always)]
pub(super) fn softmax(scores: &mut [f32], n_lanes: usize) -> [f32; BLOCK] {
    let mut inverse = [1.0; BLOCK];
    for (group, inverse) in inverse.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        if group * LANES >= n_lanes {
            break;
        }
        let mut top = [f32::NEG_INFINITY; LANES];
        for row in scores.as_chunks::<BLOCK>().0 {
            let row = &row.as_chunks::<LANES>().0[group];
            for (top, &value) in top.iter_mut().zip(row) {
                *top = if value > *top { value } else { *top };
            }
        }
        let mut sum = [0.0; LANES];
        for row in scores.as_chunks_mut::<BLOCK>().0 {
            let row = &mut row.as_chunks_mut::<LANES>().0[group];
            for ((value, top), sum) in row.iter_mut().zip(&top).zip(&mut sum) {
                *value = exp(*value - top);
                *sum += *value;
            }
        }
        for (inverse, sum) in inverse.iter_mut().zip(&sum) {
            *inverse = 1.0 / sum;
        }
    }
    inverse
}

/// The scale and shift of a norm, `[features]` each, and what keeps it from dividing by nothing.
pub(super) struct Norm {
    pub scale: Vec<f32>,
    pub shift: Vec<f32>,
    pub epsilon: f32,
}

impl Norm {
    /// Brings every token of `rows` `[blocks, features, BLOCK]` to mean 0 and variance 1, then scales and shifts
    /// each feature; writes it to `copy` as well where there is one.
    ///
    /// Source: Ba, Kiros, Hinton, arXiv:1607.06450.
    pub(super) fn run(&self, rows: &mut [f32], copy: Option<&mut [f32]>) {
        Arch::new().dispatch(Normalise { norm: self, rows, copy });
    }
}

// A type, because only an inlined body is compiled for the wide unit, and a closure cannot be told to be inlined.
struct Normalise<'a> {
    norm: &'a Norm,
    rows: &'a mut [f32],
    copy: Option<&'a mut [f32]>,
}

impl NullaryFnOnce for Normalise<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let n_features = self.norm.scale.len();
        let mut copies = self.copy.map(|copy| copy.chunks_exact_mut(n_features * BLOCK));
        for block in self.rows.chunks_exact_mut(n_features * BLOCK) {
            let copy = copies.as_mut().and_then(Iterator::next);
            self.norm.run_block(block.as_chunks_mut::<BLOCK>().0, copy.map(|copy| copy.as_chunks_mut::<BLOCK>().0));
        }
    }
}

impl Norm {
    #[inline(always)]
    fn run_block(&self, rows: &mut [[f32; BLOCK]], copy: Option<&mut [[f32; BLOCK]]>) {
        let share = 1.0 / rows.len() as f32;
        let mean = sum_rows(rows, |value, sum| sum + value).map(|sum| sum * share);
        for row in rows.iter_mut() {
            for (value, mean) in row.iter_mut().zip(&mean) {
                *value -= mean;
            }
        }
        let variance = sum_rows(rows, |value, sum| value.mul_add(value, sum)).map(|sum| sum * share);
        let inverse = variance.map(|variance| 1.0 / (variance + self.epsilon).sqrt());
        for ((row, scale), shift) in rows.iter_mut().zip(&self.scale).zip(&self.shift) {
            for (value, inverse) in row.iter_mut().zip(&inverse) {
                *value = (*value * inverse).mul_add(*scale, *shift);
            }
        }
        if let Some(copy) = copy {
            copy.copy_from_slice(rows);
        }
    }
}

/// Sums every column in two chains, of even and of odd rows.
#[inline(always)]
fn sum_rows(rows: &[[f32; BLOCK]], add: impl Fn(f32, f32) -> f32) -> [f32; BLOCK] {
    let mut sums = [[0.0_f32; BLOCK]; 2];
    for pair in rows.chunks(2) {
        for (sums, row) in sums.iter_mut().zip(pair) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum = add(value, *sum);
            }
        }
    }
    let [mut even, odd] = sums;
    even.iter_mut().zip(&odd).for_each(|(even, odd)| *even += odd);
    even
}

/// Source: Abramowitz, Stegun, Handbook of Mathematical Functions, 7.1.26 (erf, error below 1.5·10⁻⁷).
#[inline(always)]
fn gelu_exact(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / z.mul_add(0.327_591_1, 1.0);
    let series =
        t.mul_add(1.061_405_4, -1.453_152_1).mul_add(t, 1.421_413_8).mul_add(t, -0.284_496_72).mul_add(t, 0.254_829_6)
            * t;
    let tail = 0.5 * series * exp(-z * z); // Φ(−|x|)
    if x >= 0.0 { x - x * tail } else { x * tail }
}

/// Source: Hendrycks, Gimpel, arXiv:1606.08415, section 2; `(1 + tanh(u)) / 2 = 1 / (1 + e^(−2u))`.
#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    let u = (x * x).mul_add(0.044_715, 1.0) * x * 0.797_884_6;
    let power = exp(-2.0 * u.abs());
    let tail = power / (1.0 + power); // the share at −|x|
    if x >= 0.0 { x - x * tail } else { x * tail }
}

/// `e^x` for `x <= 88`, relative error about 10⁻⁷; 0 far below.
#[inline(always)]
fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 · 2^23: adding it rounds to an integer in the low bits
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = if x > -87.0 { x } else { -87.0 };
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
    let series = r
        .mul_add(1.987_569_1e-4, 1.398_199_9e-3)
        .mul_add(r, 8.333_452e-3)
        .mul_add(r, 4.166_579_6e-2)
        .mul_add(r, 0.166_666_65)
        .mul_add(r, 0.5);
    let mantissa = (r * r).mul_add(series, r) + 1.0;
    let scale = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    mantissa * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_exp() {
        for step in -860..=800 {
            let x = step as f32 / 10.0;
            let want = f64::from(x).exp();
            assert!((f64::from(exp(x)) - want).abs() <= 3e-7 * want, "{x}");
        }
        assert!(exp(-1e30) < 1e-37);
    }

    #[test]
    fn gelu_is_x_times_the_normal_distribution() {
        let mut values = [0.0; LANES];
        values[..6].copy_from_slice(&[-8.0, -1.0, 0.0, 0.5, 1.0, 3.0]);
        let mut tanh = values;
        gelu(&mut values, Gelu::Exact);
        let want = [-4.976e-15, -0.158_655_26, 0.0, 0.345_731_23, 0.841_344_8, 2.995_950_3];
        for (value, want) in values.iter().zip(want) {
            assert!((value - want).abs() < 1e-6, "{value} {want}");
        }
        gelu(&mut tanh, Gelu::Tanh);
        let want = [0.0, -0.158_808_01, 0.0, 0.345_714_03, 0.841_192, 2.996_362_7];
        for (value, want) in tanh.iter().zip(want) {
            assert!((value - want).abs() < 1e-6, "{value} {want}");
        }
    }

    #[test]
    fn softmax_and_norm_do_what_they_say() {
        let mut scores = [0.0; 3 * BLOCK];
        for (row, value) in [0.0, 2.0_f32.ln(), -1e9].into_iter().enumerate() {
            scores[row * BLOCK] = value;
        }
        let inverse = softmax(&mut scores, LANES);
        for (row, want) in [1.0, 2.0, 0.0].into_iter().enumerate() {
            assert!((scores[row * BLOCK] * inverse[0] - want / 3.0).abs() < 1e-6);
            assert!((scores[row * BLOCK + 1] * inverse[1] - 1.0 / 3.0).abs() < 1e-6);
        }
        let norm = Norm { scale: vec![1.0, 2.0], shift: vec![0.0, 1.0], epsilon: 0.0 };
        let mut rows = [0.0; 2 * BLOCK];
        (rows[0], rows[BLOCK], rows[1], rows[BLOCK + 1]) = (1.0, 3.0, 4.0, 0.0);
        let mut copy = [0.0; 2 * BLOCK];
        norm.run(&mut rows, Some(&mut copy));
        for (at, want) in [(0, -1.0), (BLOCK, 3.0), (1, 1.0), (BLOCK + 1, -1.0)] {
            assert!((rows[at] - want).abs() < 1e-6);
            assert_eq!(rows[at], copy[at]);
        }
    }
}
