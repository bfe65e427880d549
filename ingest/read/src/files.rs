//! Finds the files of an import, in one fixed order.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::archive::{DENSE_HINT, Dense};
use crate::decode::Trouble;

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// The collection's label it belongs to.
    pub label: String,
    /// Its path within the import argument, `/`-separated; its own name where the argument is the file.
    pub relative: String,
    /// The key of a source that has no id of its own.
    pub key: String,
    /// Its bytes.
    pub n_bytes: u64,
    /// The number of the import's argument it was found under.
    pub argument: usize,
}

/// What was found under the import's arguments.
#[derive(Debug, Default)]
pub struct Listing {
    /// Files in reading order: arguments as given, each sorted by name.
    pub files: Vec<Found>,
    /// What could not be looked at: the path, the path within the import (empty for all of it), why.
    pub troubles: Vec<(PathBuf, String, Trouble)>,
    /// The labels of the arguments that exist.
    pub labels: Vec<String>,
    /// Arguments that are there and hold no file, with their labels.
    pub empty: Vec<(PathBuf, String)>,
    /// Arguments that do not exist.
    pub missing: Vec<PathBuf>,
    /// Hidden files and folders that were left out; the store's own folder counts as one.
    pub n_hidden: u64,
}

/// Lists the files under `paths`. Links are followed once; a loop is a trouble, not an end. The folder
/// of the store `store` is left out: its files are no one's archive.
pub fn list(paths: &[PathBuf], collection: Option<&str>, store: &Path) -> Listing {
    let mut listing = Listing::default();
    let store = std::fs::canonicalize(store).unwrap_or_else(|_| store.to_path_buf());
    for (argument, path) in paths.iter().enumerate() {
        match std::fs::canonicalize(path) {
            Ok(canonical) if canonical == store => {
                let trouble = Trouble::new("", "the store itself", "name the archive to import");
                listing.troubles.push((path.clone(), String::new(), trouble));
            }
            Ok(canonical) => {
                let before = (listing.files.len(), listing.troubles.len());
                let label = list_one(path, &canonical, collection, &store, &mut listing);
                listing.files[before.0..].iter_mut().for_each(|file| file.argument = argument);
                if before == (listing.files.len(), listing.troubles.len()) {
                    listing.empty.push((path.clone(), label));
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => listing.missing.push(path.clone()),
            Err(error) => listing.troubles.push((path.clone(), String::new(), unreadable(&error))),
        }
    }
    // One file named twice, by itself and by its folder, is read once.
    let mut met = HashSet::new();
    listing.files.retain(|file| {
        let canonical = std::fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone());
        met.insert((file.key.clone(), canonical))
    });
    listing
}

/// Lists one argument; returns its label.
fn list_one(path: &Path, canonical: &Path, collection: Option<&str>, store: &Path, listing: &mut Listing) -> String {
    let canonical_label = canonical.to_string_lossy().into_owned();
    let label = collection.map_or_else(|| canonical_label.clone(), str::to_owned);
    if !listing.labels.contains(&label) {
        listing.labels.push(label.clone());
    }
    if !canonical.is_dir() {
        let name = canonical.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let key = match collection {
            Some(label) => format!("{label}/{name}"),
            // The same key as when the folder around it is imported.
            None => canonical_label,
        };
        push(path.to_path_buf(), label.clone(), name, key, listing);
        return label;
    }
    let mut walk = WalkDir::new(path).follow_links(true).sort_by_file_name().into_iter();
    while let Some(step) = walk.next() {
        let entry = match step {
            Ok(entry) => entry,
            Err(error) => {
                let at = error.path().unwrap_or(path).to_path_buf();
                listing.troubles.push((at.clone(), relative_name(&at, path), no_step(&error)));
                continue;
            }
        };
        let is_hidden = entry.depth() > 0 && entry.file_name().to_string_lossy().starts_with('.');
        if is_hidden || is_store(&entry, store) {
            listing.n_hidden += 1;
            if entry.file_type().is_dir() {
                walk.skip_current_dir();
            }
            continue;
        }
        if entry.file_type().is_dir() {
            continue;
        }
        let relative = relative_name(entry.path(), path);
        let key = format!("{label}/{relative}");
        push(entry.path().to_path_buf(), label.clone(), relative, key, listing);
    }
    label
}

fn is_store(entry: &DirEntry, store: &Path) -> bool {
    entry.file_type().is_dir() && std::fs::canonicalize(entry.path()).is_ok_and(|canonical| canonical == *store)
}

/// Why the walk could not take a step.
fn no_step(error: &walkdir::Error) -> Trouble {
    match error.loop_ancestor() {
        Some(ancestor) => Trouble::new(
            "",
            format!("a link that leads back to {}", ancestor.display()),
            "remove the link; what it leads to is read once",
        ),
        None => error.io_error().map_or_else(|| Trouble::new("", error.to_string(), ""), unreadable),
    }
}

fn push(path: PathBuf, label: String, relative: String, key: String, listing: &mut Listing) {
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() => {
            listing.files.push(Found { n_bytes: metadata.len(), path, label, relative, key, argument: 0 })
        }
        Ok(_) => {
            let trouble = Trouble::new("", "neither a file nor a folder", "leave it out");
            listing.troubles.push((path, relative, trouble));
        }
        Err(error) => listing.troubles.push((path, relative, unreadable(&error))),
    }
}

fn relative_name(path: &Path, root: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<String> =
        relative.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    parts.join("/")
}

/// A file or folder that the system refuses to open, or that breaks off while it is read.
pub(crate) fn unreadable(error: &std::io::Error) -> Trouble {
    if let Some(dense) = error.get_ref().and_then(|inner| inner.downcast_ref::<Dense>()) {
        return Trouble::new("", dense.to_string(), DENSE_HINT);
    }
    let hint = match error.kind() {
        std::io::ErrorKind::PermissionDenied => "allow this user to read it, then import it again",
        std::io::ErrorKind::NotFound => "a link or file whose target is gone: remove it or restore the target",
        _ => "import it again once it can be read",
    };
    Trouble::new("", format!("cannot be read: {error}"), hint)
}
