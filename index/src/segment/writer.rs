//! Writes a segment: source versions in, a finished and still invisible folder out.

use std::collections::BTreeMap;

use super::terms::Terms;
use super::{FOLDER, Place, SegmentMeta, names, text, vector};
use crate::error::{Error, Result};
use crate::files::PutNew;
use crate::manifest::{Counts, EmbedderIdentity, FORMAT, FileDigest, SegmentEntry, SegmentKind};
use crate::model::SourceEntry;
use crate::table::{chunks, edges, sentences, sources, texts, turns, vectors};

/// What a segment is to be, beside its rows.
pub(crate) struct Recipe<'a> {
    /// The name of its folder; never used before.
    pub(crate) name: String,
    /// The one tenant of all its rows.
    pub(crate) tenant: &'a str,
    /// Whether it gets indexes.
    pub(crate) kind: SegmentKind,
    /// What made its vectors.
    pub(crate) embedder: &'a EmbedderIdentity,
    /// The settings it is made with.
    pub(crate) settings: &'a BTreeMap<String, String>,
}

/// Writes the segment of `entries`, which are checked and in the order (scope, key, id, version).
///
/// Every file and folder of it is durable when this returns. A table without rows has no file. Needs
/// about twice the memory of the entries.
///
/// # Errors
/// [`Error::Io`], [`Error::Engine`]; what was written by then is left for the caller to remove.
pub(crate) fn write(place: &Place, recipe: &Recipe<'_>, entries: &[SourceEntry]) -> Result<SegmentEntry> {
    let counts = count(entries)?;
    let mut files = BTreeMap::new();
    for (name, bytes) in encode(recipe, entries, counts)? {
        put(place, recipe, &mut files, &name, &bytes)?;
    }
    let meta = SegmentMeta {
        format: FORMAT,
        tenant: recipe.tenant.to_owned(),
        kind: recipe.kind,
        counts,
        embedder: recipe.embedder.clone(),
        settings: recipe.settings.clone(),
        files: files.clone(),
    };
    let bytes = serde_json::to_vec(&meta).map_err(|error| Error::Engine {
        engine: "json",
        path: place.path(&format!("{FOLDER}/{}/{}", recipe.name, names::META)),
        reason: error.to_string(),
    })?;
    put(place, recipe, &mut files, names::META, &bytes)?;
    let folder = format!("{FOLDER}/{}", recipe.name);
    if files.keys().any(|name| name.starts_with(names::TEXT_INDEX)) {
        place.files.sync(&format!("{folder}/{}", names::TEXT_INDEX.trim_end_matches('/')))?;
    }
    place.files.sync(&folder)?;
    place.files.sync(FOLDER)?;
    let (name, tenant) = (recipe.name.clone(), recipe.tenant.to_owned());
    Ok(SegmentEntry { name, tenant, kind: recipe.kind, counts, files })
}

fn put(
    place: &Place,
    recipe: &Recipe<'_>,
    files: &mut BTreeMap<String, FileDigest>,
    name: &str,
    bytes: &[u8],
) -> Result<()> {
    let path = format!("{FOLDER}/{}/{name}", recipe.name);
    match place.files.put_new(&path, bytes)? {
        PutNew::Created => {
            files.insert(name.to_owned(), FileDigest::of(bytes));
            Ok(())
        }
        PutNew::Exists => Err(Error::Invariant {
            noun: "segment",
            id: recipe.name.clone(),
            reason: format!("{name} was there before"),
        }),
    }
}

/// The bytes of every file but `segment.json`.
fn encode(recipe: &Recipe<'_>, entries: &[SourceEntry], counts: Counts) -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    let mut add = |name: &str, bytes| files.push((name.to_owned(), bytes));
    let terms = Terms::of(entries);
    let n_terms = |rows: &[Vec<String>]| -> Vec<u32> {
        rows.iter().map(|terms| u32::try_from(terms.len()).unwrap_or(u32::MAX)).collect()
    };
    add(names::SOURCES, sources::encode(entries)?);
    if entries.iter().any(|entry| !entry.text.is_empty()) {
        add(names::TEXTS, texts::encode(entries)?);
    }
    if counts.turns > 0 {
        add(names::TURNS, turns::encode(entries, n_terms(&terms.turns))?);
    }
    if counts.sentences > 0 {
        add(names::SENTENCES, sentences::encode(entries)?);
        add(names::VECTORS, vectors::encode(entries, recipe.embedder.dim)?);
    }
    if counts.chunks > 0 {
        add(names::CHUNKS, chunks::encode(entries, n_terms(&terms.chunks))?);
    }
    if counts.edges > 0 {
        add(names::EDGES, edges::encode(entries)?);
    }
    if recipe.kind == SegmentKind::Live {
        return Ok(files);
    }
    if counts.sentences > 0 {
        let rows: Vec<f32> = entries.iter().flat_map(|entry| entry.vectors.iter().copied()).collect();
        add(names::VECTOR_INDEX, vector::build(&rows, recipe.embedder.dim as usize)?);
    }
    if counts.turns > 0 || counts.chunks > 0 {
        for (name, bytes) in text::build(&terms)? {
            add(&format!("{}{name}", names::TEXT_INDEX), bytes);
        }
    }
    Ok(files)
}

fn count(entries: &[SourceEntry]) -> Result<Counts> {
    let sum = |len: fn(&SourceEntry) -> usize| {
        let n_rows: usize = entries.iter().map(len).sum();
        u32::try_from(n_rows).map_err(|_| Error::OutOfRange {
            what: "rows of a segment",
            given: n_rows.to_string(),
            allowed: "below 4,294,967,296 in each table",
        })
    };
    Ok(Counts {
        sources: sum(|_| 1)?,
        turns: sum(|entry| entry.turns.len())?,
        sentences: sum(|entry| entry.sentences.len())?,
        chunks: sum(|entry| entry.chunks.len())?,
        edges: sum(|entry| entry.edges.len())?,
    })
}
