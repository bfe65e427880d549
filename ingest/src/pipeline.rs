//! The corridor on one page: read → split → embed → link → chunk → store, segment by segment.
//!
//! Drafts are gathered until a segment is full; then the segment is written and forgotten. So memory
//! is bounded by one segment and the largest source, however long the archive is.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use index::model::{Source, SourceEntry, SourceId, SourceState, TextDigest};
use index::{Commit, Snapshot, Store};
use rayon::prelude::*;

use crate::decode::Trouble;
use crate::error::{Error, Result};
use crate::files::{self, Found};
use crate::prepare::{Prepared, prepare};
use crate::progress::Progress;
use crate::read::{self, Draft, DraftBody, Event, Input};
use crate::report::{Deleted, Imported, Refused, Report, Skipped, Unchanged, share};
use crate::settings::{ImportSettings, Tools};
use crate::store::{self, Write, seconds_between};
use crate::version::{Origin, Outcome, Rights, State, against};

/// Text that is gathered before it is split, all cores at once.
const WAVE_BYTES: usize = 8 << 20;
/// A segment is also full once it holds so much text.
const SEGMENT_BYTES: usize = 32 << 20;

/// Imports files and folders into a store. Importing the same twice changes nothing.
///
/// Each full segment is committed by itself: what was committed before a crash, an error or a
/// cancellation stays, and the same import goes on from there. What is wrong with single files is in
/// the report, not an error.
///
/// # Errors
/// [`Error::MissingPaths`] where no path exists; [`Error::UnknownFormat`]; [`index::Error::Embedder`]
/// before any work; the store's, the model's and the device's own.
pub fn import(
    store: &Store,
    tools: &Tools<'_>,
    settings: &ImportSettings,
    paths: &[PathBuf],
    progress: &dyn Progress,
    cancel: &AtomicBool,
) -> Result<Report> {
    settings.check()?;
    let snapshot = store.snapshot()?;
    store::check_embedder(&snapshot, tools.embedder.id())?;
    let mut run = Run::new(store, tools, settings, snapshot, progress, cancel);
    let listing = run.list(paths)?;
    progress.stage("read");
    let outcome = run.files(&listing.files).and_then(|()| run.finish(&listing));
    match outcome {
        Ok(()) => {}
        Err(Error::Cancelled) => run.report.cancelled = true,
        Err(error) => return Err(error),
    }
    run.report.manifest_version = run.snapshot.version();
    run.report.unknown_share = share(run.report.totals.unknown, run.report.totals.tokens);
    Ok(run.report)
}

/// An import under way.
struct Run<'a> {
    store: &'a Store,
    tools: &'a Tools<'a>,
    settings: &'a ImportSettings,
    progress: &'a dyn Progress,
    cancel: &'a AtomicBool,
    snapshot: Arc<Snapshot>,
    report: Report,
    /// Drafts that are not yet compared and split.
    wave: Vec<(Origin, Draft)>,
    wave_bytes: usize,
    wave_ids: HashSet<SourceId>,
    /// The segment under way.
    batch: Vec<Prepared>,
    batch_ids: HashSet<SourceId>,
    batch_sentences: u64,
    batch_bytes: usize,
    /// Every source this import has met: what a mirror keeps.
    seen: HashSet<SourceId>,
    /// Paths within the import that could not be read: a mirror leaves their sources alone.
    unread: Vec<String>,
}

impl<'a> Run<'a> {
    fn new(
        store: &'a Store,
        tools: &'a Tools<'a>,
        settings: &'a ImportSettings,
        snapshot: Arc<Snapshot>,
        progress: &'a dyn Progress,
        cancel: &'a AtomicBool,
    ) -> Self {
        let report = Report { dry_run: settings.dry_run, ..Report::default() };
        Self {
            store,
            tools,
            settings,
            progress,
            cancel,
            snapshot,
            report,
            wave: Vec::new(),
            wave_bytes: 0,
            wave_ids: HashSet::new(),
            batch: Vec::new(),
            batch_ids: HashSet::new(),
            batch_sentences: 0,
            batch_bytes: 0,
            seen: HashSet::new(),
            unread: Vec::new(),
        }
    }

    fn rights(&self) -> Rights {
        Rights { mirror: self.settings.mirror, undelete: self.settings.undelete }
    }

    fn list(&mut self, paths: &[PathBuf]) -> Result<files::Listing> {
        let listing = files::list(paths, self.settings.collection.as_deref());
        if !paths.is_empty() && listing.missing.len() == paths.len() {
            return Err(Error::MissingPaths { paths: listing.missing });
        }
        for path in &listing.missing {
            self.skip(&path.display().to_string(), Trouble::new("", "does not exist", "check the path"));
        }
        for (path, relative, trouble) in &listing.troubles {
            self.unread.push(relative.clone());
            self.skip(&path.display().to_string(), trouble.clone());
        }
        let n_bytes = listing.files.iter().map(|file| file.n_bytes).sum();
        self.report.totals.files = listing.files.len() as u64;
        self.report.totals.hidden = listing.n_hidden;
        self.report.totals.bytes = n_bytes;
        self.progress.found(listing.files.len() as u64, n_bytes);
        Ok(listing)
    }

