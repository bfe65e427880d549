//! Hits, contexts and walks as people and programs read them.

use std::io;

use proto::v1;
use serde_json::{Map, Value, json};

use super::{Out, harmless, harmless_lines, minutes, rfc3339, snippet};

/// Characters of a hit's text shown to people.
const SNIPPET_CHARS: usize = 320;

/// Prints the hits of a search, best first.
///
/// # Errors
/// When stdout is gone.
pub fn answer(out: &mut Out, answer: &v1::SearchResponse) -> io::Result<()> {
    for (idx, hit) in answer.hits.iter().enumerate() {
        if out.is_json() {
            let mut value = hit_fields(hit);
            value.insert("rank".to_owned(), json!(idx + 1));
            value.insert("manifest_version".to_owned(), json!(answer.manifest_version));
            out.value(&Value::Object(value))?;
        } else {
            show(out, &(idx + 1).to_string(), hit)?;
        }
    }
    Ok(())
}

/// Prints a context: the block for people, all of it for programs.
///
/// # Errors
/// When stdout is gone.
pub fn context(out: &mut Out, context: &v1::GetContextResponse) -> io::Result<()> {
    if !out.is_json() {
        return out.line(harmless_lines(&context.text));
    }
    let records = context.records.iter().map(|record| {
        let mut value = record.hit.as_ref().map(hit_fields).unwrap_or_default();
        value.insert("citation".to_owned(), json!(record.citation));
        value.insert("cut".to_owned(), json!(record.cut));
        Value::Object(value)
    });
    out.value(&json!({
        "text": context.text,
        "n_tokens": context.n_tokens,
        "records": records.collect::<Vec<_>>(),
        "manifest_version": context.manifest_version,
    }))
}

/// Prints the chunks that a walk reached, best path first.
///
/// # Errors
/// When stdout is gone.
pub fn walk(out: &mut Out, walk: &v1::GraphWalkResponse) -> io::Result<()> {
    for (idx, reached) in walk.reached.iter().enumerate() {
        let Some(hit) = &reached.hit else { continue };
        if out.is_json() {
            let mut value = hit_fields(hit);
            value.insert("rank".to_owned(), json!(idx + 1));
            value.insert("path".to_owned(), reached.path.iter().map(hop_value).collect());
            value.insert("manifest_version".to_owned(), json!(walk.manifest_version));
            out.value(&Value::Object(value))?;
        } else {
            show(out, &(idx + 1).to_string(), hit)?;
            let path: Vec<String> = reached.path.iter().map(hop_words).collect();
            out.line(out.faint(&format!("    by {}", path.join(", then "))))?;
        }
    }
    Ok(())
}

/// Prints one hit for people: rank, score, source, time and author, then text and reasons.
///
/// # Errors
/// When stdout is gone.
pub fn show(out: &mut Out, rank: &str, hit: &v1::Hit) -> io::Result<()> {
    let source = hit.source.as_ref();
    let name = source.map_or("", |source| source.key.as_str());
    let mut head = format!("{rank:>2}  {:.3}  {}", hit.score, out.bold(&harmless(name)));
    if let Some(at) = &hit.said_at {
        let guess = if hit.said_at_origin() == v1::TimeOrigin::Inferred { "~" } else { "" };
        head.push_str(&format!("  {guess}{}", minutes(at)));
    }
    if !hit.author.is_empty() {
        head.push_str(&format!("  {}", harmless(&hit.author)));
    }
    out.line(head)?;
    out.line(format!("    {}", snippet(&hit.text, SNIPPET_CHARS)))?;
    let signals: Vec<String> =
        hit.signals.iter().map(|signal| format!("{} {:.2}", signal.name, signal.score)).collect();
    let title = source.map_or("", |source| source.title.as_str());
    let mut foot = format!("    {} {}", unit_name(hit.unit()), harmless(&hit.unit_id));
    if !title.is_empty() && title != name {
        foot.push_str(&format!(" · {}", snippet(title, 60)));
    }
    if !signals.is_empty() {
        foot.push_str(&format!(" · {}", signals.join(", ")));
    }
    if !hit.places.is_empty() {
        foot.push_str(&format!(" · also in {} more", hit.places.len()));
    }
    out.line(out.faint(&foot))
}

