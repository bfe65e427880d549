//! Token vectors into one vector: CLS or mean, and unit length.

use crate::{Error, Result};

/// How the vectors of a text's tokens become the text's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// The mean of all tokens.
    Mean,
    /// The first token.
    Cls,
}

impl Pooling {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
        }
    }

    /// Pools `tokens` `[n, dim]` into `out` `[dim]`; `n` above 0.
    pub(super) fn pool(self, tokens: &[f32], out: &mut [f32]) {
        match self {
            Self::Cls => out.copy_from_slice(&tokens[..out.len()]),
            Self::Mean => {
                out.fill(0.0);
                for token in tokens.chunks_exact(out.len()) {
                    out.iter_mut().zip(token).for_each(|(sum, value)| *sum += value);
                }
                let share = 1.0 / (tokens.len() / out.len()) as f32;
                out.iter_mut().for_each(|value| *value *= share);
            }
        }
    }
}

/// Scales a vector to unit length.
///
/// # Errors
/// [`Error::Compute`] when it has no direction or a value that is not finite.
pub(super) fn to_unit(vector: &mut [f32]) -> Result<()> {
    let square: f64 = vector.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    let length = square.sqrt();
    if !length.is_finite() || length < 1e-12 {
        let reason = format!("a vector of length {length} has no direction");
        return Err(Error::Compute { reason });
    }
    vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_cls_differ_as_they_should() {
        let tokens = [1.0, 2.0, 3.0, 6.0];
        let mut out = [0.0; 2];
        Pooling::Mean.pool(&tokens, &mut out);
        assert_eq!(out, [2.0, 4.0]);
        Pooling::Cls.pool(&tokens, &mut out);
        assert_eq!(out, [1.0, 2.0]);
    }

    #[test]
    fn no_direction_is_an_error() {
        assert!(to_unit(&mut [0.0, 0.0]).is_err());
        assert!(to_unit(&mut [f32::NAN, 1.0]).is_err());
        let mut vector = [3.0, 4.0];
        to_unit(&mut vector).expect("length 5");
        assert_eq!(vector, [0.6, 0.8]);
    }
}