    fn skip(&mut self, file: &str, trouble: Trouble) {
        let Trouble { place, reason, hint } = trouble;
        self.report.skipped.push(Skipped { file: file.to_owned(), place, reason, hint });
    }

    fn check_cancel(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }

    fn files(&mut self, files: &[Found]) -> Result<()> {
        for file in files {
            self.check_cancel()?;
            self.file(file)?;
            self.progress.file(&file.path, file.n_bytes);
        }
        self.settle()?;
        self.flush()
    }

    fn file(&mut self, file: &Found) -> Result<()> {
        let shown = file.path.display().to_string();
        let chosen = match &self.settings.format {
            Some(format) => Ok(read::reader(format)),
            None => read::choose(&file.path, &file.relative).map(Some),
        };
        let reader = match chosen {
            Ok(Some(reader)) => reader,
            // The settings were checked: a forced format has its reader.
            Ok(None) => return Ok(()),
            Err(trouble) => {
                self.unread.push(file.relative.clone());
                self.skip(&shown, trouble);
                return Ok(());
            }
        };
        let input = Input { path: &file.path, name: &file.relative, source_bytes_max: self.settings.source_bytes_max };
        let mut started = (self.tools.now)();
        let read = reader.read(&input, &mut |event| {
            self.report.seconds.read += seconds_between(started, (self.tools.now)());
            match event {
                Event::Trouble(trouble) => {
                    self.unread.push(file.relative.clone());
                    self.skip(&shown, trouble);
                }
                Event::Draft(draft) => {
                    let is_named_by_path = draft.key.is_none();
                    let origin = Origin {
                        file: shown.clone(),
                        scope: self.settings.scope.clone(),
                        reader: reader.name().to_owned(),
                        key: draft.key.clone().unwrap_or_else(|| file.key.clone()),
                        collection: file.label.clone(),
                        path: file.relative.clone(),
                    };
                    if is_named_by_path && self.seen.contains(&origin.id()) {
                        // Two arguments under one label hold a file of one name: two sources, not two versions.
                        self.skip(&shown, same_key(&origin.key));
                    } else {
                        self.gather(origin, draft)?;
                    }
                }
            }
            started = (self.tools.now)();
            self.check_cancel()
        });
        self.report.seconds.read += seconds_between(started, (self.tools.now)());
        read
    }

    fn gather(&mut self, origin: Origin, draft: Draft) -> Result<()> {
        let id = origin.id();
        if self.batch_ids.contains(&id) || self.wave_ids.contains(&id) {
            // A second export of one conversation is a version of its own: the first goes in before it.
            self.settle()?;
            self.flush()?;
        }
        self.seen.insert(id);
        self.wave_ids.insert(id);
        self.wave_bytes += text_bytes(&draft);
        self.wave.push((origin, draft));
        if self.wave_bytes >= WAVE_BYTES {
            self.settle()?;
        }
        Ok(())
    }

