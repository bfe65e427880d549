//! Moments, in microseconds, and how they are written.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, SecondsFormat, Utc};

use crate::error::{Error, Result};

/// Microseconds since 1970-01-01 UTC. Time is an argument everywhere; only `main` reads the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Takes microseconds since 1970-01-01 UTC.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970-01-01 UTC.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The calendar view of this moment, or `None` past year 262,000.
    pub fn to_datetime(self) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp_micros(self.0)
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(at: DateTime<Utc>) -> Self {
        Self(at.timestamp_micros())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_datetime() {
            Some(at) => f.write_str(&at.to_rfc3339_opts(SecondsFormat::AutoSi, true)),
            None => write!(f, "{} µs", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    /// Reads RFC 3339 with its offset; a time without an offset is refused, not guessed.
    fn from_str(text: &str) -> Result<Self> {
        DateTime::parse_from_rfc3339(text)
            .map(|at| Self::from(at.with_timezone(&Utc)))
            .map_err(|_| Error::Time { given: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_kept_as_moments() {
        let at: Timestamp = "2024-03-01T12:00:00+02:00".parse().unwrap();
        assert_eq!(at.to_string(), "2024-03-01T10:00:00Z");
        assert!("2024-03-01 12:00".parse::<Timestamp>().is_err());
    }
}
