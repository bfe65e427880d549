//! How far an import is, on stderr: a bar where a person watches, nothing where a file does.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use ingest::Progress;

/// The bar of an import: bytes of files read, sentences a second, time left.
pub struct Bar {
    bar: ProgressBar,
    n_files: AtomicU64,
    n_files_read: AtomicU64,
    n_sentences: AtomicU64,
}

impl Bar {
    /// A bar on stderr; hidden where stderr is no terminal.
    pub fn new() -> Self {
        let bar = if !std::io::stderr().is_terminal() { ProgressBar::hidden() } else { ProgressBar::new(0) };
        let style = ProgressStyle::with_template("{prefix:7} {wide_bar} {bytes}/{total_bytes}  {msg}  {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, n_files: AtomicU64::new(0), n_files_read: AtomicU64::new(0), n_sentences: AtomicU64::new(0) }
    }

    /// Takes the bar off the screen.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn say(&self) {
        let n_sentences = self.n_sentences.load(Ordering::Relaxed);
        let millis = self.bar.elapsed().as_millis().max(1);
        let a_second = u128::from(n_sentences) * 1_000 / millis;
        self.bar.set_message(format!(
            "{}/{} files, {a_second} sentences/s",
            self.n_files_read.load(Ordering::Relaxed),
            self.n_files.load(Ordering::Relaxed),
        ));
    }
}

impl Default for Bar {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress for Bar {
    fn found(&self, n_files: u64, n_bytes: u64) {
        self.n_files.fetch_add(n_files, Ordering::Relaxed);
        self.bar.inc_length(n_bytes);
        self.say();
    }

    fn file(&self, _path: &Path, n_bytes: u64) {
        self.n_files_read.fetch_add(1, Ordering::Relaxed);
        self.bar.inc(n_bytes);
        self.say();
    }

    fn embedded(&self, n_sentences: u64, _n_cached: u64) {
        self.n_sentences.fetch_add(n_sentences, Ordering::Relaxed);
        self.say();
    }

    fn stage(&self, name: &'static str) {
        self.bar.set_prefix(name);
    }
}
