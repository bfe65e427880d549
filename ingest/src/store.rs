//! Prepared sources to a committed segment; a conflict with another writer is settled by reading again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use index::model::{SourceEntry, Timestamp};
use index::{Commit, EmbedderIdentity, Snapshot, Store};
use kernels::EmbedderId;
use rayon::prelude::*;

use crate::embed::{Counts, Known};
use crate::error::{Error, Result};
use crate::prepare::{Prepared, prepare};
use crate::progress::Progress;
use crate::report::Seconds;
use crate::settings::{ChunkSettings, Tools};
use crate::version::{Origin, Outcome, Rights, against};
use crate::{chunk, edges, embed};

/// A batch is tried against so many newer versions of the store before it gives up.
pub(crate) const TRIES_MAX: u32 = 5;

/// How a batch goes into the store.
pub(crate) struct Write<'a> {
    /// The store.
    pub store: &'a Store,
    /// The components.
    pub tools: &'a Tools<'a>,
    /// How sentences become chunks.
    pub chunk: &'a ChunkSettings,
    /// What the batch may do.
    pub rights: Rights,
    /// Who writes.
    pub actor: &'a str,
    /// `import`, `add`, `append`.
    pub action: &'a str,
    /// A live segment is small and has no indexes.
    pub live: bool,
    /// Hears what happens.
    pub progress: &'a dyn Progress,
    /// Ends the work between two calls of the model.
    pub cancel: &'a AtomicBool,
}

/// What a batch became.
pub(crate) struct Written {
    /// The store's version with the batch.
    pub manifest_version: u64,
    /// The sources as written.
    pub batch: Vec<Prepared>,
    /// Sources that another writer put there first, just as they are here.
    pub unchanged: Vec<Origin>,
    /// Sources that were deleted while we worked: the deletion holds.
    pub refused: Vec<Origin>,
    /// How many sentences got a vector, and how.
    pub counts: Counts,
}

/// The store's form of an embedder's identity.
pub(crate) fn identity(id: &EmbedderId) -> EmbedderIdentity {
    EmbedderIdentity {
        name: id.name.clone(),
        digest: id.digest.clone(),
        dim: id.dim,
        pooling: id.pooling.clone(),
        query_prompt: id.query_prompt.clone(),
        passage_prompt: id.passage_prompt.clone(),
        window: id.window,
    }
}

/// Refuses an embedder whose vectors cannot be compared with the store's, before any work is done.
///
/// # Errors
/// [`index::Error::Embedder`].
pub(crate) fn check_embedder(snapshot: &Snapshot, id: &EmbedderId) -> Result<()> {
    let asked = identity(id);
    match snapshot.embedder() {
        Some(found) if *found != asked => {
            Err(index::Error::Embedder { found: found.to_string(), asked: asked.to_string() }.into())
        }
        _ => Ok(()),
    }
}

