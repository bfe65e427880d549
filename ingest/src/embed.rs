//! Sentences to vectors: each text once, and none that the store has a vector of.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use index::Snapshot;
use index::model::TextDigest;
use kernels::{Embedder, Role};

use crate::error::{Error, Result};
use crate::prepare::Prepared;
use crate::progress::Progress;

/// Texts in one call: small enough that a cancelled import ends soon, large enough to fill a device.
const CALL_TEXTS_MAX: usize = 256;

/// How many sentences got their vectors, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Texts that went through the model.
    pub n_embedded: u64,
    /// Sentences whose vector was there, or whose text came twice.
    pub n_cached: u64,
}

/// Vectors at hand that are not in the store: of a batch that is tried again.
pub(crate) type Known = HashMap<TextDigest, Vec<f32>>;

/// Gives every sentence of `batch` its vector. Calls cross source borders, texts of like length together.
///
/// # Errors
/// [`Error::Cancelled`]; the model's own.
pub(crate) fn all(
    batch: &mut [Prepared],
    embedder: &dyn Embedder,
    snapshot: &Snapshot,
    known: &Known,
    progress: &dyn Progress,
    cancel: &AtomicBool,
) -> Result<Counts> {
    let dim = embedder.id().dim as usize;
    let mut counts = Counts::default();
    let mut rows: HashMap<TextDigest, usize> = HashMap::new();
    let mut vectors: Vec<f32> = Vec::new();
    let all = batch.iter().flat_map(|prepared| &prepared.entry.sentences).map(|sentence| sentence.digest);
    let stored = snapshot.vectors_of(all.filter(|digest| !known.contains_key(digest)).collect())?;
    {
        let wanted = wanted(batch, &stored, known, &mut counts);
        progress.embedded(counts.n_cached, counts.n_cached);
        for call in wanted.chunks(CALL_TEXTS_MAX) {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            let texts: Vec<&str> = call.iter().map(|text| text.words).collect();
            for text in call {
                rows.insert(text.digest, rows.len());
            }
            vectors.extend(embedder.embed(&texts, Role::Passage)?.into_data());
            counts.n_embedded += call.len() as u64;
            progress.embedded(call.len() as u64, 0);
        }
    }
    for prepared in batch.iter_mut() {
        let entry = &mut prepared.entry;
        entry.vectors.clear();
        entry.vectors.reserve_exact(entry.sentences.len() * dim);
        for sentence in &entry.sentences {
            let vector = match rows.get(&sentence.digest) {
                Some(&row) => vectors.get(row * dim..(row + 1) * dim),
                None => stored.get(&sentence.digest).or_else(|| known.get(&sentence.digest)).map(Vec::as_slice),
            };
            let vector = vector.filter(|vector| vector.len() == dim).ok_or_else(|| Error::Invalid {
                what: "embedder",
                reason: format!("gave no vector of {dim} numbers for a sentence of {}", entry.source.key),
            })?;
            entry.vectors.extend_from_slice(vector);
        }
    }
    Ok(counts)
}

struct Wanted<'a> {
    digest: TextDigest,
    n_tokens: u32,
    words: &'a str,
}

/// The texts that have no vector yet, each once, shortest first.
fn wanted<'a>(batch: &'a [Prepared], stored: &Known, known: &Known, counts: &mut Counts) -> Vec<Wanted<'a>> {
    let mut seen: HashSet<TextDigest> = HashSet::new();
    let mut wanted = Vec::new();
    for entry in batch.iter().map(|prepared| &prepared.entry) {
        for sentence in &entry.sentences {
            let digest = sentence.digest;
            let is_there = seen.contains(&digest) || stored.contains_key(&digest) || known.contains_key(&digest);
            if is_there {
                counts.n_cached += 1;
                continue;
            }
            seen.insert(digest);
            let words = sentence.span.slice(&entry.text).unwrap_or_default();
            wanted.push(Wanted { digest, n_tokens: sentence.n_tokens, words });
        }
    }
    // Ties by digest: the order of the texts must not depend on anything but the texts.
    wanted.sort_by_key(|text| (text.n_tokens, text.digest));
    wanted
}
