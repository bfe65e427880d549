//! A store: a folder of numbered manifests and finished segments, read and written through one seam.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::commit::{self, Commit, Committed};
use crate::error::{Error, Result};
use crate::files::{Files, Folder};
use crate::manifest;
use crate::merge;
use crate::segment::{Place, Segment};
use crate::snapshot::Snapshot;

/// How often a reader starts again because merges removed what it was about to open.
const TRIES_MAX: u32 = 50;

/// An open store. Cheap to share; every method may be called from many threads.
pub struct Store {
    place: Place,
    newest: Mutex<Arc<Snapshot>>,
    /// One merge at a time in this process.
    merging: Mutex<()>,
}

impl Store {
    /// Opens the store in a folder.
    ///
    /// # Errors
    /// [`Error::NoStore`] where there is none; else as [`Store::snapshot`].
    pub fn open(path: &Path) -> Result<Self> {
        if !path.join(manifest::FOLDER).is_dir() {
            return Err(Error::NoStore { path: path.to_owned() });
        }
        Self::with_files(Arc::new(Folder::new(path)), path)
    }

    /// Opens the store in a folder, or makes an empty one there.
    ///
    /// # Errors
    /// [`Error::Io`]; else as [`Store::snapshot`].
    pub fn open_or_create(path: &Path) -> Result<Self> {
        Folder::create(path, manifest::FOLDER)?;
        Self::open(path)
    }

    /// Opens a store on any place for files; `path` names it in messages.
    ///
    /// # Errors
    /// As [`Store::snapshot`].
    pub fn with_files(files: Arc<dyn Files>, path: &Path) -> Result<Self> {
        let place = Place { files, root: path.to_owned() };
        let newest = Mutex::new(Arc::new(Snapshot::empty()));
        let store = Self { place, newest, merging: Mutex::new(()) };
        if store.snapshot()?.version() == 0
            && let Some(segment) = merge::bereft(&store.place)?.first()
        {
            let reason = format!("it is empty, yet segment {segment} was published: restore it from a backup");
            return Err(Error::Corrupt { path: store.place.path(manifest::FOLDER), reason });
        }
        Ok(store)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.place.root
    }

    /// The newest version. Costs one failed look-up where nothing is new, else the reading of what is new.
    ///
    /// # Errors
    /// [`Error::Corrupt`] naming the file, [`Error::Incompatible`], [`Error::Io`].
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        for _ in 0..TRIES_MAX {
            let before = Arc::clone(&self.newest());
            let number = manifest::newest_after(&*self.place.files, before.version())?;
            if number <= before.version() {
                return Ok(before);
            }
            match self.open_version(number, &before) {
                Ok(snapshot) => return Ok(self.offer(Arc::new(snapshot))),
                Err(error) if !is_absent(&error) => return Err(self.name_in_full(error)),
                Err(error) if manifest::newest(&*self.place.files)? == number => {
                    return Err(self.missing(error));
                }
                Err(_) => {} // A merge removed a segment of this version; there is a newer one.
            }
        }
        Err(Error::Contended { tries: TRIES_MAX })
    }

    fn open_version(&self, number: u64, before: &Snapshot) -> Result<Snapshot> {
        let manifest = manifest::read(&self.place.files, number)?;
        let named = |segment: &Arc<Segment>| (segment.name().to_owned(), Arc::clone(segment));
        let opened: HashMap<String, Arc<Segment>> = before.segments().iter().map(named).collect();
        Snapshot::open(&self.place, manifest, &opened, Some(before))
    }

    /// Keeps the newer of two versions that threads opened at the same time.
    fn offer(&self, opened: Arc<Snapshot>) -> Arc<Snapshot> {
        let mut newest = self.newest();
        if opened.version() > newest.version() {
            *newest = opened;
        }
        Arc::clone(&newest)
    }

    fn newest(&self) -> MutexGuard<'_, Arc<Snapshot>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file that the newest version names and that is gone: no merge did that.
    fn missing(&self, error: Error) -> Error {
        match error {
            Error::Io { path, .. } => {
                Error::Corrupt { path, reason: "the manifest names it, and it is gone".to_owned() }
            }
            other => other,
        }
    }

    /// Manifests know their path within the store alone.
    fn name_in_full(&self, error: Error) -> Error {
        let full = |path: PathBuf| self.place.in_full(&path);
        match error {
            Error::Corrupt { path, reason } => Error::Corrupt { path: full(path), reason },
            Error::Incompatible { path, found, oldest, newest } => {
                Error::Incompatible { path: full(path), found, oldest, newest }
            }
            other => other,
        }
    }

    /// Writes and publishes source versions, and merges small segments where there are many.
    ///
    /// When this returns, the version is durable. On [`Error::Io`] whether it was published is unknown;
    /// the same commit again then says [`Error::Conflict`] if it was.
    ///
    /// # Errors
    /// [`Error::Conflict`] where another writer changed one of the sources, [`Error::Contended`],
    /// [`Error::Embedder`], [`Error::Invariant`], [`Error::Io`].
    pub fn commit(&self, mut commit: Commit) -> Result<Committed> {
        let committed = commit::commit(self, &mut commit)?;
        let merging = self.merging.try_lock();
        if merging.is_ok()
            && let Err(error) = merge::maintain(self, &commit)
        {
            // The commit itself stands; the next one tries again.
            tracing::warn!(%error, "segments not merged");
        }
        Ok(committed)
    }

    /// Removes folders that writers left behind when they ended without publishing; returns how many.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn sweep_orphans(&self) -> Result<u32> {
        merge::sweep_orphans(&self.place)
    }

    /// Where its files are.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }
}

/// Whether an error says that a file is not there.
pub(crate) fn is_absent(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}
