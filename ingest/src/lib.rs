//! The offline stage: archives in, committed segments out.
//!
//! Two doors, one corridor: [`import`] takes files and folders, [`add_source`] and [`append_turns`]
//! take one source. `pipeline` shows the corridor on one page; each room has a file or folder:
//! `read` (a crate: an archive's drafts), `version` (a draft against the store), `split` and
//! `annotate` (sentences), `embed`, `chunk` and `edges`, `store` (the commit). [`models`] fetches what
//! embeds. Knows no questions and no network but the model's.

#![forbid(unsafe_code)]

mod annotate;
mod chunk;
mod edges;
mod embed;
mod error;
mod ledger;
mod mirror;
pub mod models;
mod pipeline;
mod prepare;
mod progress;
mod report;
mod session;
mod settings;
mod single;
mod split;
mod store;
mod survey;
mod version;

pub use ::read::{Mapping, Secrets, names as reader_names};
pub use error::{Error, Result};
pub use pipeline::import;
pub use progress::{Progress, Silent};
pub use report::{Deleted, Format, Imported, LISTED_MAX, Refused, Report, Seconds, Skipped, Totals, Unchanged};
pub use settings::{ChunkSettings, ImportSettings, Tools};
pub use single::{Added, Body, NewSource, NewTurn, add_source, append_turns};
pub use survey::{Author, Survey};
