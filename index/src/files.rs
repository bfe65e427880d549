//! The seam through which all of a store's files go: create if absent, read, list, remove, sync.
//!
//! Knows bytes and paths relative to the store. Does not know what the bytes mean.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::manifest::FileDigest;
use crate::map;

mod faulty;

pub use faulty::{Fault, FaultyFiles, Moment, Op};

/// What names of files still being written start with: they are nobody's, and may be left by a crash.
pub(crate) const TEMP_PREFIX: &str = ".tmp-";

/// Whether `put_new` was the one that made the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutNew {
    /// The file is there with the bytes that were given.
    Created,
    /// A file of that name was there before; it is untouched.
    Exists,
}

/// A lock that is held until this is dropped, or until the process ends.
pub type Lock = Box<dyn Send + Sync>;

/// A place for a store's files. Paths are relative to the store, their parts joined by `/`.
///
/// A file has all its bytes or is not there. It lasts past a loss of power once `sync` of its folder
/// has returned.
pub trait Files: Send + Sync {
    /// Writes a new file, and its folders where missing; its bytes are durable when this returns.
    ///
    /// # Errors
    /// [`Error::Io`]; whether the file is there is then unknown.
    fn put_new(&self, path: &str, bytes: &[u8]) -> Result<PutNew>;

    /// The bytes of a file: cheap to clone, and valid even after the file is removed.
    ///
    /// # Errors
    /// [`Error::Io`], with `NotFound` where there is no such file.
    fn read(&self, path: &str) -> Result<Bytes>;

    /// The length and digest of a file, without holding it.
    ///
    /// # Errors
    /// As [`Files::read`].
    fn digest(&self, path: &str) -> Result<FileDigest> {
        self.read(path).map(|bytes| FileDigest::of(&bytes))
    }

    /// The names in a folder, in byte order; those of folders end in `/`. Empty where there is no folder.
    ///
    /// # Errors
    /// [`Error::Io`].
    fn list(&self, folder: &str) -> Result<Vec<String>>;

    /// Removes a file or an empty folder; one that is not there is no error.
    ///
    /// # Errors
    /// [`Error::Io`].
    fn remove(&self, path: &str) -> Result<()>;

    /// Makes the names in a folder, and the folder's own name, last.
    ///
    /// # Errors
    /// [`Error::Io`]; what of it lasts is then unknown, and trying again proves nothing.
    fn sync(&self, folder: &str) -> Result<()>;

    /// Takes the lock of that name, or `None` while someone else holds it. The end of a process frees it.
    ///
    /// # Errors
    /// [`Error::Io`].
    fn lock(&self, path: &str) -> Result<Option<Lock>>;
}

/// Removes a folder with all that is in it.
pub(crate) fn remove_folder(files: &dyn Files, folder: &str) -> Result<()> {
    for name in files.list(folder)? {
        let path = format!("{folder}/{name}");
        match path.strip_suffix('/') {
            Some(inner) => remove_folder(files, inner)?,
            None => files.remove(&path)?,
        }
    }
    files.remove(folder)
}

/// A folder of the local file system.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The files below `root`, which need not be there yet.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Makes the folder `root` with one folder in it, where they are not there yet.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(root: &Path, inner: &str) -> Result<()> {
        let failed = |source| Error::Io { action: "write", path: root.to_owned(), source };
        fs::create_dir_all(root.join(inner)).map_err(failed)?;
        sync_folder(root).map_err(failed)?;
        if let Some(parent) = root.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            // Without leave to read the parent its names cannot be synced; the store itself is whole.
            drop(sync_folder(parent));
        }
        Ok(())
    }

    fn io(&self, action: &'static str, path: &str) -> impl FnOnce(io::Error) -> Error + use<> {
        let path = self.root.join(path);
        move |source| Error::Io { action, path, source }
    }
}

impl Files for Folder {
    fn put_new(&self, path: &str, bytes: &[u8]) -> Result<PutNew> {
        let target = self.root.join(path);
        let folder = target.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(self.io("write", path))?;
        let temp = folder.join(format!("{TEMP_PREFIX}{}", Uuid::new_v4().simple()));
        // A hard link fails if the name is taken; a rename would replace what is there.
        let linked = write_synced(&temp, bytes).and_then(|()| fs::hard_link(&temp, &target));
        let removed = fs::remove_file(&temp);
        match linked {
            Ok(()) => removed.map(|()| PutNew::Created).map_err(self.io("write", path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(PutNew::Exists),
            Err(error) => Err(self.io("write", path)(error)),
        }
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        File::open(self.root.join(path)).and_then(|file| map::map(&file)).map_err(self.io("read", path))
    }

    fn digest(&self, path: &str) -> Result<FileDigest> {
        // Read, not mapped: the pages of a map that were looked at count as the process's own.
        File::open(self.root.join(path)).and_then(FileDigest::read).map_err(self.io("read", path))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let entries = match fs::read_dir(self.root.join(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.io("list", folder)(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(self.io("list", folder))?;
            let is_folder = entry.file_type().map_err(self.io("list", folder))?.is_dir();
            let name = entry.file_name().to_string_lossy().into_owned();
            names.push(if is_folder { name + "/" } else { name });
        }
        names.sort();
        Ok(names)
    }

    fn remove(&self, path: &str) -> Result<()> {
        let target = self.root.join(path);
        let removed = if target.is_dir() { fs::remove_dir(&target) } else { fs::remove_file(&target) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.io("remove", path)(error)),
            _ => Ok(()),
        }
    }

    fn sync(&self, folder: &str) -> Result<()> {
        // A folder's own name lasts only once its parent is synced too.
        let mut inner = self.root.join(folder);
        loop {
            sync_folder(&inner).map_err(self.io("sync", folder))?;
            if inner == self.root || !inner.pop() {
                return Ok(());
            }
        }
    }

    fn lock(&self, path: &str) -> Result<Option<Lock>> {
        let target = self.root.join(path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(self.io("lock", path))?;
        }
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).open(&target).map_err(self.io("lock", path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(self.io("lock", path)(error)),
        }
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes the names in one folder last. Systems without such a call keep names with the files.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        (root, folder)
    }

    #[test]
    fn a_taken_name_keeps_its_bytes() {
        let (_root, files) = folder();
        assert_eq!(files.put_new("a/b", b"one").unwrap(), PutNew::Created);
        assert_eq!(files.put_new("a/b", b"two").unwrap(), PutNew::Exists);
        assert_eq!(&files.read("a/b").unwrap()[..], b"one");
        assert_eq!(files.list("a").unwrap(), ["b"]);
        files.sync("a").unwrap();
    }

    #[test]
    fn bytes_outlive_their_file() {
        let (_root, files) = folder();
        files.put_new("a/b/c", b"one").unwrap();
        let bytes = files.read("a/b/c").unwrap();
        remove_folder(&files, "a").unwrap();
        assert_eq!(&bytes[..], b"one");
        assert!(files.list("").unwrap().is_empty());
        assert!(files.read("a/b/c").is_err());
    }

    #[test]
    fn a_lock_has_one_holder() {
        let (_root, files) = folder();
        let lock = files.lock("locks/a").unwrap();
        assert!(lock.is_some());
        assert!(files.lock("locks/a").unwrap().is_none());
        drop(lock);
        assert!(files.lock("locks/a").unwrap().is_some());
    }
}
