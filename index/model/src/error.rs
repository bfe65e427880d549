//! What can be wrong with a noun that is written as text.

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A text that is not what it should name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A scope that breaks a rule.
    #[error("scope {given:?} is not usable: {rule}")]
    Scope {
        /// As given.
        given: String,
        /// The rule it breaks.
        rule: &'static str,
    },
    /// An id that is not 32 hexadecimal digits.
    #[error("{given:?} is not a {noun} id: 32 hexadecimal digits")]
    Id {
        /// What kind of id.
        noun: &'static str,
        /// As given.
        given: String,
    },
    /// A time that is not RFC 3339 with an offset.
    #[error("{given:?} is not a time: RFC 3339 with an offset, like 2024-03-01T12:00:00Z")]
    Time {
        /// As given.
        given: String,
    },
}