/// Embeds, links, cuts and commits a batch. Nothing is visible until it returns.
///
/// # Errors
/// [`Error::Cancelled`]; the model's, the device's and the store's own.
pub(crate) fn write(
    write: &Write<'_>,
    snapshot: &Arc<Snapshot>,
    batch: Vec<Prepared>,
    seconds: &mut Seconds,
) -> Result<Written> {
    let mut snapshot = Arc::clone(snapshot);
    let mut batch = batch;
    let mut known = Known::new();
    let mut counts = Counts::default();
    let (mut unchanged, mut refused) = (Vec::new(), Vec::new());
    for _ in 0..TRIES_MAX {
        let tried = derive(write, &snapshot, &mut batch, &known, seconds)?;
        counts.n_embedded += tried.n_embedded;
        counts.n_cached = tried.n_cached;
        write.progress.stage("store");
        let started = (write.tools.now)();
        let committed = write.store.commit(commit(write, &batch));
        seconds.store += elapsed(write, started);
        match committed {
            Ok(committed) => {
                return Ok(Written { manifest_version: committed.version, batch, unchanged, refused, counts });
            }
            Err(index::Error::Conflict { .. }) => {
                snapshot = write.store.snapshot()?;
                known.extend(vectors(&batch));
                batch = again(write, &snapshot, batch, &mut unchanged, &mut refused)?;
                if batch.is_empty() {
                    let manifest_version = snapshot.version();
                    return Ok(Written { manifest_version, batch, unchanged, refused, counts });
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(index::Error::Contended { tries: TRIES_MAX }.into())
}

/// embed → link → chunk: everything that follows from the sentences.
fn derive(
    write: &Write<'_>,
    snapshot: &Snapshot,
    batch: &mut [Prepared],
    known: &Known,
    seconds: &mut Seconds,
) -> Result<Counts> {
    let tools = write.tools;
    let dim = tools.embedder.id().dim as usize;
    let started = (tools.now)();
    write.progress.stage("embed");
    let counts = embed::all(batch, tools.embedder, snapshot, known, write.progress, write.cancel)?;
    seconds.embed += elapsed(write, started);
    check_cancel(write)?;

    let started = (tools.now)();
    write.progress.stage("link");
    let communities = chunk::communities(batch, dim, tools.backend, write.chunk)?;
    seconds.link += elapsed(write, started);
    check_cancel(write)?;

    let started = (tools.now)();
    write.progress.stage("chunk");
    batch
        .par_iter_mut()
        .zip(&communities)
        .for_each(|(prepared, communities)| chunk::source(prepared, communities, write.chunk, tools.embedder));
    seconds.chunk += elapsed(write, started);
    check_cancel(write)?;

    let started = (tools.now)();
    write.progress.stage("link");
    edges::all(batch, dim, tools.backend, snapshot)?;
    seconds.link += elapsed(write, started);
    check_cancel(write)?;
    Ok(counts)
}

fn check_cancel(write: &Write<'_>) -> Result<()> {
    if write.cancel.load(std::sync::atomic::Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
}

fn elapsed(write: &Write<'_>, started: Timestamp) -> f64 {
    seconds_between(started, (write.tools.now)())
}

/// Seconds from one moment to another, never below 0.
#[expect(clippy::cast_precision_loss, reason = "seconds for people")]
pub(crate) fn seconds_between(from: Timestamp, to: Timestamp) -> f64 {
    (to.as_micros().saturating_sub(from.as_micros()).max(0) as f64) / 1e6
}

fn commit(write: &Write<'_>, batch: &[Prepared]) -> Commit {
    Commit {
        actor: write.actor.to_owned(),
        action: write.action.to_owned(),
        reason: String::new(),
        at: (write.tools.now)(),
        embedder: identity(write.tools.embedder.id()),
        settings: settings(write.chunk),
        live: write.live,
        entries: batch.iter().map(|prepared| prepared.entry.clone()).collect::<Vec<SourceEntry>>(),
    }
}

/// Everything that decides what chunks come out, for the manifest.
pub(crate) fn settings(chunk: &ChunkSettings) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("chunk.tokens_max".to_owned(), chunk.tokens_max.to_string()),
        ("chunk.tokens_min".to_owned(), chunk.tokens_min.to_string()),
        ("chunk.sentences_min".to_owned(), chunk.sentences_min.to_string()),
        ("chunk.resolution".to_owned(), chunk.resolution.to_string()),
        ("chunk.seed".to_owned(), chunk.seed.to_string()),
    ])
}

fn vectors(batch: &[Prepared]) -> Known {
    let mut known = Known::new();
    for entry in batch.iter().map(|prepared| &prepared.entry) {
        let dim = entry.vectors.len() / entry.sentences.len().max(1);
        for (idx, sentence) in entry.sentences.iter().enumerate() {
            if let Some(vector) = entry.vectors.get(idx * dim..(idx + 1) * dim) {
                known.insert(sentence.digest, vector.to_vec());
            }
        }
    }
    known
}

/// Reads a batch against a newer version of the store; what is now as it is in the archive falls out.
fn again(
    write: &Write<'_>,
    snapshot: &Snapshot,
    batch: Vec<Prepared>,
    unchanged: &mut Vec<Origin>,
    refused: &mut Vec<Origin>,
) -> Result<Vec<Prepared>> {
    let now = (write.tools.now)();
    let mut next = Vec::with_capacity(batch.len());
    for prepared in batch {
        let Prepared { origin, draft, .. } = prepared;
        match against(snapshot, &origin, &draft, write.rights, now)? {
            Outcome::Next(state) => next.push(prepare(origin, draft, *state, write.tools.embedder)),
            Outcome::Unchanged(_) => unchanged.push(origin),
            Outcome::Refused => refused.push(origin),
        }
    }
    Ok(next)
}
