//! The memory at rest and questions over it. Synchronous; knows no device and no network.
//!
//! `model` (a crate of its own) holds the nouns, `table` and `segment` the bytes, `manifest` and `commit` what is true,
//! `snapshot` one version held open, `search` the questions.

#![deny(unsafe_code)]

pub mod analyze;
mod commit;
mod delete;
mod dot;
pub mod error;
mod export;
pub mod files;
pub mod manifest;
#[allow(unsafe_code)]
mod map;
mod merge;
pub mod search;
pub mod segment;
mod snapshot;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod verify;

pub use commit::{Commit, Committed};
pub use delete::{DeletePlan, PlannedDelete, commit_delete, plan_delete};
pub use error::{Error, Kind, Result};
pub use export::export_canonical;
pub use files::{Files, Folder, PutNew};
pub use manifest::EmbedderIdentity;
pub use model;
pub use segment::{Field, Segment};
pub use snapshot::{Address, Snapshot};
pub use store::Store;
pub use verify::{Problem, Report, verify};
