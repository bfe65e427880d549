//! The ledger of an import: a line of JSON for every source and for everything that was left out.
//!
//! `event` is `file` (what a file was read as), `stored`, `unchanged`, `refused`, `removed`, `skipped`, or with a
//! rehearsal `would_store`. Lines are added to a file that is there. A source's line is written when the segment that
//! holds it is committed, so the ledger never says more than the store holds.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{Error, Result};

/// A line of the ledger.
#[derive(Debug, Serialize)]
pub(crate) struct Line<'a, T: Serialize> {
    /// What happened.
    pub event: &'static str,
    /// To what.
    #[serde(flatten)]
    pub what: &'a T,
}

/// What a file was read as.
#[derive(Debug, Serialize)]
pub(crate) struct Read<'a> {
    /// The file.
    pub file: &'a str,
    /// The reader's name.
    pub format: &'a str,
}

/// The ledger under way, or none.
pub(crate) struct Ledger {
    open: Option<(PathBuf, BufWriter<File>)>,
}

impl Ledger {
    /// Opens the file that lines are added to; `None` keeps none.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(Self { open: None }) };
        let opened = OpenOptions::new().create(true).append(true).open(path);
        let file = opened.map_err(|source| failed(path, source))?;
        Ok(Self { open: Some((path.to_owned(), BufWriter::new(file))) })
    }

    /// Adds one line.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn note<T: Serialize>(&mut self, event: &'static str, what: &T) -> Result<()> {
        let Some((path, file)) = &mut self.open else { return Ok(()) };
        let written = serde_json::to_writer(&mut *file, &Line { event, what }).map_err(std::io::Error::from);
        written.and_then(|()| file.write_all(b"\n")).map_err(|source| failed(path, source))
    }

    /// Hands the lines so far to the system.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn flush(&mut self) -> Result<()> {
        let Some((path, file)) = &mut self.open else { return Ok(()) };
        file.flush().map_err(|source| failed(path, source))
    }
}

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::Io { action: "write", path: path.to_owned(), source }
}
