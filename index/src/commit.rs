//! Publishes version n + 1 if n is still the newest: the only writer of truth.
//!
//! Segments are written first, durable and invisible; then one manifest is created under a number that
//! no one has taken. A crash leaves version n or n + 1, and at most folders that nothing refers to.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::error::{Error, Result};
use crate::files::{Lock, PutNew, remove_folder};
use crate::manifest::{self, EmbedderIdentity, FORMAT, Manifest, SegmentEntry, SegmentKind};
use crate::model::{SourceEntry, SourceState, Timestamp};
use crate::segment::writer::{self, Recipe};
use crate::segment::{self, Place, chunk_text};
use crate::snapshot::Snapshot;
use crate::store::Store;

/// How often a commit tries to publish before it gives up.
const TRIES_MAX: u32 = 200;
/// The longest wait between two tries.
const WAIT_MAX: Duration = Duration::from_millis(50);
/// The folder of the locks that say which unfinished folders belong to a living writer.
pub(crate) const LOCKS: &str = "locks";

/// A write as a value: source versions, and who writes them why.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Who.
    pub actor: String,
    /// What is done: `import`, `add`, `delete`, …
    pub action: String,
    /// Why, in the actor's words; may be empty.
    pub reason: String,
    /// When.
    pub at: Timestamp,
    /// What made the vectors.
    pub embedder: EmbedderIdentity,
    /// The settings it was made with.
    pub settings: BTreeMap<String, String>,
    /// Small and soon merged (one added source), rather than a finished part of an import.
    pub live: bool,
    /// The source versions, in any order, each source once.
    pub entries: Vec<SourceEntry>,
}

/// What a commit made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The version in which it is seen.
    pub version: u64,
    /// How many segments it added.
    pub n_segments: usize,
}

/// One attempt of a writer: its name, and the lock that keeps its folders from being swept.
pub(crate) struct Attempt<'a> {
    place: &'a Place,
    /// Unique; also the commit id.
    pub(crate) id: String,
    /// What it has written, or may have.
    folders: Vec<String>,
    lock: Option<Lock>,
}

impl<'a> Attempt<'a> {
    pub(crate) fn begin(place: &'a Place) -> Result<Self> {
        let id = Uuid::new_v4().simple().to_string();
        let lock = place.files.lock(&format!("{LOCKS}/{id}"))?;
        Ok(Self { place, id, folders: Vec::new(), lock })
    }

    /// Writes one segment under this attempt's name.
    pub(crate) fn write(&mut self, mut recipe: Recipe<'_>, entries: &[SourceEntry]) -> Result<SegmentEntry> {
        recipe.name = format!("{}-{:03}", self.id, self.folders.len());
        self.folders.push(format!("{}/{}", segment::FOLDER, recipe.name));
        writer::write(self.place, &recipe, entries)
    }

    /// Ends an attempt that is published: its folders stay.
    fn keep(mut self) {
        self.folders.clear();
    }

    /// Ends an attempt that may be published: its folders stay, and its lock file says that it was not ended.
    fn abandon(mut self) {
        self.folders.clear();
        self.lock = None;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is an orphan, which a later sweep removes.
        for folder in &self.folders {
            if let Err(error) = remove_folder(&*self.place.files, folder) {
                tracing::warn!(%folder, %error, "unpublished segment left behind");
            }
        }
        if self.lock.is_some() && self.place.files.remove(&format!("{LOCKS}/{}", self.id)).is_err() {
            tracing::debug!(id = %self.id, "lock file left behind");
        }
    }
}

