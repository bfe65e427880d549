//! The files of the repository as values, so that a rule can be tried on files that do not exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lexer;

/// One file of the repository.
pub struct File {
    /// Its path from the root, with forward slashes.
    pub path: String,
    /// Its text; empty where it is not UTF-8.
    pub text: String,
}

impl File {
    /// Whether it is Rust source.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The code without comments, strings and test modules, line for line as in the file.
    pub fn product_code(&self) -> String {
        let code = lexer::code(&self.text);
        if is_test_path(&self.path) {
            return "\n".repeat(code.lines().count());
        }
        lexer::without_test_modules(&code)
    }
}

/// Whether `path` holds only tests or measurements.
pub fn is_test_path(path: &str) -> bool {
    path.starts_with("tests/")
        || path.starts_with("benches/")
        || path.contains("/tests/")
        || path.ends_with("/tests.rs")
}

/// A broken rule and its place.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

impl Finding {
    /// What is wrong at `line` (from 1) of `path`.
    pub fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

/// All files of a repository.
pub struct Tree {
    /// In the order of their paths.
    pub files: Vec<File>,
}

impl Tree {
    /// The files git knows or would add; without git, all but build outputs.
    pub fn read(root: &Path) -> Self {
        let paths = listed_by_git(root).unwrap_or_else(|| walked(root));
        assert!(paths.len() > 10, "found only {} files under {}", paths.len(), root.display());
        let mut files = Vec::new();
        for path in paths {
            // A file deleted but not yet committed is listed and not there.
            let Ok(bytes) = fs::read(root.join(&path)) else {
                continue;
            };
            let text = String::from_utf8(bytes).unwrap_or_default();
            files.push(File { path, text });
        }
        Self { files }
    }

    /// A tree of made-up files.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let file = |&(path, text): &(&str, &str)| File { path: path.to_owned(), text: text.to_owned() };
        Self { files: files.iter().map(file).collect() }
    }

    /// The Rust sources.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// The files whose name ends in `suffix`.
    pub fn ending(&self, suffix: &'static str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.path.ends_with(suffix))
    }

    /// Whether a file or folder of that path exists.
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty() || self.files.iter().any(|f| f.path == path || f.path.starts_with(&folder))
    }
}

fn listed_by_git(root: &Path) -> Option<BTreeSet<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()?;
    let listing = String::from_utf8(output.stdout).ok()?;
    let paths: BTreeSet<String> = listing.split('\0').filter(|p| !p.is_empty()).map(str::to_owned).collect();
    (output.status.success() && !paths.is_empty()).then_some(paths)
}

fn walked(root: &Path) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(root.join(&folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let path = folder.join(&name);
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !["target", ".git", ".venv"].iter().any(|skip| name == *skip) {
                folders.push(path);
            } else if !is_folder {
                paths.insert(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    paths
}
