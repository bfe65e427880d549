//! The west door of an import: from the paths that were named to drafts.
//!
//! Knows files, archives and readers. What becomes of a draft is the corridor's to say.

use std::path::PathBuf;

use index::model::SourceId;

use super::Run;
use crate::error::{Error, Result};
use crate::mirror;
use crate::store::seconds_between;
use crate::version::Origin;
use read::{Draft, Event, Found, Input, Item, Listing, Met, Reader, Stopped};

impl Run<'_> {
    pub(super) fn list(&mut self, paths: &[PathBuf]) -> Result<Listing> {
        let listing = read::list(paths, self.settings.collection.as_deref(), self.store.path());
        if !paths.is_empty() && listing.missing.len() == paths.len() {
            return Err(Error::MissingPaths { paths: listing.missing });
        }
        let collection = self.settings.collection.as_deref();
        for path in &listing.missing {
            self.skip(&path.display().to_string(), mirror::missing(self.settings.mirror, collection));
        }
        for (path, label) in listing.empty.iter().filter(|_| self.settings.mirror) {
            self.skip(&path.display().to_string(), mirror::nothing_found(label));
        }
        // One label may stand for several arguments: where one is missing or empty, none of it is gone.
        let is_spared = |label: &str| {
            let is_missing = !listing.missing.is_empty() && collection == Some(label);
            is_missing || listing.empty.iter().any(|(_, empty)| empty == label)
        };
        self.labels = listing.labels.iter().filter(|label| !is_spared(label)).cloned().collect();
        self.has_gap = !listing.missing.is_empty() || !listing.empty.is_empty() || !listing.troubles.is_empty();
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
                self.unread.push(relative);
                self.skip(&shown, trouble);
            }
            Met::Aside => self.report.totals.asides += 1,
            Met::Done(path, n_bytes) => self.progress.file(&path, n_bytes),
        }
        Ok(())
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
        let input = self.input(item);
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
        self.settings.format.as_deref().and_then(read::reader)
    }

    fn input<'f>(&self, item: &'f Item) -> Input<'f> {
        Input {
            parts: &item.parts,
            name: &item.relative,
            source_bytes_max: self.settings.source_bytes_max,
            mapping: None,
        }
    }

    fn item(&mut self, item: &Item) -> Result<()> {
        let input = self.input(item);
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

    fn event(&mut self, item: &Item, event: Event) -> Result<()> {
        match event {
            Event::Trouble(trouble) => {
                self.unread.push(item.relative.clone());
                self.skip(&item.shown, trouble);
            }
            Event::Aside => self.report.totals.asides += 1,
            Event::Draft(draft) => {
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