/// Writes and publishes `commit`.
pub(crate) fn commit(store: &Store, commit: &mut Commit) -> Result<Committed> {
    check(commit)?;
    if commit.entries.is_empty() {
        return Ok(Committed { version: store.snapshot()?.version(), n_segments: 0 });
    }
    let by_place = |a: &SourceEntry, b: &SourceEntry| order_key(a).cmp(&order_key(b));
    commit.entries.sort_by(by_place);
    // A conflict that is plain to see costs no writing.
    check_base(&*store.snapshot()?, commit)?;
    let mut attempt = Attempt::begin(store.place())?;
    let mut added = Vec::new();
    let kind = if commit.live { SegmentKind::Live } else { SegmentKind::Sealed };
    for entries in commit.entries.chunk_by(|a, b| a.source.scope.tenant() == b.source.scope.tenant()) {
        let recipe = Recipe {
            name: String::new(),
            tenant: entries[0].source.scope.tenant(),
            kind,
            embedder: &commit.embedder,
            settings: &commit.settings,
        };
        added.push(attempt.write(recipe, entries)?);
    }
    let n_segments = added.len();
    let draft = |base: &Snapshot| {
        check_base(base, commit)?;
        let mut segments = base.manifest().map(|manifest| manifest.segments.clone()).unwrap_or_default();
        segments.extend(added.iter().cloned());
        Ok(Some(segments))
    };
    match publish(store, attempt, commit, draft)? {
        Some(version) => Ok(Committed { version, n_segments }),
        None => Err(Error::Contended { tries: TRIES_MAX }),
    }
}

fn order_key(entry: &SourceEntry) -> impl Ord + '_ {
    let source = &entry.source;
    (source.scope.tenant(), &source.scope, &source.key, source.id, source.version)
}

/// Publishes the segments that `draft` makes of the newest version's, again and again until no other
/// writer was faster.
///
/// `None` where `draft` says that there is nothing left to do.
pub(crate) fn publish(
    store: &Store,
    attempt: Attempt<'_>,
    commit: &Commit,
    draft: impl Fn(&Snapshot) -> Result<Option<Vec<SegmentEntry>>>,
) -> Result<Option<u64>> {
    for tries in 0..TRIES_MAX {
        let base: Arc<Snapshot> = store.snapshot()?;
        let Some(segments) = draft(&base)? else {
            return Ok(None);
        };
        let manifest = next_manifest(&base, commit, &attempt.id, segments);
        let bytes = manifest.encode()?;
        match put_manifest(store.place(), &manifest, &bytes) {
            Ok(true) => {
                attempt.keep();
                return Ok(Some(manifest.number));
            }
            Ok(false) => wait(tries),
            // Whether the manifest is there, and lasts, is unknown: its segments must stay.
            Err(error) => {
                tracing::warn!(number = manifest.number, %error, "outcome of a commit unknown");
                attempt.abandon();
                return Err(error);
            }
        }
    }
    Err(Error::Contended { tries: TRIES_MAX })
}

fn next_manifest(base: &Snapshot, commit: &Commit, id: &str, segments: Vec<SegmentEntry>) -> Manifest {
    Manifest {
        format: FORMAT,
        number: base.version() + 1,
        parent: base.published().map(|published| published.digest.clone()),
        commit_id: id.to_owned(),
        actor: commit.actor.clone(),
        action: commit.action.clone(),
        reason: commit.reason.clone(),
        at_us: commit.at.as_micros(),
        embedder: Some(commit.embedder.clone()),
        settings: commit.settings.clone(),
        segments,
    }
}

/// Creates a manifest and makes it last; `false` where another writer has its number.
fn put_manifest(place: &Place, manifest: &Manifest, bytes: &[u8]) -> Result<bool> {
    if place.files.put_new(&manifest::path(manifest.number), bytes)? == PutNew::Exists {
        let found = manifest::read(&place.files, manifest.number)?;
        // The answer to one's own success may have been lost on the way.
        let is_own = found.is_some_and(|found| found.manifest.commit_id == manifest.commit_id);
        if !is_own {
            return Ok(false);
        }
    }
    place.files.sync(manifest::FOLDER)?;
    Ok(true)
}

/// Waits a random while, longer after more tries, so that no writer is always the fastest.
fn wait(tries: u32) {
    let longest = WAIT_MAX.min(Duration::from_micros(200 << tries.min(10)));
    let share = f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX);
    std::thread::sleep(longest.mul_f64(share));
}