fn hit_fields(hit: &v1::Hit) -> Map<String, Value> {
    let source = hit.source.clone().unwrap_or_default();
    let signals: Map<String, Value> =
        hit.signals.iter().map(|signal| (signal.name.clone(), number(signal.score))).collect();
    let fields = json!({
        "unit": unit_name(hit.unit()),
        "unit_id": hit.unit_id,
        "source_id": source.id,
        "source_key": source.key,
        "source_title": source.title,
        "source_version": source.version,
        "reader": source.reader,
        "scope": source.scope,
        "chunk_kind": chunk_kind_name(hit.chunk_kind()),
        "spans": spans(&hit.spans),
        "turn_ids": hit.turn_ids,
        "text": hit.text,
        "author": hit.author,
        "role": role_name(hit.role()),
        "said_at": hit.said_at.as_ref().map(rfc3339),
        "said_at_origin": origin_name(hit.said_at_origin()),
        "score": number(hit.score),
        "signals": signals,
        "places": hit.places.iter().map(place_value).collect::<Vec<_>>(),
    });
    match fields {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// A number as it was computed, without the digits that a wider type would add.
pub fn number(value: f32) -> Value {
    value.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

fn place_value(place: &v1::Place) -> Value {
    let source = place.source.clone().unwrap_or_default();
    json!({
        "unit_id": place.unit_id,
        "source_id": source.id,
        "source_key": source.key,
        "scope": source.scope,
        "spans": spans(&place.spans),
        "turn_ids": place.turn_ids,
    })
}

fn spans(spans: &[v1::Span]) -> Value {
    spans.iter().map(|span| json!([span.start, span.end])).collect()
}

fn hop_value(hop: &v1::Hop) -> Value {
    json!({
        "from": hop.from_chunk_id,
        "to": hop.to_chunk_id,
        "kind": edge_kind_name(hop.kind()),
        "forward": hop.forward,
        "weight": number(hop.weight),
    })
}

fn hop_words(hop: &v1::Hop) -> String {
    let direction = if hop.forward { "" } else { " backwards" };
    format!("{}{direction} {:.2}", edge_kind_name(hop.kind()), hop.weight)
}

/// The name of a unit in answers.
pub fn unit_name(unit: v1::Unit) -> &'static str {
    match unit {
        v1::Unit::Unspecified | v1::Unit::Chunk => "chunk",
        v1::Unit::Turn => "turn",
        v1::Unit::Session => "session",
        v1::Unit::Source => "source",
    }
}

fn chunk_kind_name(kind: v1::ChunkKind) -> Option<&'static str> {
    match kind {
        v1::ChunkKind::Unspecified => None,
        v1::ChunkKind::Community => Some("community"),
        v1::ChunkKind::Exchange => Some("exchange"),
        v1::ChunkKind::Paragraph => Some("paragraph"),
        v1::ChunkKind::FactsCard => Some("facts_card"),
    }
}

fn edge_kind_name(kind: v1::EdgeKind) -> &'static str {
    match kind {
        v1::EdgeKind::Unspecified => "unknown",
        v1::EdgeKind::Next => "next",
        v1::EdgeKind::Similar => "similar",
        v1::EdgeKind::Entity => "entity",
        v1::EdgeKind::CrossSource => "cross_source",
        v1::EdgeKind::SameCommunity => "same_community",
    }
}

/// The name of a role in answers.
pub fn role_name(role: v1::Role) -> &'static str {
    match role {
        v1::Role::Unspecified => "unknown",
        v1::Role::User => "user",
        v1::Role::Assistant => "assistant",
        v1::Role::System => "system",
        v1::Role::Tool => "tool",
    }
}

/// The name of a time's origin in answers.
pub fn origin_name(origin: v1::TimeOrigin) -> &'static str {
    match origin {
        v1::TimeOrigin::Unspecified => "unknown",
        v1::TimeOrigin::Given => "given",
        v1::TimeOrigin::Inferred => "inferred",
    }
}
