//! A part of a segment that is decoded when it is first wanted.
//!
//! Its bytes were checked when the segment was opened; until then they stay in the file, and an
//! import into a large store holds no vectors that it does not compare.

use std::sync::OnceLock;

use crate::error::Result;

/// A value that its first reader makes.
pub(super) struct Lazy<T> {
    made: OnceLock<T>,
    make: Box<dyn Fn() -> Result<T> + Send + Sync>,
}

impl<T> Lazy<T> {
    /// A value that `make` will make, perhaps twice where two threads want it first.
    pub(super) fn new(make: impl Fn() -> Result<T> + Send + Sync + 'static) -> Self {
        Self { made: OnceLock::new(), make: Box::new(make) }
    }

    /// The value.
    ///
    /// # Errors
    /// Those of making it; the next reader tries again.
    pub(super) fn get(&self) -> Result<&T> {
        match self.made.get() {
            Some(made) => Ok(made),
            None => {
                let made = (self.make)()?;
                Ok(self.made.get_or_init(|| made))
            }
        }
    }

    /// Hands the value to `take`, and keeps it only where another reader has made it already.
    ///
    /// # Errors
    /// Those of making it.
    pub(super) fn lend<R>(&self, take: impl FnOnce(&T) -> R) -> Result<R> {
        match self.made.get() {
            Some(made) => Ok(take(made)),
            None => Ok(take(&(self.make)()?)),
        }
    }
}
