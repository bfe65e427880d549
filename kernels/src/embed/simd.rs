//! The small functions of a transformer, on the widest vector unit there is: bias, GELU, softmax, norm.
//!
//! Each value is a fixed chain of operations: the same bits on every machine with fused multiply-adds.

use pulp::{Arch, NullaryFnOnce};

/// Partial sums of a row: enough to fill a vector unit, and fixed, so that sums have one order.
const LANES: usize = 16;

/// Adds `bias` `[dim]` to every row of `rows` `[n, dim]`.
pub(super) fn add_bias(rows: &mut [f32], bias: &[f32]) {
    Arch::new().dispatch(AddBias { rows, bias });
}

/// Replaces every value by its GELU, `x · Φ(x)`, with the exact Φ up to 2·10⁻⁷.
pub(super) fn gelu(values: &mut [f32]) {
    Arch::new().dispatch(Gelu(values));
}

/// Turns every row of `scores` `[rows, n]` into shares that sum to 1; `n` above 0.
pub(super) fn softmax(scores: &mut [f32], n: usize) {
    Arch::new().dispatch(Softmax { scores, n });
}

/// `rows = norm(rows + update) · scale + shift`, row by row; shapes `[n, dim]`, `[dim]`.
///
/// Source: Ba, Kiros, Hinton, arXiv:1607.06450.
pub(super) fn add_norm(rows: &mut [f32], update: &[f32], scale: &[f32], shift: &[f32], epsilon: f32) {
    Arch::new().dispatch(AddNorm { rows, update, scale, shift, epsilon });
}

// Each function below is a type, because only an inlined body is compiled for the wide unit, and a closure
// cannot be told to be inlined.

struct AddBias<'a> {
    rows: &'a mut [f32],
    bias: &'a [f32],
}

impl NullaryFnOnce for AddBias<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for row in self.rows.chunks_exact_mut(self.bias.len()) {
            for (value, bias) in row.iter_mut().zip(self.bias) {
                *value += bias;
            }
        }
    }
}

struct Gelu<'a>(&'a mut [f32]);

impl NullaryFnOnce for Gelu<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for value in self.0 {
            *value = gelu_one(*value);
        }
    }
}

struct Softmax<'a> {
    scores: &'a mut [f32],
    n: usize,
}

impl NullaryFnOnce for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for row in self.scores.chunks_exact_mut(self.n) {
            softmax_row(row);
        }
    }
}

struct AddNorm<'a> {
    rows: &'a mut [f32],
    update: &'a [f32],
    scale: &'a [f32],
    shift: &'a [f32],
    epsilon: f32,
}

impl NullaryFnOnce for AddNorm<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let dim = self.scale.len();
        for (row, update) in self.rows.chunks_exact_mut(dim).zip(self.update.chunks_exact(dim)) {
            for (value, update) in row.iter_mut().zip(update) {
                *value += update;
            }
            let mean = sum(row) / dim as f32;
            for value in row.iter_mut() {
                *value -= mean;
            }
            let variance = sum_of_squares(row) / dim as f32;
            let inverse = 1.0 / (variance + self.epsilon).sqrt();
            for ((value, scale), shift) in row.iter_mut().zip(self.scale).zip(self.shift) {
                *value = (*value * inverse).mul_add(*scale, *shift);
            }
        }
    }
}

#[inline(always)]
fn softmax_row(row: &mut [f32]) {
    let mut top = f32::NEG_INFINITY;
    for &value in row.iter() {
        top = if value > top { value } else { top };
    }
    for value in row.iter_mut() {
        *value = exp(*value - top);
    }
    let share = 1.0 / sum(row);
    for value in row.iter_mut() {
        *value *= share;
    }
}

/// Sums a row in `LANES` interleaved chains, added up in order, then the rest of the row.
#[inline(always)]
fn sum(row: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let chunks = row.chunks_exact(LANES);
    let mut rest = 0.0;
    for value in chunks.remainder() {
        rest += value;
    }
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    lanes.iter().sum::<f32>() + rest
}

/// As [`sum`], of the squares.
#[inline(always)]
fn sum_of_squares(row: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let chunks = row.chunks_exact(LANES);
    let mut rest = 0.0_f32;
    for &value in chunks.remainder() {
        rest = value.mul_add(value, rest);
    }
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = value.mul_add(value, *lane);
        }
    }
    lanes.iter().sum::<f32>() + rest
}

/// Source: Abramowitz, Stegun, Handbook of Mathematical Functions, 7.1.26 (erf, error below 1.5·10⁻⁷).
#[inline(always)]
fn gelu_one(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / z.mul_add(0.327_591_1, 1.0);
    let series =
        t.mul_add(1.061_405_4, -1.453_152_1).mul_add(t, 1.421_413_8).mul_add(t, -0.284_496_72).mul_add(t, 0.254_829_6)
            * t;
    let tail = 0.5 * series * exp(-z * z); // Φ(−|x|)
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
        let mut values = [-8.0, -1.0, 0.0, 0.5, 1.0, 3.0];
        gelu(&mut values);
        let want = [-4.976e-15, -0.158_655_26, 0.0, 0.345_731_23, 0.841_344_8, 2.995_950_3];
        for (value, want) in values.iter().zip(want) {
            assert!((value - want).abs() < 1e-6, "{value} {want}");
        }
    }

    #[test]
    fn softmax_and_norm_do_what_they_say() {
        let mut shares = [0.0, 2.0_f32.ln(), -1e9, 5.0, 5.0, 5.0];
        softmax(&mut shares, 3);
        for (share, want) in shares.iter().zip([1.0, 2.0, 0.0, 1.0, 1.0, 1.0]) {
            assert!((share - want / 3.0).abs() < 1e-6);
        }
        let mut rows = [1.0, 2.0, 0.0, 4.0];
        add_norm(&mut rows, &[0.0, 1.0, 0.0, 0.0], &[1.0, 2.0], &[0.0, 1.0], 0.0);
        for (value, want) in rows.iter().zip([-1.0, 3.0, -1.0, 3.0]) {
            assert!((value - want).abs() < 1e-6);
        }
    }
}
