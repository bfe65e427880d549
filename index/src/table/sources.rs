//! The table `sources`: one row a source version, in the order (scope, key, id, version).

use std::path::Path;

use arrow::array::{Array, StringArray, UInt32Array, UInt64Array};
use bytes::Bytes;

use super::{Columns, Rows, decode as decode_table, ids, maps, times};
use crate::error::Result;
use crate::model::{Scope, Source, SourceEntry, SourceId, SourceKind, SourceState, TextDigest, Timestamp};

/// The rows of `entries` as Parquet.
pub(crate) fn encode(entries: &[SourceEntry]) -> Result<Vec<u8>> {
    let rows = || entries.iter().map(|entry| &entry.source);
    let strings = |get: fn(&Source) -> &str| rows().map(|row| Some(get(row))).collect::<StringArray>();
    let u64s = |get: fn(&Source) -> u64| UInt64Array::from_iter_values(rows().map(get));
    Columns::new("sources")
        .with("id", ids(rows().map(|row| row.id.as_bytes())))
        .with("scope", strings(|row| row.scope.as_str()))
        .with("reader", strings(|row| &row.reader))
        .with("key", strings(|row| &row.key))
        .with("title", strings(|row| &row.title))
        .with("kind", strings(|row| row.kind.as_str()))
        .with("version", UInt32Array::from_iter_values(rows().map(|row| row.version)))
        .with("state", strings(|row| row.state.as_str()))
        .with("digest", ids(rows().map(|row| row.digest.as_bytes())))
        .with("collection", strings(|row| &row.collection))
        .with("path", strings(|row| &row.path))
        .nullable("exported_at", times(rows().map(|row| row.exported_at.map(Timestamp::as_micros))))
        .with("recorded_at", times(rows().map(|row| Some(row.recorded_at.as_micros()))))
        .with("n_tokens", u64s(|row| row.n_tokens))
        .with("n_unknown", u64s(|row| row.n_unknown))
        .with("n_replaced", u64s(|row| row.n_replaced))
        .with("metadata", maps(rows().map(|row| &row.metadata)))
        .encode(true, &[])
}

/// The rows back.
///
/// # Errors
/// [`crate::Error::Corrupt`] naming `path`.
pub(crate) fn decode(bytes: Bytes, path: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    decode_table(bytes, path, |rows| read(rows, &mut sources))?;
    Ok(sources)
}

fn read(rows: &Rows<'_>, sources: &mut Vec<Source>) -> Result<()> {
    let (id, digest) = (rows.ids("id")?, rows.ids("digest")?);
    let (scope, reader, key) = (rows.strings("scope")?, rows.strings("reader")?, rows.strings("key")?);
    let (title, collection, place) = (rows.strings("title")?, rows.strings("collection")?, rows.strings("path")?);
    let (kind, version, state) = (rows.strings("kind")?, rows.u32s("version")?, rows.strings("state")?);
    let (exported_at, recorded_at) = (rows.times("exported_at")?, rows.times("recorded_at")?);
    let (n_tokens, n_unknown) = (rows.u64s("n_tokens")?, rows.u64s("n_unknown")?);
    let n_replaced = rows.u64s("n_replaced")?;
    for (i, metadata) in rows.maps("metadata")?.into_iter().enumerate() {
        sources.push(Source {
            id: SourceId::from_bytes(id.value(i)),
            scope: Scope::parse(scope.value(i)).map_err(|error| rows.corrupt(error.to_string()))?,
            reader: reader.value(i).to_owned(),
            key: key.value(i).to_owned(),
            title: title.value(i).to_owned(),
            kind: rows.named("kind", SourceKind::from_name(kind.value(i)))?,
            version: version.value(i),
            state: rows.named("state", SourceState::from_name(state.value(i)))?,
            digest: TextDigest::from_bytes(digest.value(i)),
            collection: collection.value(i).to_owned(),
            path: place.value(i).to_owned(),
            exported_at: (!exported_at.is_null(i)).then(|| Timestamp::from_micros(exported_at.value(i))),
            recorded_at: Timestamp::from_micros(recorded_at.value(i)),
            n_tokens: n_tokens.value(i),
            n_unknown: n_unknown.value(i),
            n_replaced: n_replaced.value(i),
            metadata,
        });
    }
    Ok(())
}
