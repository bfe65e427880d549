//! The west door: from the paths of an import to drafts of its sources.
//!
//! Knows files, archives and formats; no store, no model, no network. A crate of its own, so that a reader builds, is
//! tested and is fuzzed in seconds.
//!
//! | room | does |
//! |---|---|
//! | `seam` | what a reader takes and gives: [`Reader`], [`Draft`], [`Event`] |
//! | `files` | the files under the paths of an import, in one fixed order |
//! | `intake` | opens archives, joins what belongs together, chooses the reader |
//! | `archive` | ZIP, tar, gzip and zstd as streams within bounds |
//! | `charset` | which encoding a text is in that is not UTF-8 |
//! | `decode` | bytes to the text that is kept |
//! | `json` | JSON of any length, pulled value by value |
//! | `mapping` | where everything stands in someone's JSON, for the reader `mapped` |
//! | `formats` | the readers, a file each |
//! | `secrets` | what is done with passwords, keys and card numbers |
//! | `me` | which turns are those of the person whose archive it is |
//! | `fuzzing` | what the fuzz targets do, in tests and under the fuzzer only |

#![forbid(unsafe_code)]

mod archive;
mod charset;
mod decode;
mod files;
mod formats;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod intake;
mod json;
mod mapping;
mod me;
mod seam;
mod secrets;

pub use archive::Part;
pub use decode::Trouble;
pub use files::{Found, Listing, list};
pub use formats::{markdown_options, may_have_keys, names, reader};
pub use intake::{Item, Met, Take, meet};
pub use mapping::Mapping;
pub use me::me;
pub use seam::{DerivedIds, Draft, DraftBody, DraftTurn, Emit, Event, Form, Head, Input, Reader, Result, Stopped};
pub use secrets::{Secret, SecretCounts, SecretKind, Secrets, apply as apply_secrets, find as find_secrets};
