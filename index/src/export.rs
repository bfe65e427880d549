//! A store's current content as JSON lines in a fixed order, so that two stores can be compared.
//!
//! Without what says only how it came to be: segment names, version numbers of the store, recorded times.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::model::{Chunk, Edge, Sentence, Source, SourceEntry, Timestamp, Turn};
use crate::snapshot::Snapshot;

/// Writes every current source with its text, turns, sentences, chunks and edges, one JSON value a line.
///
/// Sources stand in the order (scope, key, id), their rows in their own order. Vectors are given as the
/// BLAKE3 of their little-endian bytes, source by source.
///
/// # Errors
/// [`Error::Io`] of `out`; [`Error::Corrupt`].
pub fn export_canonical(snapshot: &Snapshot, out: &mut dyn Write) -> Result<()> {
    for address in snapshot.all_sources() {
        let entry = snapshot.entry(address)?;
        let mut lines = vec![source_line(&entry)];
        lines.extend(entry.turns.iter().map(turn_line));
        lines.extend(entry.sentences.iter().map(sentence_line));
        lines.extend(entry.chunks.iter().map(chunk_line));
        lines.extend(entry.edges.iter().map(edge_line));
        for line in lines {
            let failed = |source| Error::Io { action: "write", path: PathBuf::from("the export"), source };
            writeln!(out, "{line}").map_err(failed)?;
        }
    }
    Ok(())
}

/// One JSON object whose names are in byte order, whatever features serde_json is built with.
fn object(row: &str, fields: Value) -> Value {
    let mut sorted = std::collections::BTreeMap::new();
    if let Value::Object(fields) = fields {
        sorted.extend(fields);
    }
    sorted.insert("row".to_owned(), Value::from(row));
    Value::Object(sorted.into_iter().collect::<Map<_, _>>())
}

fn time(at: Option<Timestamp>) -> Value {
    at.map_or(Value::Null, |at| Value::from(at.as_micros()))
}

fn source_line(entry: &SourceEntry) -> Value {
    let Source { id, scope, reader, key, title, kind, version, .. } = &entry.source;
    let source = &entry.source;
    let bytes: Vec<u8> = entry.vectors.iter().flat_map(|number| number.to_le_bytes()).collect();
    let fields = json!({
        "id": id.to_string(),
        "scope": scope.as_str(),
        "reader": reader,
        "key": key,
        "title": title,
        "kind": kind.as_str(),
        "version": version,
        "digest": source.digest.to_string(),
        "collection": source.collection,
        "path": source.path,
        "exported_at": time(source.exported_at),
        "n_tokens": source.n_tokens,
        "n_unknown": source.n_unknown,
        "n_replaced": source.n_replaced,
        "metadata": source.metadata,
        "text": entry.text,
        "vectors": blake3::hash(&bytes).to_hex().to_string(),
    });
    object("source", fields)
}

fn turn_line(turn: &Turn) -> Value {
    let fields = json!({
        "id": turn.id,
        "author": turn.author,
        "role": turn.role.as_str(),
        "said_at": time(turn.said_at),
        "said_at_origin": turn.said_at_origin.as_str(),
        "reply_to": turn.reply_to,
        "session": turn.session,
        "start": turn.span.start,
        "end": turn.span.end,
        "metadata": turn.metadata,
    });
    object("turn", fields)
}

fn sentence_line(sentence: &Sentence) -> Value {
    let fields = json!({
        "start": sentence.span.start,
        "end": sentence.span.end,
        "turn": sentence.turn,
        "digest": sentence.digest.to_string(),
        "n_tokens": sentence.n_tokens,
    });
    object("sentence", fields)
}

fn chunk_line(chunk: &Chunk) -> Value {
    let spans: Vec<[u64; 2]> = chunk.spans.iter().map(|span| [span.start, span.end]).collect();
    let fields = json!({
        "id": chunk.id.to_string(),
        "kind": chunk.kind.as_str(),
        "session": chunk.session,
        "sentences": chunk.sentences,
        "spans": spans,
        "n_tokens": chunk.n_tokens,
        "card": chunk.card,
        "entities": chunk.entities,
        "dates": chunk.dates,
        "preferences": chunk.preferences,
    });
    object("chunk", fields)
}

fn edge_line(edge: &Edge) -> Value {
    let fields = json!({
        "from": edge.from.to_string(),
        "to": edge.to.to_string(),
        "kind": edge.kind.as_str(),
        "weight": edge.weight,
    });
    object("edge", fields)
}
