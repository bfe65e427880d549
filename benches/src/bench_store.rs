//! A temporary store and the components that fill it and ask it, through the same doors as the program.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use index::model::{Scope, ScopeSet, Timestamp};
use index::search::{Answer, Query, Unit};
use index::{Snapshot, Store};
use ingest::{ImportSettings, Report, Silent, Tools};
use kernels::{Backend, Embedder, Role};

/// Any failure of a measurement.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A store with what is needed to write to it and ask it.
pub struct BenchStore {
    /// The store.
    pub store: Store,
    embedder: Box<dyn Embedder>,
    backend: Box<dyn Backend>,
    scopes: ScopeSet,
}

impl BenchStore {
    /// Opens or makes the store at `folder`, with the embedder called `name`.
    ///
    /// # Errors
    /// When the model is not on this machine or the folder cannot be used.
    pub fn open(folder: &Path, name: &str) -> Result<Self> {
        Ok(Self {
            store: Store::open_or_create(folder)?,
            embedder: ingest::models::open(name, "cpu")?,
            backend: kernels::open("cpu")?,
            scopes: ScopeSet::grant(Scope::local()),
        })
    }

    /// Calls `work` with the components that write.
    pub fn with_tools<T>(&self, work: impl FnOnce(&Tools<'_>) -> T) -> T {
        work(&Tools { embedder: self.embedder.as_ref(), backend: self.backend.as_ref(), now: &clock })
    }

    /// Imports `path`, by the reader called `format` or by each file's own.
    ///
    /// # Errors
    /// What the import says.
    pub fn import(&self, path: PathBuf, format: Option<String>) -> Result<Report> {
        let mut settings = ImportSettings::standard(Scope::local());
        settings.format = format;
        let never = AtomicBool::new(false);
        let report =
            self.with_tools(|tools| ingest::import(&self.store, tools, &settings, &[path], &Silent, &never))?;
        Ok(report)
    }

    /// The embedder's identity, as the manifest would say it.
    pub fn embedder(&self) -> String {
        let id = self.embedder.id();
        format!("{} ({}, {:.12})", id.name, id.dim, id.digest)
    }

    /// Asks `text` for the `k` best of `unit`, of `source` alone or of all.
    ///
    /// # Errors
    /// What the embedder or the store says.
    pub fn ask(&self, snapshot: &Snapshot, text: &str, unit: Unit, k: u32, source: Option<&str>) -> Result<Answer> {
        let names: Vec<String> = source.into_iter().map(str::to_owned).collect();
        let query = Query {
            text: text.to_owned(),
            vector: kernels::embed_whole(self.embedder.as_ref(), text, Role::Query)?,
            unit,
            k,
            sources: index::search::resolve_sources(snapshot, &self.scopes, &names)?,
        };
        Ok(index::search::search(snapshot, &self.scopes, &query)?)
    }
}

/// The wall clock: the report's seconds by stage are taken from it.
fn clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
