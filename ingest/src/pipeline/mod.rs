//! The corridor on one page: read → split → embed → link → chunk → store, segment by segment.
//!
//! Drafts are gathered until a segment is full; then the segment is written and forgotten. So memory
//! is bounded by one segment and the largest source, however long the archive is.

mod reading;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use index::model::{Source, SourceEntry, SourceId};
use index::{Commit, Snapshot, Store};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::mirror::{self, Part, Parts};
use crate::prepare::{Prepared, prepare};
use crate::progress::Progress;
use crate::report::{self, Deleted, Format, Imported, Refused, Report, Skipped, Unchanged, share};
use crate::settings::{ImportSettings, Tools};
use crate::store::{self, Write, seconds_between};
use crate::survey::Surveyor;
use crate::version::{Origin, Outcome, Rights, State, against};
use read::Trouble;
use read::{Draft, DraftBody};

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
    let mut run = Run::new(store, tools, settings, snapshot, progress, cancel)?;
    let listing = run.list(paths)?;
    progress.stage("read");
    let outcome = run.count_parts(&listing.files).and_then(|()| run.files(&listing.files)).and_then(|()| run.finish());
    match outcome {
        Ok(()) => {}
        Err(Error::Cancelled) => run.report.cancelled = true,
        Err(error) => return Err(error),
    }
    run.ledger.flush()?;
    if settings.dry_run {
        run.report.survey = Some(run.surveyor.finish(tools.embedder, tools.now)?);
    }
    run.report.secrets.done = settings.secrets.name().to_owned();
    let unmet = settings.me.iter().enumerate().filter(|(idx, _)| !run.me_met.contains(idx));
    run.report.me_unmet = unmet.map(|(_, name)| name.clone()).collect();
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
    /// Labels that a mirror clears of what was not met.
    labels: Vec<String>,
    /// Conversations of a mirrored import that wait for their other drafts.
    parts: Parts,
    /// Something that may hold a conversation was not read at all: a mirror takes no turns out of one.
    has_gap: bool,
    /// Paths within the import that could not be read: a mirror leaves their sources alone.
    unread: Vec<String>,
    /// Why the reading was stopped from here.
    stopped_by: Option<Error>,
    /// Which of the person's names were met.
    me_met: BTreeSet<usize>,
    ledger: Ledger,
    surveyor: Surveyor,
}

impl<'a> Run<'a> {
    fn new(
        store: &'a Store,
        tools: &'a Tools<'a>,
        settings: &'a ImportSettings,
        snapshot: Arc<Snapshot>,
        progress: &'a dyn Progress,
        cancel: &'a AtomicBool,
    ) -> Result<Self> {
        let device = tools.backend.name().to_owned();
        let report = Report { device, dry_run: settings.dry_run, ..Report::default() };
        Ok(Self {
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
            labels: Vec::new(),
            parts: Parts::default(),
            has_gap: false,
            unread: Vec::new(),
            stopped_by: None,
            me_met: BTreeSet::new(),
            ledger: Ledger::open(settings.ledger.as_deref())?,
            surveyor: Surveyor::default(),
        })
    }

    fn rights(&self) -> Rights {
        Rights { mirror: self.settings.mirror, undelete: self.settings.undelete }
    }

    /// Notes something that was left out; `format` is the reader that says so.
    fn skip(&mut self, file: &str, format: Option<&str>, trouble: Trouble) -> Result<()> {
        let Trouble { place, reason, hint } = trouble;
        let skipped = Skipped { file: file.to_owned(), place, reason, hint };
        self.ledger.note("skipped", &skipped)?;
        self.report.totals.skipped += 1;
        if let Some(format) = format {
            self.format_of(format).skipped += 1;
        }
        report::list(&mut self.report.skipped, skipped);
        Ok(())
    }

    /// What is counted of a format.
    fn format_of(&mut self, reader: &str) -> &mut Format {
        self.report.formats.entry(reader.to_owned()).or_default()
    }

