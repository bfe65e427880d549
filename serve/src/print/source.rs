//! Sources, plans to delete them, and numbers, as people and programs read them.

use std::io;

use proto::v1;
use serde_json::{Value, json};

use super::hit::{origin_name, role_name};
use super::{Out, harmless, harmless_lines, minutes, rfc3339, snippet};

/// Prints one source of a listing.
///
/// # Errors
/// When stdout is gone.
pub fn listed(out: &mut Out, source: &v1::Source) -> io::Result<()> {
    if out.is_json() {
        return out.value(&value(source));
    }
    let named = source.r#ref.clone().unwrap_or_default();
    let recorded = source.recorded_at.as_ref().map(minutes).unwrap_or_default();
    let about = format!(
        "{}  v{}  {recorded}  {} tokens  {}",
        kind_name(named.kind()),
        named.version,
        source.n_tokens,
        snippet(&named.title, 60),
    );
    out.line(format!("{}  {}", out.bold(&harmless(&named.key)), about.trim_end()))?;
    out.line(out.faint(&format!("    {}  {}", named.id, named.scope)))
}

/// Prints one source with its text.
///
/// # Errors
/// When stdout is gone.
pub fn shown(out: &mut Out, answer: &v1::GetSourceResponse) -> io::Result<()> {
    let source = answer.source.clone().unwrap_or_default();
    if out.is_json() {
        let mut whole = value(&source);
        whole["text"] = json!(answer.text);
        whole["turns"] = answer.turns.iter().map(turn_value).collect();
        whole["manifest_version"] = json!(answer.manifest_version);
        return out.value(&whole);
    }
    listed(out, &source)?;
    for (name, what) in &source.metadata {
        out.line(out.faint(&format!("    {}: {}", harmless(name), snippet(what, 200))))?;
    }
    out.line("")?;
    if answer.turns.is_empty() {
        return out.line(harmless_lines(&answer.text));
    }
    for turn in &answer.turns {
        show_turn(out, answer, turn)?;
    }
    Ok(())
}

fn show_turn(out: &mut Out, answer: &v1::GetSourceResponse, turn: &v1::Turn) -> io::Result<()> {
    let when = turn.said_at.as_ref().map(minutes).unwrap_or_default();
    let author = if turn.author.is_empty() { role_name(turn.role()) } else { &turn.author };
    let body = body(answer, turn).unwrap_or_default();
    out.line(out.faint(&format!("[{}] {when} {}", harmless(&turn.id), harmless(author))))?;
    out.line(harmless_lines(body))
}

/// A turn's body, as far as the answered range holds it.
fn body<'a>(answer: &'a v1::GetSourceResponse, turn: &v1::Turn) -> Option<&'a str> {
    let span = turn.span.as_ref()?;
    let start = span.start.saturating_sub(answer.offset_bytes);
    let end = span.end.saturating_sub(answer.offset_bytes);
    let end = usize::try_from(end).ok()?.min(answer.text.len());
    answer.text.get(usize::try_from(start).ok()?..end)
}

/// Prints what a deletion would hide, or hid.
///
/// # Errors
/// When stdout is gone.
pub fn deletion(out: &mut Out, answer: &v1::DeleteSourceResponse) -> io::Result<()> {
    let plan = answer.plan.clone().unwrap_or_default();
    if out.is_json() {
        let sources: Vec<Value> = plan.sources.iter().map(planned_value).collect();
        return out.value(&json!({
            "committed": answer.committed,
            "manifest_version": answer.manifest_version,
            "base_version": plan.base_version,
            "etag": plan.etag,
            "sources": sources,
        }));
    }
    for planned in &plan.sources {
        let source = planned.source.clone().unwrap_or_default();
        out.line(format!(
            "{}  {}  {} turns, {} sentences, {} chunks, {} edges",
            if answer.committed { "deleted" } else { "would delete" },
            out.bold(&harmless(&source.key)),
            planned.n_turns,
            planned.n_sentences,
            planned.n_chunks,
            planned.n_edges,
        ))?;
    }
    Ok(())
}

/// Prints the numbers of a scope.
///
/// # Errors
/// When stdout is gone.
pub fn stats(out: &mut Out, stats: &v1::StatsResponse) -> io::Result<()> {
    if out.is_json() {
        return out.value(&json!({
            "manifest_version": stats.manifest_version,
            "embedder": stats.embedder,
            "n_sources": stats.n_sources,
            "n_documents": stats.n_documents,
            "n_conversations": stats.n_conversations,
            "n_turns": stats.n_turns,
            "n_sentences": stats.n_sentences,
            "n_chunks": stats.n_chunks,
            "n_tokens": stats.n_tokens,
        }));
    }
    let embedder = if stats.embedder.is_empty() { "none yet" } else { &stats.embedder };
    let rows = [
        ("version", stats.manifest_version.to_string()),
        ("embedder", harmless(embedder)),
        ("sources", stats.n_sources.to_string()),
        ("  documents", stats.n_documents.to_string()),
        ("  conversations", stats.n_conversations.to_string()),
        ("turns", stats.n_turns.to_string()),
        ("sentences", stats.n_sentences.to_string()),
        ("chunks", stats.n_chunks.to_string()),
        ("tokens", stats.n_tokens.to_string()),
    ];
    for (name, number) in rows {
        out.line(format!("{name:<16} {number}"))?;
    }
    Ok(())
}

fn value(source: &v1::Source) -> Value {
    let named = source.r#ref.clone().unwrap_or_default();
    json!({
        "source_id": named.id,
        "source_key": named.key,
        "title": named.title,
        "scope": named.scope,
        "kind": kind_name(named.kind()),
        "reader": named.reader,
        "version": named.version,
        "collection": source.collection,
        "path": source.path,
        "exported_at": source.exported_at.as_ref().map(rfc3339),
        "recorded_at": source.recorded_at.as_ref().map(rfc3339),
        "n_tokens": source.n_tokens,
        "n_unknown": source.n_unknown,
        "n_replaced": source.n_replaced,
        "digest": source.digest,
        "metadata": source.metadata,
    })
}

fn turn_value(turn: &v1::Turn) -> Value {
    let span = turn.span.unwrap_or_default();
    json!({
        "id": turn.id,
        "author": turn.author,
        "role": role_name(turn.role()),
        "said_at": turn.said_at.as_ref().map(rfc3339),
        "said_at_origin": origin_name(turn.said_at_origin()),
        "reply_to": turn.reply_to,
        "session": turn.session,
        "span": [span.start, span.end],
        "metadata": turn.metadata,
    })
}

fn planned_value(planned: &v1::PlannedDelete) -> Value {
    let source = planned.source.clone().unwrap_or_default();
    json!({
        "source_id": source.id,
        "source_key": source.key,
        "scope": source.scope,
        "version": source.version,
        "n_turns": planned.n_turns,
        "n_sentences": planned.n_sentences,
        "n_chunks": planned.n_chunks,
        "n_edges": planned.n_edges,
    })
}

fn kind_name(kind: v1::SourceKind) -> &'static str {
    match kind {
        v1::SourceKind::Unspecified => "unknown",
        v1::SourceKind::Document => "document",
        v1::SourceKind::Conversation => "conversation",
    }
}