    /// Compares what was gathered with the store and splits what is new, all cores at once.
    fn settle(&mut self) -> Result<()> {
        let wave = std::mem::take(&mut self.wave);
        self.wave_bytes = 0;
        self.wave_ids.clear();
        let started = (self.tools.now)();
        let mut fresh: Vec<(Origin, Draft, State)> = Vec::new();
        for (origin, draft) in wave {
            match against(&self.snapshot, &origin, &draft, self.rights(), started)? {
                Outcome::Next(state) => fresh.push((origin, draft, *state)),
                Outcome::Unchanged(source) => {
                    self.report.unchanged.push(Unchanged { file: origin.file, key: source.key });
                }
                Outcome::Refused => self.report.refused.push(Refused {
                    source: origin.id().to_string(),
                    file: origin.file,
                    key: origin.key,
                    hint: "it was deleted; import it again with --undelete".to_owned(),
                }),
            }
        }
        let compared = (self.tools.now)();
        self.report.seconds.read += seconds_between(started, compared);
        let embedder = self.tools.embedder;
        let prepared: Vec<Prepared> =
            fresh.into_par_iter().map(|(origin, draft, state)| prepare(origin, draft, state, embedder)).collect();
        self.report.seconds.split += seconds_between(compared, (self.tools.now)());
        for prepared in prepared {
            self.batch_ids.insert(prepared.entry.source.id);
            self.batch_sentences += prepared.entry.sentences.len() as u64;
            self.batch_bytes += prepared.entry.text.len();
            self.batch.push(prepared);
            let is_full = self.batch_sentences >= u64::from(self.settings.segment_sentences_max);
            if is_full || self.batch_bytes >= SEGMENT_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes the segment under way and forgets it.
    fn flush(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_ids.clear();
        self.batch_sentences = 0;
        self.batch_bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        if self.settings.dry_run {
            batch.iter().for_each(|prepared| self.count(prepared));
            return Ok(());
        }
        self.check_cancel()?;
        let write = Write {
            store: self.store,
            tools: self.tools,
            chunk: &self.settings.chunk,
            rights: self.rights(),
            actor: &self.settings.actor,
            action: "import",
            live: false,
            progress: self.progress,
            cancel: self.cancel,
        };
        let written = store::write(&write, &self.snapshot, batch, &mut self.report.seconds)?;
        self.report.totals.embedded += written.counts.n_embedded;
        self.report.totals.cached += written.counts.n_cached;
        self.report.totals.segments += 1;
        written.batch.iter().for_each(|prepared| self.count(prepared));
        self.snapshot = self.store.snapshot()?;
        tracing::info!(version = written.manifest_version, n_sources = written.batch.len(), "segment committed");
        self.progress.stage("read");
        Ok(())
    }

    fn count(&mut self, prepared: &Prepared) {
        let SourceEntry { source, turns, sentences, chunks, edges, .. } = &prepared.entry;
        let totals = &mut self.report.totals;
        totals.sources += 1;
        totals.turns += turns.len() as u64;
        totals.sentences += sentences.len() as u64;
        totals.chunks += chunks.len() as u64;
        totals.edges += edges.len() as u64;
        totals.tokens += source.n_tokens;
        totals.unknown += source.n_unknown;
        self.report.imported.push(Imported {
            file: prepared.origin.file.clone(),
            source: source.id.to_string(),
            key: source.key.clone(),
            title: source.title.clone(),
            reader: source.reader.clone(),
            kind: source.kind.as_str().to_owned(),
            version: source.version,
            turns: turns.len() as u64,
            sentences: sentences.len() as u64,
            chunks: chunks.len() as u64,
            tokens: source.n_tokens,
            unknown_share: share(source.n_unknown, source.n_tokens),
            replaced: source.n_replaced,
        });
    }

    /// Removes what a mirrored import no longer has.
    fn finish(&mut self, listing: &files::Listing) -> Result<()> {
        if !self.settings.mirror {
            return Ok(());
        }
        let gone = self.gone(&listing.labels);
        for source in &gone {
            self.report.deleted.push(Deleted { source: source.id.to_string(), key: source.key.clone() });
        }
        if gone.is_empty() || self.settings.dry_run {
            return Ok(());
        }
        let at = (self.tools.now)();
        let entries = gone.into_iter().map(|source| tombstone(source, at)).collect();
        self.store.commit(Commit {
            actor: self.settings.actor.clone(),
            action: "mirror".to_owned(),
            reason: "missing from a mirrored import".to_owned(),
            at,
            embedder: store::identity(self.tools.embedder.id()),
            settings: store::settings(&self.settings.chunk),
            live: false,
            entries,
        })?;
        self.snapshot = self.store.snapshot()?;
        Ok(())
    }

    fn gone(&self, labels: &[String]) -> Vec<Source> {
        let unread = |source: &Source| {
            self.unread.iter().any(|path| {
                let below = source.path.strip_prefix(path.as_str());
                path.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let mut gone = Vec::new();
        for (number, segment) in (0..).zip(self.snapshot.segments()) {
            for (row, source) in (0..).zip(segment.sources()) {
                let is_gone = source.scope == self.settings.scope
                    && source.state == SourceState::Live
                    && labels.contains(&source.collection)
                    && !self.seen.contains(&source.id)
                    && self.snapshot.is_current(number, row);
                if is_gone && !unread(source) {
                    gone.push(source.clone());
                }
            }
        }
        gone
    }
}

fn same_key(key: &str) -> Trouble {
    Trouble::new(
        "",
        format!("another file of this import is {key} too"),
        "import the two folders under different --collection labels",
    )
}

fn text_bytes(draft: &Draft) -> usize {
    match &draft.body {
        DraftBody::Text(text) => text.len(),
        DraftBody::Turns(turns) => turns.iter().map(|turn| turn.text.len()).sum(),
    }
}

/// The version that hides a source: no text, no rows.
fn tombstone(source: Source, at: index::model::Timestamp) -> SourceEntry {
    SourceEntry {
        source: Source {
            version: source.version.saturating_add(1),
            state: SourceState::Deleted,
            digest: TextDigest::of(""),
            recorded_at: at,
            n_tokens: 0,
            n_unknown: 0,
            n_replaced: 0,
            ..source
        },
        text: String::new(),
        turns: Vec::new(),
        sentences: Vec::new(),
        vectors: Vec::new(),
        chunks: Vec::new(),
        edges: Vec::new(),
    }
}