    fn check_cancel(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Takes one draft: by its path, by its own key, or as a part of what is met again.
    fn draft(&mut self, origin: Origin, mut draft: Draft) -> Result<()> {
        let is_seen = self.seen.contains(&origin.id());
        if draft.key.is_none() {
            if is_seen {
                // Two arguments under one label hold a file of one name: two sources, not two versions.
                return self.skip(&origin.file, Some(&origin.reader), same_key(&origin));
            }
            return self.gather(origin, draft);
        }
        if !self.settings.mirror {
            return self.gather(origin, draft);
        }
        // A draft after the whole was taken was not there when the drafts were counted: it adds.
        draft.is_complete &= !is_seen && !self.has_gap;
        match self.parts.take(origin, draft) {
            Part::Held => Ok(()),
            Part::Whole(whole) => self.gather(whole.0, whole.1),
            Part::Crowded(part) => {
                self.skip(&part.0.file, Some(&part.0.reader), mirror::crowded(&part.0.key))?;
                self.gather(part.0, part.1)
            }
        }
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
                    self.unchanged(origin.file, &origin.reader, source.key)?;
                }
                Outcome::Refused => self.refuse(origin)?,
            }
        }
        let compared = (self.tools.now)();
        self.report.seconds.read += seconds_between(started, compared);
        let embedder = self.tools.embedder;
        if self.settings.dry_run {
            return fresh.into_iter().try_for_each(|(origin, draft, state)| self.rehearse(&origin, &draft, &state));
        }
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

    fn refuse(&mut self, origin: Origin) -> Result<()> {
        let refused = Refused {
            source: origin.id().to_string(),
            file: origin.file,
            key: origin.key,
            hint: "it was deleted; import it again with --undelete".to_owned(),
        };
        self.ledger.note("refused", &refused)?;
        self.report.totals.refused += 1;
        report::list(&mut self.report.refused, refused);
        Ok(())
    }

    fn unchanged(&mut self, file: String, reader: &str, key: String) -> Result<()> {
        let unchanged = Unchanged { file, key };
        self.ledger.note("unchanged", &unchanged)?;
        self.report.totals.unchanged += 1;
        self.format_of(reader).unchanged += 1;
        report::list(&mut self.report.unchanged, unchanged);
        Ok(())
    }

    /// What would come of a source, without splitting it.
    fn rehearse(&mut self, origin: &Origin, draft: &Draft, state: &State) -> Result<()> {
        self.surveyor.take(draft);
        self.imported(origin, &draft.remarks, &state.source, [state.turns.len(), 0, 0], "would_store")
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
        self.report.totals.segments += u64::from(!written.batch.is_empty());
        written.batch.iter().try_for_each(|prepared| self.count(prepared))?;
        for origin in written.unchanged {
            self.unchanged(origin.file, &origin.reader, origin.key)?;
        }
        written.refused.into_iter().try_for_each(|origin| self.refuse(origin))?;
        self.ledger.flush()?;
        self.snapshot = self.store.snapshot()?;
        tracing::info!(version = written.manifest_version, n_sources = written.batch.len(), "segment committed");
        self.progress.stage("read");
        Ok(())
    }

    fn count(&mut self, prepared: &Prepared) -> Result<()> {
        let SourceEntry { source, turns, sentences, chunks, edges, .. } = &prepared.entry;
        self.report.totals.edges += edges.len() as u64;
        let counts = [turns.len(), sentences.len(), chunks.len()];
        self.imported(&prepared.origin, &prepared.draft.remarks, source, counts, "stored")
    }

    /// Counts a source that was written, or would be: its turns, sentences and chunks.
    fn imported(
        &mut self,
        origin: &Origin,
        remarks: &[String],
        source: &Source,
        counts: [usize; 3],
        event: &'static str,
    ) -> Result<()> {
        let [turns, sentences, chunks] = counts.map(|n| n as u64);
        let totals = &mut self.report.totals;
        totals.sources += 1;
        totals.turns += turns;
        totals.sentences += sentences;
        totals.chunks += chunks;
        totals.tokens += source.n_tokens;
        totals.unknown += source.n_unknown;
        self.format_of(&origin.reader).stored += 1;
        let imported = Imported {
            file: origin.file.clone(),
            source: source.id.to_string(),
            key: source.key.clone(),
            title: source.title.clone(),
            reader: source.reader.clone(),
            kind: source.kind.as_str().to_owned(),
            version: source.version,
            turns,
            sentences,
            chunks,
            tokens: source.n_tokens,
            unknown_share: share(source.n_unknown, source.n_tokens),
            replaced: source.n_replaced,
            remarks: remarks.to_vec(),
        };
        self.ledger.note(event, &imported)?;
        report::list(&mut self.report.imported, imported);
        Ok(())
    }

    /// Removes what a mirrored import no longer has; a conflict with another writer is settled by looking again.
    fn finish(&mut self) -> Result<()> {
        if !self.settings.mirror {
            return Ok(());
        }
        for _ in 0..store::TRIES_MAX {
            let gone = mirror::gone(&self.snapshot, &self.settings.scope, &self.labels, &self.seen, &self.unread);
            if !gone.is_empty() && !self.settings.dry_run {
                let committed = self.store.commit(self.removal(&gone));
                self.snapshot = self.store.snapshot()?;
                match committed {
                    Ok(_) => {}
                    Err(index::Error::Conflict { .. }) => continue,
                    Err(error) => return Err(error.into()),
                }
            }
            for source in gone {
                let deleted = Deleted { source: source.id.to_string(), key: source.key };
                self.ledger.note("removed", &deleted)?;
                self.report.totals.deleted += 1;
                report::list(&mut self.report.deleted, deleted);
            }
            return Ok(());
        }
        Err(index::Error::Contended { tries: store::TRIES_MAX }.into())
    }

    fn removal(&self, gone: &[Source]) -> Commit {
        let at = (self.tools.now)();
        Commit {
            actor: self.settings.actor.clone(),
            action: "mirror".to_owned(),
            reason: "missing from a mirrored import".to_owned(),
            at,
            embedder: store::identity(self.tools.embedder.id()),
            settings: store::settings(&self.settings.chunk),
            live: false,
            // A source that has had four thousand million versions stays as it is.
            entries: gone.iter().filter_map(|source| SourceEntry::hiding(source, at)).collect(),
        }
    }
}

fn same_key(origin: &Origin) -> Trouble {
    let reason = format!("another file of this import is {} too", origin.key);
    // A name that is not UTF-8 is read with U+FFFD for its bad bytes; another may then look the same.
    let hint = if origin.path.contains(char::REPLACEMENT_CHARACTER) {
        "its name is not UTF-8 and reads like the other's: rename one of the two"
    } else {
        "import the two folders under different --collection labels, or rename one of the two files"
    };
    Trouble::new("", reason, hint)
}

fn text_bytes(draft: &Draft) -> usize {
    match &draft.body {
        DraftBody::Text(text) => text.len(),
        DraftBody::Turns(turns) => turns.iter().map(|turn| turn.text.len()).sum(),
    }
}
