//! What can go wrong while an archive is taken in, as values with their place.

use std::path::PathBuf;

use index::Kind;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error that ends an import; what ends only one file is in the report instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store refused.
    #[error(transparent)]
    Index(#[from] index::Error),
    /// The model or the device refused.
    #[error(transparent)]
    Kernels(#[from] kernels::Error),
    /// None of the paths to import exists.
    #[error("nothing to import: {} does not exist", paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", "))]
    MissingPaths {
        /// The paths as given.
        paths: Vec<PathBuf>,
    },
    /// A format that no reader has.
    #[error("no reader is called {given:?}")]
    UnknownFormat {
        /// As given.
        given: String,
        /// The names of the readers.
        known: String,
    },
    /// A source that was deleted is not taken in again unless asked for.
    #[error("source {key} was deleted")]
    Deleted {
        /// The source's key.
        key: String,
    },
    /// A request that breaks a rule.
    #[error("{what}: {reason}")]
    Invalid {
        /// The argument.
        what: &'static str,
        /// The rule and what broke it.
        reason: String,
    },
    /// The disk refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The verb: read, write, list.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The import was cancelled; what was finished before is committed.
    #[error("cancelled")]
    Cancelled,
    /// A model that is not on this machine.
    #[error("model {name} is not at {}", folder.display())]
    ModelAbsent {
        /// Its name.
        name: String,
        /// Where it would be.
        folder: PathBuf,
    },
    /// A name that is neither a known model nor a folder.
    #[error("no model is called {name:?}; there are: {known}, or the folder of a model")]
    ModelUnknown {
        /// As given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A model file that is not what it should be.
    #[error("{} has SHA-256 {found}, expected {expected}", path.display())]
    ModelDigest {
        /// The file.
        path: PathBuf,
        /// Its digest.
        found: String,
        /// The digest of the model as published.
        expected: String,
    },
    /// No place that has the model answered.
    #[error("cannot fetch model {name}: {}", tries.join("; "))]
    Pull {
        /// Its name.
        name: String,
        /// What was tried, each with what came of it.
        tries: Vec<String>,
    },
}

impl Error {
    /// What a caller would do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Index(error) => error.kind(),
            Self::Kernels(kernels::Error::Invalid { .. } | kernels::Error::Compute { .. }) => Kind::Internal,
            Self::Kernels(_) | Self::Io { .. } | Self::Pull { .. } | Self::Cancelled => Kind::Unavailable,
            Self::MissingPaths { .. } | Self::ModelAbsent { .. } => Kind::NotFound,
            Self::UnknownFormat { .. } | Self::Invalid { .. } | Self::ModelUnknown { .. } => Kind::Invalid,
            Self::Deleted { .. } => Kind::Conflict,
            Self::ModelDigest { .. } => Kind::Corrupt,
        }
    }

    /// The way out, where there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Index(index::Error::Embedder { .. }) => {
                Some("import with the model that the store was written with (--model), or into a new store".to_owned())
            }
            Self::Deleted { .. } => Some("import it again with --undelete".to_owned()),
            Self::MissingPaths { .. } => {
                Some("name files or folders that exist; check that their disk is mounted".to_owned())
            }
            Self::UnknownFormat { known, .. } => {
                Some(format!("give --format one of {known}, or leave it out: each file decides"))
            }
            Self::ModelAbsent { name, .. } => Some(format!("fetch it: strata models pull {name}")),
            Self::ModelDigest { .. } => {
                Some("remove the folder and fetch the model again: strata models pull".to_owned())
            }
            Self::Pull { name, .. } => Some(format!(
                "try again when a network is there: strata models pull {name}; or name the folder of a model with --model"
            )),
            _ => None,
        }
    }
}
