//! The west door of an import: from the paths that were named to drafts.
//!
//! Knows files, archives and readers. What becomes of a draft is the corridor's to say.

use std::path::PathBuf;

use index::model::SourceId;

use super::Run;
use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::mirror;
use crate::settings::{ImportSettings, MAPPED};
use crate::store::seconds_between;
use crate::version::Origin;
use read::{Draft, DraftBody, Event, Found, Input, Item, Listing, Met, Reader, Stopped, Trouble};

impl Run<'_> {
    pub(super) fn list(&mut self, paths: &[PathBuf]) -> Result<Listing> {
        let listing = read::list(paths, self.settings.collection.as_deref(), self.store.path());
        if !paths.is_empty() && listing.missing.len() == paths.len() {
            return Err(Error::MissingPaths { paths: listing.missing });
        }
        let collection = self.settings.collection.as_deref();
        for path in &listing.missing {
            self.skip(&path.display().to_string(), None, mirror::missing(self.settings.mirror, collection))?;
        }
        for (path, label) in listing.empty.iter().filter(|_| self.settings.mirror) {
            self.skip(&path.display().to_string(), None, mirror::nothing_found(label))?;
        }
        // One label may stand for several arguments: where one is missing or empty, none of it is gone.
        let is_spared = |label: &str| {
            let is_missing = !listing.missing.is_empty() && collection == Some(label);
            is_missing || listing.empty.iter().any(|(_, empty)| empty == label)
        };
        self.labels = listing.labels.iter().filter(|label| !is_spared(label)).cloned().collect();
        self.has_gap = !listing.missing.is_empty() || !listing.empty.is_empty() || !listing.troubles.is_empty();
        for (path, relative, trouble) in &listing.troubles {
            self.unread(relative.clone());
            self.skip(&path.display().to_string(), None, trouble.clone())?;
        }
        let n_bytes = listing.files.iter().map(|file| file.n_bytes).sum();
        self.report.totals.files = listing.files.len() as u64;
        self.report.totals.hidden = listing.n_hidden;
        self.report.totals.bytes = n_bytes;
        self.progress.found(listing.files.len() as u64, n_bytes);
        Ok(listing)
    }

    /// Reads everything that was found and hands it on, source by source.
    pub(super) fn files(&mut self, files: &[Found]) -> Result<()> {
        let met = read::meet(files, self.format(), &mut |met| {
            let taken = self.met(met);
            self.kept(taken)
        });
        self.reason(met)?;
        for (origin, draft) in self.parts.rest() {
            self.gather(origin, draft)?;
        }
        self.settle()?;
        self.flush()
    }

    fn met(&mut self, met: Met) -> Result<()> {
        self.check_cancel()?;
        match met {
            Met::Item(item) => self.item(&item)?,
            Met::Trouble { shown, relative, trouble, .. } => {
                self.unread(relative);
                self.skip(&shown, None, trouble)?;
            }
            Met::Aside => self.report.totals.asides += 1,
            Met::Done(path, n_bytes) => self.progress.file(&path, n_bytes),
        }
        Ok(())
    }

    /// Notes a path whose sources a mirror leaves alone.
    fn unread(&mut self, relative: String) {
        if self.settings.mirror {
            self.unread.push(relative);
        }
    }

    /// What a reader is told of `taken`: an error stops it and is kept here.
    fn kept(&mut self, taken: Result<()>) -> read::Result<()> {
        taken.map_err(|error| {
            self.stopped_by = Some(error);
            Stopped
        })
    }

    /// The error that stopped a reading.
    fn reason(&mut self, read: read::Result<()>) -> Result<()> {
        read.map_err(|Stopped| self.stopped_by.take().unwrap_or(Error::Cancelled))
    }

    /// Reads the archives of a mirrored import once to learn which conversations lie in several drafts.
    pub(super) fn count_parts(&mut self, files: &[Found]) -> Result<()> {
        if !self.settings.mirror {
            return Ok(());
        }
        let started = (self.tools.now)();
        let met = read::meet(files, self.format(), &mut |met| {
            let taken = self.count_met(met);
            self.kept(taken)
        });
        self.reason(met)?;
        self.parts.counted();
        self.report.seconds.read += seconds_between(started, (self.tools.now)());
        Ok(())
    }

    fn count_met(&mut self, met: Met) -> Result<()> {
        self.check_cancel()?;
        match met {
            Met::Item(item) if item.reader.has_keys() => self.count_drafts(&item)?,
            // What is empty or broken now may have held a conversation before.
            Met::Trouble { relative, is_unknown, .. } => {
                self.has_gap |= is_unknown || read::may_have_keys(&relative);
            }
            _ => {}
        }
        Ok(())
    }

    fn count_drafts(&mut self, item: &Item) -> Result<()> {
        let input = input(self.settings, item);
        let read = item.reader.read(&input, &mut |event| {
            match event {
                Event::Draft(Draft { key: Some(key), .. }) => {
                    self.parts.count(SourceId::of(self.settings.scope.as_str(), item.reader.name(), &key));
                }
                Event::Draft(_) | Event::Aside => {}
                // A bad line is settled by its file's drafts; what is left out whole has no draft.
                Event::Trouble(trouble) => self.has_gap |= !trouble.place.starts_with("line "),
            }
            let cancel = self.check_cancel();
            self.kept(cancel)
        });
        self.reason(read)
    }

    fn format(&self) -> Option<&'static dyn Reader> {
        // The settings were checked: a forced format has its reader.
        let mapped = self.settings.mapping.as_ref().map(|_| MAPPED);
        mapped.or(self.settings.format.as_deref()).and_then(read::reader)
    }

    fn item(&mut self, item: &Item) -> Result<()> {
        self.format_of(item.reader.name()).files += 1;
        self.ledger.note("file", &Read { file: &item.shown, format: item.reader.name() })?;
        if let Some(trouble) = self.over_bound(item) {
            self.unread(item.relative.clone());
            return self.skip(&item.shown, Some(item.reader.name()), trouble);
        }
        let input = input(self.settings, item);
        let mut started = (self.tools.now)();
        let read = item.reader.read(&input, &mut |event| {
            self.report.seconds.read += seconds_between(started, (self.tools.now)());
            let taken = self.event(item, event);
            started = (self.tools.now)();
            self.kept(taken)
        });
        self.report.seconds.read += seconds_between(started, (self.tools.now)());
        self.reason(read)
    }

    /// Does with a draft what the person said of secrets and of themselves; whether it is to be left out.
    fn personal(&mut self, draft: &mut Draft) -> bool {
        let found = read::apply_secrets(self.settings.secrets, draft);
        for (kind, n) in &found.by_kind {
            *self.report.secrets.kinds.entry((*kind).to_owned()).or_default() += n;
        }
        self.report.secrets.turns_left_out += found.n_turns_left_out;
        if !self.settings.me.is_empty() {
            self.me_met.extend(read::me(&self.settings.me, draft));
        }
        if self.settings.mine && matches!(draft.body, DraftBody::Text(_)) {
            draft.metadata.insert("mine".to_owned(), "true".to_owned());
        }
        found.is_left_out
    }

    /// Why a file is not read that says of itself that it is over the bound.
    fn over_bound(&self, item: &Item) -> Option<Trouble> {
        let bytes_max = self.settings.file_bytes_max?;
        let part = item.parts.iter().find(|part| part.n_bytes.is_some_and(|n| n > bytes_max))?;
        let n = part.n_bytes.unwrap_or_default();
        let reason = format!("{} has {n} bytes, more than --max-bytes {bytes_max}", part.name);
        Some(Trouble::new("", reason, "give a larger --max-bytes, or leave it out: files are streamed"))
    }

    fn event(&mut self, item: &Item, event: Event) -> Result<()> {
        match event {
            Event::Trouble(trouble) => {
                self.unread(item.relative.clone());
                self.skip(&item.shown, Some(item.reader.name()), trouble)?;
            }
            Event::Aside => self.report.totals.asides += 1,
            Event::Draft(mut draft) => {
                if self.personal(&mut draft) {
                    self.unread(item.relative.clone());
                    return self.skip(&item.shown, Some(item.reader.name()), secret());
                }
                let format = self.format_of(item.reader.name());
                format.found += 1;
                format.turns += n_turns(&draft);
                let origin = self.origin(item, &draft);
                self.draft(origin, draft)?;
            }
        }
        self.check_cancel()
    }

    fn origin(&self, item: &Item, draft: &Draft) -> Origin {
        let below = |outer: &str| match &draft.part {
            Some(part) => format!("{outer}/{part}"),
            None => outer.to_owned(),
        };
        Origin {
            file: below(&item.shown),
            scope: self.settings.scope.clone(),
            reader: item.reader.name().to_owned(),
            key: draft.key.clone().unwrap_or_else(|| below(&item.key)),
            collection: item.label.clone(),
            path: below(&item.relative),
        }
    }
}

fn input<'f>(settings: &'f ImportSettings, item: &'f Item) -> Input<'f> {
    Input {
        file_bytes_max: settings.file_bytes_max,
        mapping: settings.mapping.as_ref(),
        ..Input::new(&item.parts, &item.relative, settings.source_bytes_max)
    }
}

fn secret() -> Trouble {
    Trouble::new(
        "",
        "it holds a secret (--secrets skip)",
        "import it with --secrets redact, or take the secret out of it",
    )
}

fn n_turns(draft: &Draft) -> u64 {
    match &draft.body {
        DraftBody::Text(_) => 0,
        DraftBody::Turns(turns) => turns.len() as u64,
    }
}
