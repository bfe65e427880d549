//! What the measuring programs share: arguments, machine description, percentiles, one JSON object a result.
//!
//! Knows no measurement. Each program is one file beside this crate and says what its numbers mean.

#![forbid(unsafe_code)]

pub mod bench_store;
pub mod locomo;
pub mod machine;
pub mod planted;
pub mod random;
pub mod sentences;

use std::time::Duration;

/// The value after `--name`, or `None` where it was not given.
pub fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)
}

/// Whether `--name` was given.
pub fn flag(name: &str) -> bool {
    std::env::args().any(|argument| argument == name)
}

/// Refuses to measure a build that is not optimised.
///
/// # Errors
/// A sentence that says how to run it.
pub fn require_release() -> Result<(), String> {
    if cfg!(debug_assertions) {
        return Err("this build is not optimised: run it with `cargo run --release`".to_owned());
    }
    Ok(())
}

/// The time below which the share `p` of `times` lies, in milliseconds; 0 of no times.
///
/// `p` is in `[0, 1]`; the nearest rank is taken, so that every answer is a time that was measured.
pub fn percentile_ms(times: &[Duration], p: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    #[expect(clippy::cast_precision_loss, reason = "counts of measurements are small")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`p` is in [0, 1]")]
    let rank = (p * last as f64).ceil() as usize;
    rounded(sorted[rank.min(last)].as_secs_f64() * 1e3, 3)
}

/// `value` with `n_digits` digits after the point.
pub fn rounded(value: f64, n_digits: i32) -> f64 {
    let scale = 10_f64.powi(n_digits);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_times() {
        let times: Vec<Duration> = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile_ms(&times, 0.5), 51.0);
        assert_eq!(percentile_ms(&times, 0.99), 100.0);
        assert_eq!(percentile_ms(&times, 0.0), 1.0);
        assert_eq!(percentile_ms(&[], 0.5), 0.0);
    }
}
