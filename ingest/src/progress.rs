//! What an import says while it runs.

use std::path::Path;

/// Hears how far an import is. Called from several threads; every number is an increment.
pub trait Progress: Sync {
    /// The files to read were counted.
    fn found(&self, n_files: u64, n_bytes: u64);
    /// A file was read (or skipped).
    fn file(&self, path: &Path, n_bytes: u64);
    /// So many more sentences have vectors; `n_cached` of them had one before.
    fn embedded(&self, n_sentences: u64, n_cached: u64);
    /// A stage begins: `read`, `embed`, `link`, `chunk`, `store`.
    fn stage(&self, name: &'static str);
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn found(&self, _n_files: u64, _n_bytes: u64) {}
    fn file(&self, _path: &Path, _n_bytes: u64) {}
    fn embedded(&self, _n_sentences: u64, _n_cached: u64) {}
    fn stage(&self, _name: &'static str) {}
}
