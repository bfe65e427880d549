//! Why a JSON input ends before its end, and the line for the report.

use std::io;

use crate::decode::{Trouble, too_large};
use crate::files::unreadable;

/// Why nothing more can be pulled; what was pulled before stands.
#[derive(Debug)]
pub(crate) enum Bad {
    /// The input could not be read.
    Io(io::Error),
    /// The input ends within the value or list that begins at `offset`.
    Cut {
        /// Where.
        offset: u64,
    },
    /// Something else stands where JSON wants `wanted`.
    Syntax {
        /// Where.
        offset: u64,
        /// What should stand there.
        wanted: &'static str,
    },
    /// The value has ended and something stands behind it.
    Behind {
        /// Where.
        offset: u64,
    },
    /// A value that must lie in memory is over the bound.
    Large {
        /// Where.
        offset: u64,
        /// How many bytes it has.
        n_bytes: u64,
        /// The bound.
        bytes_max: u64,
    },
}

impl From<io::Error> for Bad {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Bad {
    /// The line for the report.
    pub fn trouble(&self) -> Trouble {
        const HINT: &str = "export or copy the file again: what stands before this place went in";
        match self {
            Self::Io(error) => unreadable(error),
            Self::Cut { offset } => {
                Trouble::new(format!("byte {offset}"), "the file ends inside what begins here", HINT)
            }
            Self::Syntax { offset, wanted } => {
                Trouble::new(format!("byte {offset}"), format!("not JSON: {wanted} should stand here"), HINT)
            }
            Self::Behind { offset } => {
                let hint = "if it is more of the export, make it a file of its own";
                Trouble::new(format!("byte {offset}"), "what stands behind the end of the JSON is not read", hint)
            }
            Self::Large { offset, n_bytes, bytes_max } => too_large(&format!("byte {offset}"), *n_bytes, *bytes_max),
        }
    }
}
