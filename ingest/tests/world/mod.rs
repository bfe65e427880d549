//! A store, an archive folder and the tools to bring one into the other, for every test here.

#![allow(clippy::unwrap_used, dead_code, reason = "tests; each uses its part of the world")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use index::Store;
use index::model::{Scope, SourceEntry, SourceId, Timestamp};
use ingest::{ImportSettings, Progress, Report, Silent, Tools, import};

/// A store, an archive and the tools to bring one into the other.
pub struct World {
    pub folder: tempfile::TempDir,
    pub store: Store,
    pub embedder: Box<dyn kernels::Embedder>,
    pub backend: Box<dyn kernels::Backend>,
}

pub fn noon() -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000)
}

/// A folder of real files, if it is there.
pub fn data(name: &str) -> Option<PathBuf> {
    let root = std::env::var("STRATA_DATA").unwrap_or_else(|_| "../../shared/data".to_owned());
    let path = Path::new(&root).join(name);
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: no {} (set STRATA_DATA)", path.display());
    None
}

impl World {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        let store = Store::open_or_create(&folder.path().join("store")).unwrap();
        Self { folder, store, embedder: kernels::hashed(), backend: kernels::open("cpu").unwrap() }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("in")
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn tools(&self) -> Tools<'_> {
        Tools { embedder: self.embedder.as_ref(), backend: self.backend.as_ref(), now: &noon }
    }

    pub fn import(&self, change: impl FnOnce(&mut ImportSettings)) -> Report {
        self.import_paths(&[self.path()], change)
    }

    pub fn import_paths(&self, paths: &[PathBuf], change: impl FnOnce(&mut ImportSettings)) -> Report {
        self.import_heard(paths, &Silent, change)
    }

    pub fn import_heard(
        &self,
        paths: &[PathBuf],
        progress: &dyn Progress,
        change: impl FnOnce(&mut ImportSettings),
    ) -> Report {
        let mut settings = ImportSettings::standard(Scope::local());
        settings.collection = Some("c".to_owned());
        change(&mut settings);
        let cancel = AtomicBool::new(false);
        import(&self.store, &self.tools(), &settings, paths, progress, &cancel).unwrap()
    }

    pub fn newest(&self, reader: &str, key: &str) -> SourceEntry {
        let snapshot = self.store.snapshot().unwrap();
        let id = SourceId::of("local", reader, key);
        snapshot.entry(snapshot.newest(&id).unwrap()).unwrap()
    }

    pub fn texts(&self, key: &str) -> Vec<String> {
        let entry = self.newest("chat", key);
        entry.turns.iter().map(|turn| turn.span.slice(&entry.text).unwrap().to_owned()).collect()
    }
}

pub fn message(id: &str, minute: u32, text: &str) -> String {
    format!(
        "{{\"conversation\":\"deck\",\"id\":\"{id}\",\"author\":\"Mira\",\"time\":\"2024-01-01T10:{minute:02}:00Z\",\"text\":\"{text}\"}}\n"
    )
}
