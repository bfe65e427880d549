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

    /// How many of a text's `n` tokens, from the first, are summed. The sum points where the mean does.
    pub(super) fn n_tokens(self, n: usize) -> usize {
        match self {
            Self::Cls => n.min(1),
            Self::Mean => n,
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
    fn mean_takes_all_and_cls_the_first() {
        assert_eq!((Pooling::Mean.n_tokens(3), Pooling::Cls.n_tokens(3)), (3, 1));
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
