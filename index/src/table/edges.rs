//! The table `edges`: one row an edge, in the order of the sources that it starts in.

use std::path::Path;

use arrow::array::{Float32Array, StringArray, UInt32Array};
use bytes::Bytes;

use super::{Columns, Rows, decode as decode_table, ids};
use crate::error::Result;
use crate::model::{ChunkId, Edge, EdgeKind, SourceEntry};

/// The rows back, with the column that is not part of an [`Edge`].
#[derive(Default)]
pub(crate) struct Edges {
    /// The edges.
    pub(crate) rows: Vec<Edge>,
    /// The source row of the chunk each starts at.
    pub(crate) source: Vec<u32>,
}

/// The edges of `entries` as Parquet.
pub(crate) fn encode(entries: &[SourceEntry]) -> Result<Vec<u8>> {
    let rows = || entries.iter().flat_map(|entry| &entry.edges);
    let sources = (0..).zip(entries).flat_map(|(source, entry)| entry.edges.iter().map(move |_| source));
    Columns::new("edges")
        .with("source", UInt32Array::from_iter_values(sources))
        .with("from", ids(rows().map(|row| row.from.as_bytes())))
        .with("to", ids(rows().map(|row| row.to.as_bytes())))
        .with("kind", rows().map(|row| Some(row.kind.as_str())).collect::<StringArray>())
        .with("weight", Float32Array::from_iter_values(rows().map(|row| row.weight)))
        .encode(true, &[])
}

/// The rows back.
///
/// # Errors
/// [`crate::Error::Corrupt`] naming `path`.
pub(crate) fn decode(bytes: Bytes, path: &Path) -> Result<Edges> {
    let mut edges = Edges::default();
    decode_table(bytes, path, |rows| read(rows, &mut edges))?;
    Ok(edges)
}

fn read(rows: &Rows<'_>, edges: &mut Edges) -> Result<()> {
    let (from, to, kind) = (rows.ids("from")?, rows.ids("to")?, rows.strings("kind")?);
    let weight: &Float32Array = rows.column("weight")?;
    edges.source.extend_from_slice(rows.u32s("source")?.values());
    for i in 0..rows.len() {
        edges.rows.push(Edge {
            from: ChunkId::from_bytes(from.value(i)),
            to: ChunkId::from_bytes(to.value(i)),
            kind: rows.named("kind", EdgeKind::from_name(kind.value(i)))?,
            weight: weight.value(i),
        });
    }
    Ok(())
}
