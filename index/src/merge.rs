//! Keeps the number of segments small: merges live ones, and sealed ones that are no larger, into one.
//!
//! A merge changes no content: it drops only the derived rows of versions that are no longer current.

use std::collections::{BTreeSet, HashSet};

use crate::commit::{Attempt, Commit, LOCKS, publish};
use crate::error::Result;
use crate::files::remove_folder;
use crate::manifest::{self, Counts, SegmentEntry, SegmentKind};
use crate::model::{SourceEntry, SourceState};
use crate::segment::writer::Recipe;
use crate::segment::{self, Place};
use crate::snapshot::{Address, Snapshot};
use crate::store::Store;

/// More live segments of one tenant than this are merged.
const LIVE_SEGMENTS_MAX: usize = 16;
/// Live sentence rows of one tenant from which on they are merged: as many are searched without an index.
const LIVE_ROWS_MAX: u64 = 20_000;
/// More small sealed segments of one tenant than this are merged.
const SMALL_SEGMENTS_MAX: usize = 16;
/// A sealed segment with fewer rows than this is small.
const SMALL_ROWS: u64 = 20_000;
/// A merge stops taking in sealed segments at this many rows.
const ROWS_MAX: u64 = 200_000;

/// After a commit: merges where there are many small segments, and removes what dead writers left.
pub(crate) fn maintain(store: &Store, commit: &Commit) -> Result<()> {
    let tenants: BTreeSet<&str> = commit.entries.iter().map(|entry| entry.source.scope.tenant()).collect();
    let mut merged = false;
    for tenant in tenants {
        let snapshot = store.snapshot()?;
        let listed = snapshot.manifest().map_or(&[][..], |manifest| &manifest.segments);
        let chosen = choose(listed, tenant);
        if chosen.len() > 1 {
            merged |= merge(store, &snapshot, commit, tenant, &chosen)?;
        }
    }
    if merged || !commit.live {
        sweep_orphans(store.place())?;
    }
    Ok(())
}

/// Rows as merging counts them: what must be read and written again.
fn rows(counts: &Counts) -> u64 {
    [counts.sources, counts.turns, counts.sentences].into_iter().map(u64::from).sum()
}

/// Which segments of a tenant to merge now: their places in the list, ascending; fewer than two mean none.
///
/// All live ones; then sealed ones, the newest first, while they have at most twice the rows chosen by
/// then. So the sealed ones that stay at least double in size from newest to oldest, and their number is
/// logarithmic in the rows.
fn choose(listed: &[SegmentEntry], tenant: &str) -> Vec<usize> {
    let of_kind = |kind| {
        let places = listed.iter().enumerate().rev();
        places.filter(move |(_, entry)| entry.tenant == tenant && entry.kind == kind)
    };
    let live: Vec<usize> = of_kind(SegmentKind::Live).map(|(at, _)| at).collect();
    let live_sentences: u64 = of_kind(SegmentKind::Live).map(|(_, entry)| u64::from(entry.counts.sentences)).sum();
    let n_small = of_kind(SegmentKind::Sealed).filter(|(_, entry)| rows(&entry.counts) < SMALL_ROWS).count();
    let due = live.len() > LIVE_SEGMENTS_MAX || live_sentences >= LIVE_ROWS_MAX || n_small > SMALL_SEGMENTS_MAX;
    if !due {
        return Vec::new();
    }
    let mut n_rows: u64 = of_kind(SegmentKind::Live).map(|(_, entry)| rows(&entry.counts)).sum();
    let mut chosen = live;
    for (at, entry) in of_kind(SegmentKind::Sealed) {
        let more = rows(&entry.counts);
        let fits = chosen.is_empty() || more <= 2 * n_rows;
        // A tenant that only ever imports little has no live rows to start from.
        let small = n_small > SMALL_SEGMENTS_MAX && more < SMALL_ROWS;
        if n_rows + more > ROWS_MAX || !(fits || small) {
            break;
        }
        n_rows += more;
        chosen.push(at);
    }
    // A single live segment still gains by being sealed; a single sealed one does not.
    if chosen.len() == 1 && listed[chosen[0]].kind == SegmentKind::Sealed {
        chosen.clear();
    }
    chosen.sort_unstable();
    chosen
}

