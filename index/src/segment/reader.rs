//! Lends the rows of an open segment.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::lazy::Lazy;
use super::text::TextIndex;
use super::vector::VectorIndex;
use super::{FOLDER, Field, SegmentMeta, chunk_text};
use crate::dot::dot;
use crate::error::{Error, Result};
use crate::manifest::{SegmentEntry, SegmentKind};
use crate::model::{Chunk, ChunkId, Edge, Sentence, Source, SourceEntry, SourceId, TextDigest, Turn};
use crate::table::texts::Texts;
use crate::table::{chunks, edges, sentences, turns};

/// An open segment. Rows of one source are neighbours in every table, in the order of the sources.
pub struct Segment {
    pub(super) entry: SegmentEntry,
    pub(super) meta: SegmentMeta,
    pub(super) sources: Vec<Source>,
    pub(super) turns: turns::Turns,
    pub(super) sentences: sentences::Sentences,
    pub(super) vectors: Lazy<Vec<f32>>,
    pub(super) chunks: chunks::Chunks,
    pub(super) edges: edges::Edges,
    pub(super) texts: Option<Texts>,
    /// Where each source's rows start in a table, then the table's length.
    pub(super) turn_starts: Vec<u32>,
    pub(super) sentence_starts: Vec<u32>,
    pub(super) chunk_starts: Vec<u32>,
    pub(super) edge_starts: Vec<u32>,
    pub(super) text_index: Terminology,
    pub(super) vector_index: Option<Lazy<VectorIndex>>,
    pub(super) sources_by_id: Vec<u32>,
    pub(super) chunks_by_id: OnceLock<Vec<u32>>,
    pub(super) sentences_by_digest: OnceLock<Vec<u32>>,
    pub(super) edges_by_start: OnceLock<Vec<u32>>,
    pub(super) edges_by_end: OnceLock<Vec<u32>>,
}

/// Where postings come from.
pub(super) enum Terminology {
    /// There is no text.
    Nothing,
    /// A sealed segment's index.
    Sealed(Box<TextIndex>),
    /// A live segment's terms, inverted when it was opened: of turns, of chunks.
    Live([Inverted; 2]),
}

/// Of each term the rows that hold it, ascending, and how often each does.
pub(super) type Inverted = HashMap<String, Vec<(u32, u32)>>;

impl Segment {
    /// The name of its folder.
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// The one tenant whose data it holds.
    pub fn tenant(&self) -> &str {
        &self.entry.tenant
    }

    /// Numbers in a vector.
    pub fn dim(&self) -> usize {
        self.meta.embedder.dim as usize
    }

    /// Whether it has no indexes of its own.
    pub fn is_live(&self) -> bool {
        self.entry.kind == SegmentKind::Live
    }

    /// What it says of itself.
    pub fn meta(&self) -> &SegmentMeta {
        &self.meta
    }

    /// What the manifest says of it.
    pub(crate) fn listed(&self) -> &SegmentEntry {
        &self.entry
    }

    /// Its source versions, in the order (scope, key, id, version).
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Its turns.
    pub fn turns(&self) -> &[Turn] {
        &self.turns.rows
    }

    /// Its sentences.
    pub fn sentences(&self) -> &[Sentence] {
        &self.sentences.rows
    }

