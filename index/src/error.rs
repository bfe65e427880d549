//! What can go wrong with a memory at rest, as values with their place.

use std::path::PathBuf;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What a caller would do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request is wrong; asking again as it is will fail again.
    Invalid,
    /// What was named is not there.
    NotFound,
    /// Someone else changed what this write had read; read again and retry.
    Conflict,
    /// The store's bytes are not what they were when written.
    Corrupt,
    /// The disk or the machine refused; it may work later.
    Unavailable,
    /// Our own mistake.
    Internal,
}

/// An error of the store or of a question to it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A text that is not the scope, id or time it should be.
    #[error(transparent)]
    Model(#[from] model::Error),
    /// A request outside its bounds.
    #[error("{what} {given} is out of range: {allowed}")]
    OutOfRange {
        /// The argument.
        what: &'static str,
        /// As given.
        given: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// Something named that this store does not hold for this caller.
    #[error("no {noun} {given}")]
    NotFound {
        /// What kind of thing.
        noun: &'static str,
        /// Its name as given.
        given: String,
    },
    /// A folder that is no store.
    #[error("no store at {}", path.display())]
    NoStore {
        /// The folder.
        path: PathBuf,
    },
    /// A value that breaks an invariant of the model: our own mistake on write.
    #[error("{noun} {id} breaks an invariant: {reason}")]
    Invariant {
        /// What kind of thing.
        noun: &'static str,
        /// Which one.
        id: String,
        /// Which invariant.
        reason: String,
    },
    /// The store was written with another embedder than the one at hand.
    #[error("the store holds vectors of {found}, this command embeds with {asked}")]
    Embedder {
        /// The store's embedder.
        found: String,
        /// The one at hand.
        asked: String,
    },
    /// Another writer changed what this write had read.
    #[error("source {key} was changed by another writer (version {found}, this write expected {expected})")]
    Conflict {
        /// The source.
        key: String,
        /// Its version now.
        found: u32,
        /// The version this write was planned against.
        expected: u32,
    },
    /// Every try to publish met another writer.
    #[error("gave up publishing after {tries} tries: other writers were always faster")]
    Contended {
        /// How often it was tried.
        tries: u32,
    },
    /// Bytes that are not what was written.
    #[error("{} is corrupt: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What does not hold.
        reason: String,
    },
    /// A format that this build does not read.
    #[error("{} has format {found}, this build reads {oldest} to {newest}", path.display())]
    Incompatible {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The oldest this build reads.
        oldest: u32,
        /// The newest this build reads.
        newest: u32,
    },
    /// The disk refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The verb: read, write, list, remove, sync.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// An engine (Parquet, tantivy, usearch) refused our own input.
    #[error("{engine} failed on {}: {reason}", path.display())]
    Engine {
        /// Which one.
        engine: &'static str,
        /// On which file.
        path: PathBuf,
        /// In its own words.
        reason: String,
    },
}

impl Error {
    /// What a caller would do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Model(_) | Self::OutOfRange { .. } => Kind::Invalid,
            Self::Embedder { .. } | Self::Incompatible { .. } => Kind::Invalid,
            Self::NotFound { .. } | Self::NoStore { .. } => Kind::NotFound,
            Self::Conflict { .. } | Self::Contended { .. } => Kind::Conflict,
            Self::Corrupt { .. } => Kind::Corrupt,
            Self::Io { .. } => Kind::Unavailable,
            Self::Invariant { .. } | Self::Engine { .. } => Kind::Internal,
        }
    }
}