/// Checks that nothing this commit was planned against has changed.
fn check_base(base: &Snapshot, commit: &Commit) -> Result<()> {
    if let Some(found) = base.embedder()
        && *found != commit.embedder
    {
        return Err(Error::Embedder { found: found.to_string(), asked: commit.embedder.to_string() });
    }
    for entry in &commit.entries {
        let source = &entry.source;
        let found = base.newest(&source.id).map_or(0, |address| base.source_at(address).version);
        let expected = source.version - 1;
        if found != expected {
            return Err(Error::Conflict { key: source.key.clone(), found, expected });
        }
    }
    Ok(())
}

/// Checks what does not depend on the store: each source once, every entry's invariants.
fn check(commit: &Commit) -> Result<()> {
    let broken = |id: String, reason: &str| Error::Invariant { noun: "commit", id, reason: reason.to_owned() };
    if commit.embedder.dim == 0 {
        return Err(broken(commit.embedder.name.clone(), "its embedder makes vectors of no numbers"));
    }
    let mut seen = HashSet::new();
    for entry in &commit.entries {
        if !seen.insert(entry.source.id) {
            return Err(broken(entry.source.id.to_string(), "it writes one source twice"));
        }
        if let Some(reason) = broken_rule(entry, commit.embedder.dim as usize) {
            return Err(Error::Invariant { noun: "source", id: entry.source.key.clone(), reason });
        }
    }
    Ok(())
}

/// The invariant of [`SourceEntry`] that an entry breaks, if any.
pub(crate) fn broken_rule(entry: &SourceEntry, dim: usize) -> Option<String> {
    let source = &entry.source;
    let say = |reason: &str| Some(reason.to_owned());
    if source.version == 0 {
        return say("versions count from 1");
    }
    let has_rows = !entry.turns.is_empty() || !entry.sentences.is_empty() || !entry.chunks.is_empty();
    if source.state == SourceState::Deleted && (has_rows || !entry.text.is_empty() || !entry.edges.is_empty()) {
        return say("a deleted version has text or rows");
    }
    if entry.vectors.len() != entry.sentences.len() * dim {
        return Some(format!("{} numbers for {} vectors of {dim}", entry.vectors.len(), entry.sentences.len()));
    }
    broken_span(entry).or_else(|| broken_chunk(entry))
}

fn broken_span(entry: &SourceEntry) -> Option<String> {
    let mut end = 0;
    for (i, turn) in entry.turns.iter().enumerate() {
        if turn.span.start < end || turn.span.slice(&entry.text).is_none() {
            return Some(format!("turn {i} does not lie in the text after the turn before"));
        }
        end = turn.span.end;
    }
    let mut end = 0;
    for (i, sentence) in entry.sentences.iter().enumerate() {
        if sentence.span.start < end || sentence.span.slice(&entry.text).is_none() {
            return Some(format!("sentence {i} does not lie in the text after the sentence before"));
        }
        end = sentence.span.end;
        let turn = entry.turns.get(sentence.turn as usize).map(|turn| turn.span);
        let inside = turn.is_some_and(|turn| turn.start <= sentence.span.start && sentence.span.end <= turn.end);
        let fits = if entry.turns.is_empty() { sentence.turn == 0 } else { inside };
        if !fits {
            return Some(format!("sentence {i} does not lie in its turn"));
        }
    }
    None
}

fn broken_chunk(entry: &SourceEntry) -> Option<String> {
    let mut ids = BTreeSet::new();
    for (i, chunk) in entry.chunks.iter().enumerate() {
        let n_sentences = entry.sentences.len();
        if !chunk.sentences.is_sorted() || chunk.sentences.last().is_some_and(|&last| last as usize >= n_sentences) {
            return Some(format!("chunk {i} has sentences that do not exist or do not ascend"));
        }
        if !chunk.spans.is_sorted_by(|a, b| a.end <= b.start) || chunk_text(&entry.text, chunk).is_none() {
            return Some(format!("chunk {i} has spans outside the text or out of order"));
        }
        if !ids.insert(chunk.id) {
            return Some(format!("chunk {i} has the id of one before"));
        }
    }
    let stray = |edge: &&crate::model::Edge| !ids.contains(&edge.from) || !edge.weight.is_finite();
    let edge = entry.edges.iter().find(stray)?;
    Some(format!("an edge starts at {}, which is none of its chunks, or has no weight", edge.from))
}