    /// Its chunks.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks.rows
    }

    /// Its edges.
    pub fn edges(&self) -> &[Edge] {
        &self.edges.rows
    }

    /// The turn rows of a source.
    pub fn turns_of(&self, source_row: u32) -> Range<u32> {
        rows_of(&self.turn_starts, source_row)
    }

    /// The sentence rows of a source.
    pub fn sentences_of(&self, source_row: u32) -> Range<u32> {
        rows_of(&self.sentence_starts, source_row)
    }

    /// The chunk rows of a source.
    pub fn chunks_of(&self, source_row: u32) -> Range<u32> {
        rows_of(&self.chunk_starts, source_row)
    }

    /// The edge rows of a source: edges that start at one of its chunks.
    pub fn edges_of(&self, source_row: u32) -> Range<u32> {
        rows_of(&self.edge_starts, source_row)
    }

    /// The sentence rows of a turn row, which must exist.
    pub fn sentences_of_turn(&self, turn_row: u32) -> Range<u32> {
        let source_row = self.source_of_turn(turn_row);
        let turn = turn_row - self.turns_of(source_row).start;
        let rows = self.sentences_of(source_row);
        let own = &self.sentences.rows[usize_range(rows.clone())];
        let before = |ends: fn(u32, u32) -> bool| own.partition_point(|sentence| ends(sentence.turn, turn)) as u32;
        rows.start + before(|of, turn| of < turn)..rows.start + before(|of, turn| of <= turn)
    }

    /// The source row of a turn row, which must exist.
    pub fn source_of_turn(&self, row: u32) -> u32 {
        self.turns.source[row as usize]
    }

    /// The source row of a sentence row, which must exist.
    pub fn source_of_sentence(&self, row: u32) -> u32 {
        self.sentences.source[row as usize]
    }

    /// The source row of a chunk row, which must exist.
    pub fn source_of_chunk(&self, row: u32) -> u32 {
        self.chunks.source[row as usize]
    }

    /// The vectors of its sentences, `[n_sentences, dim]`, row-major, unit length. The first call decodes them.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where the table does not hold what the manifest says.
    pub fn vectors(&self) -> Result<&[f32]> {
        Ok(self.vectors.get()?)
    }

    /// The same for one look: what is decoded for it is not kept, so that an import into a large store
    /// holds the vectors of one segment at a time.
    ///
    /// # Errors
    /// As [`Segment::vectors`].
    pub fn lend_vectors<R>(&self, take: impl FnOnce(&[f32]) -> R) -> Result<R> {
        self.vectors.lend(|vectors| take(vectors))
    }

    /// A source's retained text; empty for a deleted version. Decodes about 256 KiB if it was not read lately.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn text(&self, source_row: u32) -> Result<Arc<str>> {
        match &self.texts {
            Some(texts) => texts.get(source_row),
            None => Ok(Arc::from("")),
        }
    }

    /// A chunk's text: its card, or its spans, joined by a newline where they do not touch.
    ///
    /// # Errors
    /// [`Error::Corrupt`], also where a span does not lie in the text.
    pub fn chunk_text(&self, chunk_row: u32) -> Result<String> {
        let chunk = &self.chunks.rows[chunk_row as usize];
        if let Some(card) = &chunk.card {
            return Ok(card.clone());
        }
        let text = self.text(self.source_of_chunk(chunk_row))?;
        chunk_text(&text, chunk).ok_or_else(|| self.outside("chunk", chunk_row))
    }

    /// A turn's body.
    ///
    /// # Errors
    /// [`Error::Corrupt`], also where its span does not lie in the text.
    pub fn turn_text(&self, turn_row: u32) -> Result<String> {
        let text = self.text(self.source_of_turn(turn_row))?;
        let body = self.turns.rows[turn_row as usize].span.slice(&text);
        body.map(str::to_owned).ok_or_else(|| self.outside("turn", turn_row))
    }

    fn outside(&self, noun: &str, row: u32) -> Error {
        let reason = format!("{noun} row {row} has a span outside its text");
        Error::Corrupt { path: PathBuf::from(format!("{FOLDER}/{}", self.name())), reason }
    }

    /// How many terms a turn or chunk has, repeated ones counted each time.
    pub fn n_terms(&self, field: Field, row: u32) -> u32 {
        match field {
            Field::Turn => self.turns.n_terms[row as usize],
            Field::Chunk => self.chunks.n_terms[row as usize],
        }
    }

    /// Calls `visit` with each row that holds `term` and how often it does, rows ascending.
    ///
    /// Rows of superseded versions come too. Work is linear in the rows that hold it.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn postings(&self, field: Field, term: &str, visit: &mut dyn FnMut(u32, u32)) -> Result<()> {
        match &self.text_index {
            Terminology::Nothing => {}
            Terminology::Sealed(index) => return index.postings(field, term, visit),
            Terminology::Live([turns, chunks]) => {
                let inverted = if field == Field::Turn { turns } else { chunks };
                for &(row, n_times) in inverted.get(term).into_iter().flatten() {
                    visit(row, n_times);
                }
            }
        }
        Ok(())
    }

    /// About the `k` sentences nearest to `vector` among those allowed, with their cosines, best first.
    ///
    /// `None` where the segment has no vector index. Approximate in which rows, exact in their cosines.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a vector of another length; [`Error::Engine`].
    pub fn nearest(&self, vector: &[f32], k: usize, allowed: &dyn Fn(u32) -> bool) -> Result<Option<Vec<(u32, f32)>>> {
        if vector.len() != self.dim() {
            let given = vector.len().to_string();
            return Err(Error::OutOfRange { what: "vector length", given, allowed: "the dim of the store's embedder" });
        }
        let Some(index) = &self.vector_index else {
            return Ok(None);
        };
        let norm = dot(vector, vector).sqrt().max(f32::MIN_POSITIVE);
        let score = |row: u32| Ok((row, dot(vector, self.vector_of(row)?) / norm));
        let rows = index.get()?.nearest(vector, k, allowed)?;
        let mut found: Vec<(u32, f32)> = rows.into_iter().map(score).collect::<Result<_>>()?;
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(Some(found))
    }

    /// The vector of a sentence row, which must exist.
    ///
    /// # Errors
    /// As [`Segment::vectors`].
    pub fn vector_of(&self, sentence_row: u32) -> Result<&[f32]> {
        let start = sentence_row as usize * self.dim();
        Ok(&self.vectors()?[start..start + self.dim()])
    }

    /// Decodes what is otherwise decoded when it is first wanted: for those who check a store.
    pub(crate) fn load(&self) -> Result<()> {
        self.vectors()?;
        self.vector_index.as_ref().map_or(Ok(()), |index| index.get().map(|_| ()))
    }

    /// The row of the highest version of a source.
    pub(crate) fn newest_of(&self, id: &SourceId) -> Option<u32> {
        let end = self.sources_by_id.partition_point(|&row| self.sources[row as usize].id <= *id);
        let row = *self.sources_by_id.get(end.checked_sub(1)?)?;
        (self.sources[row as usize].id == *id).then_some(row)
    }

    /// The chunk rows with an id: more than one only where two versions of a source are kept here.
    pub(crate) fn chunks_with(&self, id: &ChunkId) -> &[u32] {
        equal_rows(&self.chunks_by_id, self.chunks.rows.len(), |row| self.chunks.rows[row].id, id)
    }

    /// The edge rows that start at a chunk, and those that end at it. The first call sorts all of them.
    pub(crate) fn edges_at(&self, id: &ChunkId) -> (&[u32], &[u32]) {
        let edges = &self.edges.rows;
        let starting = equal_rows(&self.edges_by_start, edges.len(), |row| edges[row].from, id);
        let ending = equal_rows(&self.edges_by_end, edges.len(), |row| edges[row].to, id);
        (starting, ending)
    }

    /// The source row of an edge row, which must exist: that of the chunk it starts at.
    pub fn source_of_edge(&self, row: u32) -> u32 {
        self.edges.source[row as usize]
    }

    /// The rows of those of `digests` that are sentences here, one row each.
    pub(crate) fn rows_with(&self, digests: &HashSet<TextDigest>) -> Vec<(TextDigest, u32)> {
        let digest_of = |row: usize| self.sentences.rows[row].digest;
        let rows = self.sentences_by_digest.get_or_init(|| order(self.sentences.rows.len(), digest_of));
        let found = digests.iter().filter_map(|digest| {
            let start = rows.partition_point(|&row| digest_of(row as usize) < *digest);
            let row = *rows.get(start)?;
            (digest_of(row as usize) == *digest).then_some((*digest, row))
        });
        found.collect()
    }

    /// A whole source version read back.
    pub(crate) fn entry(&self, source_row: u32) -> Result<SourceEntry> {
        let sentences = self.sentences_of(source_row);
        let floats = sentences.start as usize * self.dim()..sentences.end as usize * self.dim();
        Ok(SourceEntry {
            source: self.sources[source_row as usize].clone(),
            text: self.text(source_row)?.to_string(),
            turns: self.turns.rows[usize_range(self.turns_of(source_row))].to_vec(),
            sentences: self.sentences.rows[usize_range(sentences)].to_vec(),
            vectors: self.vectors()?[floats].to_vec(),
            chunks: self.chunks.rows[usize_range(self.chunks_of(source_row))].to_vec(),
            edges: self.edges.rows[usize_range(self.edges_of(source_row))].to_vec(),
        })
    }
}

/// The rows whose id is `id`, by an order that the first caller makes.
fn equal_rows<'a>(
    ordered: &'a OnceLock<Vec<u32>>,
    n_rows: usize,
    id_of: impl Fn(usize) -> ChunkId,
    id: &ChunkId,
) -> &'a [u32] {
    let rows = ordered.get_or_init(|| order(n_rows, &id_of));
    let start = rows.partition_point(|&row| id_of(row as usize) < *id);
    let n_equal = rows[start..].iter().take_while(|&&row| id_of(row as usize) == *id).count();
    &rows[start..start + n_equal]
}

fn rows_of(starts: &[u32], source_row: u32) -> Range<u32> {
    starts[source_row as usize]..starts[source_row as usize + 1]
}

pub(super) fn usize_range(rows: Range<u32>) -> Range<usize> {
    rows.start as usize..rows.end as usize
}

/// The rows `0..n` ordered by a key, ties by row.
pub(super) fn order<K: Ord>(n_rows: usize, key: impl Fn(usize) -> K) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..u32::try_from(n_rows).unwrap_or(u32::MAX)).collect();
    rows.sort_by_key(|&row| key(row as usize));
    rows
}