/// Writes the chosen segments as one and publishes that; `false` where another merge was faster.
fn merge(store: &Store, snapshot: &Snapshot, commit: &Commit, tenant: &str, chosen: &[usize]) -> Result<bool> {
    let place = store.place();
    let Some(_lock) = place.files.lock(&format!("{LOCKS}/merge-{tenant}"))? else {
        return Ok(false);
    };
    let entries = gather(snapshot, chosen)?;
    let mut attempt = Attempt::begin(place)?;
    let recipe = Recipe {
        name: String::new(),
        tenant,
        kind: SegmentKind::Sealed,
        embedder: &commit.embedder,
        settings: &commit.settings,
    };
    let sealed = attempt.write(recipe, &entries)?;
    drop(entries);
    let removed: HashSet<&str> = chosen.iter().map(|&at| snapshot.segments()[at].name()).collect();
    let act = Commit {
        actor: commit.actor.clone(),
        action: "merge".to_owned(),
        reason: format!("{} segments into one", chosen.len()),
        at: commit.at,
        embedder: commit.embedder.clone(),
        settings: commit.settings.clone(),
        live: false,
        entries: Vec::new(),
    };
    let draft = |base: &Snapshot| -> Result<Option<Vec<SegmentEntry>>> {
        let listed = base.manifest().map_or(&[][..], |manifest| &manifest.segments);
        let gone = |entry: &&SegmentEntry| removed.contains(entry.name.as_str());
        if listed.iter().filter(gone).count() != removed.len() {
            return Ok(None);
        }
        // The merged one stands before what came later, so that it counts as the newest sealed one.
        let mut segments: Vec<SegmentEntry> = listed.iter().filter(|entry| !gone(entry)).cloned().collect();
        let at = segments.iter().position(|entry| entry.kind == SegmentKind::Live && entry.tenant == tenant);
        segments.insert(at.unwrap_or(segments.len()), sealed.clone());
        Ok(Some(segments))
    };
    let published = publish(store, attempt, &act, draft)?;
    if published.is_some() {
        // Whoever has them open goes on reading: an open file outlives its name.
        for name in removed {
            remove_folder(&*place.files, &format!("{}/{name}", segment::FOLDER))?;
        }
    }
    Ok(published.is_some())
}

/// The source versions of some segments, in order; derived rows only of those that are current.
fn gather(snapshot: &Snapshot, chosen: &[usize]) -> Result<Vec<SourceEntry>> {
    let mut entries = Vec::new();
    for &at in chosen {
        let segment = u32::try_from(at).unwrap_or(u32::MAX);
        let n_sources = snapshot.segments()[at].listed().counts.sources;
        for row in 0..n_sources {
            let mut entry = snapshot.entry(Address { segment, row })?;
            if !snapshot.is_current(segment, row) || entry.source.state == SourceState::Deleted {
                entry.sentences.clear();
                entry.vectors.clear();
                entry.chunks.clear();
                entry.edges.clear();
            }
            entries.push(entry);
        }
    }
    entries.sort_by(|a, b| {
        let (a, b) = (&a.source, &b.source);
        (&a.scope, &a.key, a.id, a.version).cmp(&(&b.scope, &b.key, b.id, b.version))
    });
    Ok(entries)
}

/// Removes the folders of writers that ended without publishing; returns how many.
///
/// A writer holds a lock from before its first file until after its manifest. So a folder whose lock can
/// be taken and that the newest manifest, read after that, does not name, belongs to no one.
pub(crate) fn sweep_orphans(place: &Place) -> Result<u32> {
    let folders = place.files.list(segment::FOLDER)?;
    let names = folders.iter().map(|name| name.trim_end_matches('/'));
    let known = referenced(place)?;
    let mut n_removed = 0;
    for name in names.filter(|name| !known.contains(*name)) {
        let lock_path = format!("{LOCKS}/{}", attempt_of(name));
        let Some(lock) = place.files.lock(&lock_path)? else {
            continue;
        };
        if !referenced(place)?.contains(name) {
            remove_folder(&*place.files, &format!("{}/{name}", segment::FOLDER))?;
            n_removed += 1;
        }
        place.files.remove(&lock_path)?;
        drop(lock);
    }
    Ok(n_removed)
}

/// Segments that were published once, in a store that has no manifest any more.
///
/// A writer that was killed before it published leaves its lock behind; one that published does not.
pub(crate) fn bereft(place: &Place) -> Result<Vec<String>> {
    if manifest::newest(&*place.files)? > 0 {
        return Ok(Vec::new());
    }
    let mut folders: Vec<String> = place.files.list(segment::FOLDER)?;
    folders.iter_mut().for_each(|name| name.truncate(name.trim_end_matches('/').len()));
    let locks: HashSet<String> = place.files.list(LOCKS)?.into_iter().collect();
    folders.retain(|name| !locks.contains(attempt_of(name)));
    // A first commit may have been published between the two look-ups.
    Ok(if manifest::newest(&*place.files)? > 0 { Vec::new() } else { folders })
}

/// The attempt that wrote a segment.
fn attempt_of(segment: &str) -> &str {
    segment.split_once('-').map_or(segment, |(attempt, _)| attempt)
}

/// The names of the newest version's segments.
fn referenced(place: &Place) -> Result<HashSet<String>> {
    let newest = manifest::newest(&*place.files)?;
    let published = manifest::read(&place.files, newest)?;
    let segments = published.map(|published| published.manifest.segments).unwrap_or_default();
    Ok(segments.into_iter().map(|entry| entry.name).collect())
}
