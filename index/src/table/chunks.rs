//! The table `chunks`: one row a chunk, in the order of their sources, as ingest ordered them.

use std::path::Path;

use arrow::array::{Array, StringArray, UInt32Array, UInt64Array};
use arrow::datatypes::{UInt32Type, UInt64Type};
use bytes::Bytes;

use super::{Columns, Rows, decode as decode_table, ids, lists};
use crate::error::Result;
use crate::model::{Chunk, ChunkId, ChunkKind, SourceEntry, Span};

/// The rows back, with the columns that are not part of a [`Chunk`].
#[derive(Default)]
pub(crate) struct Chunks {
    /// The chunks.
    pub(crate) rows: Vec<Chunk>,
    /// The source row of each.
    pub(crate) source: Vec<u32>,
    /// How many terms each has.
    pub(crate) n_terms: Vec<u32>,
}

/// The chunks of `entries` as Parquet; `n_terms` has one number a chunk.
pub(crate) fn encode(entries: &[SourceEntry], n_terms: Vec<u32>) -> Result<Vec<u8>> {
    let rows = || entries.iter().flat_map(|entry| &entry.chunks);
    let sources = (0..).zip(entries).flat_map(|(source, entry)| entry.chunks.iter().map(move |_| source));
    let bounds = |get: fn(&Span) -> u64| {
        let bounds = UInt64Array::from_iter_values(rows().flat_map(|row| row.spans.iter().map(get)));
        lists(rows().map(|row| row.spans.len()), bounds)
    };
    let strings = |get: fn(&Chunk) -> &[String]| {
        let items: StringArray = rows().flat_map(get).map(Some).collect();
        lists(rows().map(|row| get(row).len()), items)
    };
    let sentences = UInt32Array::from_iter_values(rows().flat_map(|row| row.sentences.iter().copied()));
    Columns::new("chunks")
        .with("source", UInt32Array::from_iter_values(sources))
        .with("id", ids(rows().map(|row| row.id.as_bytes())))
        .with("kind", rows().map(|row| Some(row.kind.as_str())).collect::<StringArray>())
        .with("session", UInt32Array::from_iter_values(rows().map(|row| row.session)))
        .with("sentences", lists(rows().map(|row| row.sentences.len()), sentences))
        .with("starts", bounds(|span| span.start))
        .with("ends", bounds(|span| span.end))
        .with("n_tokens", UInt32Array::from_iter_values(rows().map(|row| row.n_tokens)))
        .nullable("card", rows().map(|row| row.card.as_deref()).collect::<StringArray>())
        .with("entities", strings(|row| &row.entities))
        .with("dates", strings(|row| &row.dates))
        .with("preferences", strings(|row| &row.preferences))
        .with("n_terms", UInt32Array::from(n_terms))
        .encode(true, &[])
}

/// The rows back.
///
/// # Errors
/// [`crate::Error::Corrupt`] naming `path`.
pub(crate) fn decode(bytes: Bytes, path: &Path) -> Result<Chunks> {
    let mut chunks = Chunks::default();
    decode_table(bytes, path, |rows| read(rows, &mut chunks))?;
    Ok(chunks)
}

fn read(rows: &Rows<'_>, chunks: &mut Chunks) -> Result<()> {
    let (id, kind, session) = (rows.ids("id")?, rows.strings("kind")?, rows.u32s("session")?);
    let (n_tokens, card) = (rows.u32s("n_tokens")?, rows.strings("card")?);
    let mut sentences = rows.number_lists::<UInt32Type>("sentences")?.into_iter();
    let mut starts = rows.number_lists::<UInt64Type>("starts")?.into_iter();
    let mut ends = rows.number_lists::<UInt64Type>("ends")?.into_iter();
    let mut entities = rows.string_lists("entities")?.into_iter();
    let mut dates = rows.string_lists("dates")?.into_iter();
    let mut preferences = rows.string_lists("preferences")?.into_iter();
    chunks.source.extend_from_slice(rows.u32s("source")?.values());
    chunks.n_terms.extend_from_slice(rows.u32s("n_terms")?.values());
    for i in 0..rows.len() {
        let (starts, ends) = (starts.next().unwrap_or_default(), ends.next().unwrap_or_default());
        if starts.len() != ends.len() {
            return Err(rows.corrupt(format!("chunk row {i} has {} starts, {} ends", starts.len(), ends.len())));
        }
        let spans: Result<Vec<Span>> = starts.into_iter().zip(ends).map(|(start, end)| rows.span(start, end)).collect();
        chunks.rows.push(Chunk {
            id: ChunkId::from_bytes(id.value(i)),
            kind: rows.named("kind", ChunkKind::from_name(kind.value(i)))?,
            session: session.value(i),
            sentences: sentences.next().unwrap_or_default(),
            spans: spans?,
            n_tokens: n_tokens.value(i),
            card: (!card.is_null(i)).then(|| card.value(i).to_owned()),
            entities: entities.next().unwrap_or_default(),
            dates: dates.next().unwrap_or_default(),
            preferences: preferences.next().unwrap_or_default(),
        });
    }
    Ok(())
}
