//! What can go wrong in this crate, as values.

use std::path::PathBuf;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the device layer or of a model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of a model folder is missing or unreadable.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A model folder holds something this build cannot use.
    #[error("model file {} is not usable: {reason}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A text is longer than the model's window; callers split first with `Embedder::fit`.
    #[error("text {text_idx} has {n_tokens} tokens, the window holds {window}")]
    TooLong {
        /// Which text of the call.
        text_idx: usize,
        /// Its tokens, special ones included.
        n_tokens: usize,
        /// The window, special tokens included.
        window: usize,
    },
    /// A device that this build or machine lacks.
    #[error("device {device} is not available: {reason}")]
    Missing {
        /// The device as asked for.
        device: String,
        /// Why not, and what is there.
        reason: String,
    },
    /// A card's memory does not hold what a call needs.
    #[error("device {device} has no room for {bytes} bytes more")]
    OutOfMemory {
        /// The card.
        device: String,
        /// What was asked of it, in bytes.
        bytes: u64,
    },
    /// Input that breaks a stated precondition (shape, NaN).
    #[error("invalid input: {reason}")]
    Invalid {
        /// Which precondition, where.
        reason: String,
    },
    /// The numeric library failed.
    #[error("computation failed: {reason}")]
    Compute {
        /// The library's own words.
        reason: String,
    },
}
