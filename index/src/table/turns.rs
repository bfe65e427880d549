//! The table `turns`: one row a turn, in the order of their sources and of the text.

use std::path::Path;

use arrow::array::{Array, StringArray, UInt32Array, UInt64Array};
use bytes::Bytes;

use super::{Columns, Rows, decode as decode_table, maps, times};
use crate::error::Result;
use crate::model::{Role, SourceEntry, TimeOrigin, Timestamp, Turn};

/// The rows back, with the columns that are not part of a [`Turn`].
#[derive(Default)]
pub(crate) struct Turns {
    /// The turns.
    pub(crate) rows: Vec<Turn>,
    /// The source row of each.
    pub(crate) source: Vec<u32>,
    /// How many terms each has.
    pub(crate) n_terms: Vec<u32>,
}

/// The turns of `entries` as Parquet; `n_terms` has one number a turn.
pub(crate) fn encode(entries: &[SourceEntry], n_terms: Vec<u32>) -> Result<Vec<u8>> {
    let rows = || entries.iter().flat_map(|entry| &entry.turns);
    let strings = |get: fn(&Turn) -> &str| rows().map(|row| Some(get(row))).collect::<StringArray>();
    let sources = (0..).zip(entries).flat_map(|(source, entry)| entry.turns.iter().map(move |_| source));
    Columns::new("turns")
        .with("source", UInt32Array::from_iter_values(sources))
        .with("id", strings(|row| &row.id))
        .with("author", strings(|row| &row.author))
        .with("role", strings(|row| row.role.as_str()))
        .nullable("said_at", times(rows().map(|row| row.said_at.map(Timestamp::as_micros))))
        .with("said_at_origin", strings(|row| row.said_at_origin.as_str()))
        .nullable("reply_to", rows().map(|row| row.reply_to.as_deref()).collect::<StringArray>())
        .with("session", UInt32Array::from_iter_values(rows().map(|row| row.session)))
        .with("start", UInt64Array::from_iter_values(rows().map(|row| row.span.start)))
        .with("end", UInt64Array::from_iter_values(rows().map(|row| row.span.end)))
        .with("n_terms", UInt32Array::from(n_terms))
        .with("metadata", maps(rows().map(|row| &row.metadata)))
        .encode(true, &[])
}

/// The rows back.
///
/// # Errors
/// [`crate::Error::Corrupt`] naming `path`.
pub(crate) fn decode(bytes: Bytes, path: &Path) -> Result<Turns> {
    let mut turns = Turns::default();
    decode_table(bytes, path, |rows| read(rows, &mut turns))?;
    Ok(turns)
}

fn read(rows: &Rows<'_>, turns: &mut Turns) -> Result<()> {
    let (id, author, role) = (rows.strings("id")?, rows.strings("author")?, rows.strings("role")?);
    let (said_at, origin) = (rows.times("said_at")?, rows.strings("said_at_origin")?);
    let (reply_to, session) = (rows.strings("reply_to")?, rows.u32s("session")?);
    let (start, end) = (rows.u64s("start")?, rows.u64s("end")?);
    turns.source.extend_from_slice(rows.u32s("source")?.values());
    turns.n_terms.extend_from_slice(rows.u32s("n_terms")?.values());
    for (i, metadata) in rows.maps("metadata")?.into_iter().enumerate() {
        turns.rows.push(Turn {
            id: id.value(i).to_owned(),
            author: author.value(i).to_owned(),
            role: rows.named("role", Role::from_name(role.value(i)))?,
            said_at: (!said_at.is_null(i)).then(|| Timestamp::from_micros(said_at.value(i))),
            said_at_origin: rows.named("said_at_origin", TimeOrigin::from_name(origin.value(i)))?,
            reply_to: (!reply_to.is_null(i)).then(|| reply_to.value(i).to_owned()),
            session: session.value(i),
            span: rows.span(start.value(i), end.value(i))?,
            metadata,
        });
    }
    Ok(())
}
