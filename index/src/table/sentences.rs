//! The table `sentences`: one row a sentence, in the order of their sources and of the text.

use std::path::Path;

use arrow::array::{UInt32Array, UInt64Array};
use bytes::Bytes;

use super::{Columns, Rows, decode as decode_table, ids};
use crate::error::Result;
use crate::model::{Sentence, SourceEntry, TextDigest};

/// The rows back, with the columns that are not part of a [`Sentence`].
#[derive(Default)]
pub(crate) struct Sentences {
    /// The sentences.
    pub(crate) rows: Vec<Sentence>,
    /// The source row of each.
    pub(crate) source: Vec<u32>,
}

/// The sentences of `entries` as Parquet.
pub(crate) fn encode(entries: &[SourceEntry]) -> Result<Vec<u8>> {
    let rows = || entries.iter().flat_map(|entry| &entry.sentences);
    let sources = (0..).zip(entries).flat_map(|(source, entry)| entry.sentences.iter().map(move |_| source));
    Columns::new("sentences")
        .with("source", UInt32Array::from_iter_values(sources))
        .with("start", UInt64Array::from_iter_values(rows().map(|row| row.span.start)))
        .with("end", UInt64Array::from_iter_values(rows().map(|row| row.span.end)))
        .with("turn", UInt32Array::from_iter_values(rows().map(|row| row.turn)))
        .with("digest", ids(rows().map(|row| row.digest.as_bytes())))
        .with("n_tokens", UInt32Array::from_iter_values(rows().map(|row| row.n_tokens)))
        .encode(true, &[])
}

/// The rows back.
///
/// # Errors
/// [`crate::Error::Corrupt`] naming `path`.
pub(crate) fn decode(bytes: Bytes, path: &Path) -> Result<Sentences> {
    let mut sentences = Sentences::default();
    decode_table(bytes, path, |rows| read(rows, &mut sentences))?;
    Ok(sentences)
}

fn read(rows: &Rows<'_>, sentences: &mut Sentences) -> Result<()> {
    let (start, end, turn) = (rows.u64s("start")?, rows.u64s("end")?, rows.u32s("turn")?);
    let (digest, n_tokens) = (rows.ids("digest")?, rows.u32s("n_tokens")?);
    sentences.source.extend_from_slice(rows.u32s("source")?.values());
    for i in 0..rows.len() {
        sentences.rows.push(Sentence {
            span: rows.span(start.value(i), end.value(i))?,
            turn: turn.value(i),
            digest: TextDigest::from_bytes(digest.value(i)),
            n_tokens: n_tokens.value(i),
        });
    }
    Ok(())
}
