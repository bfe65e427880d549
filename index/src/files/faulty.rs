//! A place for files in memory that records every operation and fails where it is told to.
//!
//! Serves the crash tests: what of a store is left when the machine stops at the n-th operation.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::{Files, Lock, PutNew, TEMP_PREFIX};
use crate::error::{Error, Result};

/// When an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before it had any effect.
    Before,
    /// After its effect: the answer is lost.
    After,
    /// Amid it: of a new file, half the bytes are left under a temporary name.
    Amid,
}

/// Which operation fails, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The operation, counted from 0.
    pub at: usize,
    /// When within it.
    pub moment: Moment,
    /// Whether all later operations fail too, as after a crash.
    pub stops: bool,
}

/// One recorded operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// `put_new`, `read`, `list`, `remove`, `sync` or `lock`.
    pub verb: &'static str,
    /// On what.
    pub path: String,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, Bytes>,
    /// Names that were made, or taken away with these bytes, since their folder was last synced.
    made: BTreeSet<String>,
    removed: BTreeMap<String, Bytes>,
    held: HashSet<String>,
    ops: Vec<Op>,
    fault: Option<Fault>,
    stopped: bool,
}

/// Files in memory that fail on demand.
#[derive(Default)]
pub struct FaultyFiles {
    state: Arc<Mutex<State>>,
}

impl FaultyFiles {
    /// Sets the operation that fails next, and counts operations from 0 again.
    pub fn set_fault(&self, fault: Option<Fault>) {
        let mut state = self.state();
        state.fault = fault;
        state.ops.clear();
        state.stopped = false;
    }

    /// The operations since the fault was set.
    pub fn ops(&self) -> Vec<Op> {
        self.state().ops.clone()
    }

    /// What a machine finds that lost power now.
    ///
    /// `keep` says of each name that was made or removed without a sync whether that had reached the
    /// disk. Locks are free again.
    pub fn after_crash(&self, mut keep: impl FnMut(&str) -> bool) -> Self {
        let state = self.state();
        let mut files = state.files.clone();
        for name in &state.made {
            if !keep(name) {
                files.remove(name);
            }
        }
        for (name, bytes) in &state.removed {
            if !keep(name) {
                files.insert(name.clone(), bytes.clone());
            }
        }
        let state = State { files, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Every file with its bytes, in the order of the names.
    pub fn dump(&self) -> Vec<(String, Bytes)> {
        self.state().files.iter().map(|(name, bytes)| (name.clone(), bytes.clone())).collect()
    }

    /// Puts bytes in the place of a file's own, as a failing disk would.
    pub fn overwrite(&self, path: &str, bytes: Bytes) {
        self.state().files.insert(path.to_owned(), bytes);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an operation, does it, and fails where the fault says so.
    fn run<T>(
        &self,
        verb: &'static str,
        path: &str,
        effect: impl FnOnce(&mut State) -> Result<T>,
        amid: impl FnOnce(&mut State),
    ) -> Result<T> {
        let mut state = self.state();
        let refused = || failure(verb, path, io::ErrorKind::Other);
        if state.stopped {
            return Err(refused());
        }
        let at = state.ops.len();
        state.ops.push(Op { verb, path: path.to_owned() });
        let Some(fault) = state.fault.filter(|fault| fault.at == at) else {
            return effect(&mut state);
        };
        match fault.moment {
            Moment::Before => {}
            Moment::Amid => amid(&mut state),
            Moment::After => drop(effect(&mut state)),
        }
        state.stopped = fault.stops;
        Err(refused())
    }
}

fn failure(action: &'static str, path: &str, kind: io::ErrorKind) -> Error {
    Error::Io { action, path: PathBuf::from(path), source: kind.into() }
}

struct Held {
    state: Arc<Mutex<State>>,
    path: String,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.held.remove(&self.path);
    }
}

fn create(state: &mut State, path: &str, bytes: &[u8]) {
    state.files.insert(path.to_owned(), Bytes::copy_from_slice(bytes));
    if state.removed.remove(path).is_none() {
        state.made.insert(path.to_owned());
    }
}

impl Files for FaultyFiles {
    fn put_new(&self, path: &str, bytes: &[u8]) -> Result<PutNew> {
        let effect = |state: &mut State| {
            if state.files.contains_key(path) {
                return Ok(PutNew::Exists);
            }
            create(state, path, bytes);
            Ok(PutNew::Created)
        };
        let amid = |state: &mut State| {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let temp = format!("{folder}/{TEMP_PREFIX}{:032x}", state.ops.len());
            create(state, &temp, &bytes[..bytes.len() / 2]);
        };
        self.run("put_new", path, effect, amid)
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        let effect = |state: &mut State| {
            let bytes = state.files.get(path).cloned();
            bytes.ok_or_else(|| failure("read", path, io::ErrorKind::NotFound))
        };
        self.run("read", path, effect, |_| {})
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let effect = |state: &mut State| {
            let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            let inner = state.files.keys().filter_map(|path| path.strip_prefix(&prefix));
            let names: BTreeSet<String> = inner
                .map(|rest| match rest.split_once('/') {
                    Some((name, _)) => format!("{name}/"),
                    None => rest.to_owned(),
                })
                .collect();
            Ok(names.into_iter().collect())
        };
        self.run("list", folder, effect, |_| {})
    }

    fn remove(&self, path: &str) -> Result<()> {
        let effect = |state: &mut State| {
            if let Some(bytes) = state.files.remove(path)
                && !state.made.remove(path)
            {
                state.removed.insert(path.to_owned(), bytes);
            }
            Ok(())
        };
        self.run("remove", path, effect, |_| {})
    }

    fn sync(&self, folder: &str) -> Result<()> {
        let effect = |state: &mut State| {
            let direct = |path: &str| path.rsplit_once('/').map_or("", |(parent, _)| parent) == folder;
            state.made.retain(|path| !direct(path));
            state.removed.retain(|path, _| !direct(path));
            Ok(())
        };
        self.run("sync", folder, effect, |_| {})
    }

    fn lock(&self, path: &str) -> Result<Option<Lock>> {
        let effect = |state: &mut State| Ok(state.held.insert(path.to_owned()));
        let taken = self.run("lock", path, effect, |_| {})?;
        let state = Arc::clone(&self.state);
        Ok(taken.then(|| Box::new(Held { state, path: path.to_owned() }) as Lock))
    }
}
