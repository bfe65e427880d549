//! What can go wrong between a caller and a memory, as values.

use crate::identity::Verb;

/// Shorthand for results of this crate's library part.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a call, whether it came over the network or from a command of the same process.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store or the question to it.
    #[error(transparent)]
    Index(#[from] index::Error),
    /// Taking something in.
    #[error(transparent)]
    Ingest(#[from] ingest::Error),
    /// The embedder or the device.
    #[error(transparent)]
    Kernels(#[from] kernels::Error),
    /// No token, or one that nobody holds.
    #[error("{reason}")]
    Unauthenticated {
        /// What is missing; never says which part was nearly right.
        reason: &'static str,
    },
    /// The caller's token lacks a verb.
    #[error("{principal} may not {verb} here")]
    Verb {
        /// Who asked.
        principal: String,
        /// What they lack.
        verb: Verb,
    },
    /// The caller asked for a scope that is not theirs, whether or not it exists.
    #[error("scope {given} is not yours")]
    Scope {
        /// As given.
        given: String,
    },
    /// The caller holds several scopes and named none.
    #[error("name one of your scopes: {granted}")]
    ScopeMissing {
        /// The scopes of the token.
        granted: String,
    },
    /// A field of the request is outside its bounds.
    #[error("{field}: {reason}")]
    Argument {
        /// The field of the request.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A page token of another request, another server run or an older listing.
    #[error("page_token: {reason}")]
    Page {
        /// Why it is no good.
        reason: &'static str,
    },
    /// The store has not reached the version that was asked for.
    #[error("manifest version {asked} is not reached, the newest is {newest}")]
    Behind {
        /// What was asked for.
        asked: u64,
        /// What is there.
        newest: u64,
    },
    /// A plan was made on another version, and what it read has changed since.
    #[error("the plan was made on manifest version {base}, the store is at {newest} and differs")]
    Stale {
        /// The plan's version.
        base: u64,
        /// The store's version.
        newest: u64,
    },
    /// A request id came back with another content.
    #[error("request_id {request_id} was used for another request")]
    Reused {
        /// The id.
        request_id: String,
    },
    /// The store's embedder is not the one asked for.
    #[error("the store holds vectors of {found}, asked was {asked}")]
    Embedder {
        /// What the manifest says.
        found: String,
        /// What the command said.
        asked: String,
    },
    /// Too much is being asked at once.
    #[error("the server is busy")]
    Busy,
    /// A thread of ours is gone.
    #[error("{what} stopped")]
    Stopped {
        /// Which part.
        what: &'static str,
    },
}

impl Error {
    /// A field of a request outside its bounds.
    pub fn argument(field: &'static str, reason: impl Into<String>) -> Self {
        Self::Argument { field, reason: reason.into() }
    }
}

impl From<index::model::Error> for Error {
    fn from(error: index::model::Error) -> Self {
        Self::Index(error.into())
    }
}
