//! Assembles a context: the best passages within a token budget, fenced and cited.
//!
//! Diversity belongs here, not in the ranking: at most so many records a source, none that repeats
//! sentences already shown, no facts cards (they are an index and quote nothing).

use std::collections::{HashMap, HashSet};

use super::fence;
use super::query::{Context, ContextQuery, Hit, K_MAX, Query, Record};
use super::search;
use crate::error::{Error, Result};
use crate::model::{ChunkKind, ScopeSet, SourceId, Span};
use crate::snapshot::Snapshot;

/// How many hits are looked at for each record asked: overlap and caps drop some.
const HITS_PER_RECORD: u32 = 4;
/// A record of which more than this share was shown already is left out.
const SHOWN_SHARE_MAX: f64 = 0.5;
/// A record is cut rather than left out only while at least this many tokens remain for its text.
const CUT_TOKENS_MIN: u32 = 24;

/// Builds the context that answers `query`, never above `max_tokens` by `count` and never above `k` records.
///
/// `nonce` makes the fence unguessable: a fresh random number for each answer. `count` says how many
/// tokens a text has and must not be smaller for a text than for a part of it.
///
/// # Errors
/// As [`search`]; also [`Error::OutOfRange`] where `max_tokens` or `per_source_max` is 0.
pub fn context(
    snapshot: &Snapshot,
    scopes: &ScopeSet,
    query: &ContextQuery,
    nonce: u128,
    count: &dyn Fn(&str) -> u32,
) -> Result<Context> {
    for (what, given) in [("max_tokens", query.max_tokens), ("per_source_max", query.per_source_max)] {
        if given == 0 {
            return Err(Error::OutOfRange { what, given: "0".to_owned(), allowed: "at least 1" });
        }
    }
    query.query.check()?;
    let wider = Query { k: query.query.k.saturating_mul(HITS_PER_RECORD).min(K_MAX), ..query.query.clone() };
    let answer = search(snapshot, scopes, &wider)?;
    let mut block = Block::open(nonce, query.max_tokens, count);
    let mut shown = Shown::default();
    for hit in answer.hits {
        if block.records.len() == query.query.k as usize {
            break;
        }
        if hit.chunk_kind == Some(ChunkKind::FactsCard) || !shown.admits(&hit, query.per_source_max) {
            continue;
        }
        let (source, spans) = (hit.source.id, hit.spans.clone());
        if block.add(hit) {
            shown.add(source, &spans);
        }
    }
    Ok(block.close(answer.version))
}

/// What a context shows already, by source.
#[derive(Default)]
struct Shown(HashMap<SourceId, (u32, HashSet<Span>)>);

impl Shown {
    fn admits(&self, hit: &Hit, per_source_max: u32) -> bool {
        let Some((n_records, spans)) = self.0.get(&hit.source.id) else {
            return true;
        };
        let total: u64 = hit.spans.iter().map(|span| span.len()).sum();
        let repeated: u64 = hit.spans.iter().map(|span| overlap(*span, spans)).sum();
        *n_records < per_source_max && repeated as f64 <= SHOWN_SHARE_MAX * total as f64
    }

    fn add(&mut self, source: SourceId, spans: &[Span]) {
        let (n_records, known) = self.0.entry(source).or_default();
        *n_records += 1;
        known.extend(spans);
    }
}

/// Bytes of `span` that `spans` cover, counted once a covering span.
fn overlap(span: Span, spans: &HashSet<Span>) -> u64 {
    let common = |other: &Span| other.end.min(span.end).saturating_sub(other.start.max(span.start));
    spans.iter().map(common).sum::<u64>().min(span.len())
}

/// A block under construction; its closing fence is paid for from the start.
struct Block<'a> {
    count: &'a dyn Fn(&str) -> u32,
    nonce: u128,
    max_tokens: u32,
    n_tokens: u32,
    text: String,
    records: Vec<Record>,
}

impl<'a> Block<'a> {
    fn open(nonce: u128, max_tokens: u32, count: &'a dyn Fn(&str) -> u32) -> Self {
        let text = fence::opening(nonce);
        Self {
            n_tokens: count(&text) + count(&fence::closing(nonce)),
            count,
            nonce,
            max_tokens,
            text,
            records: Vec::new(),
        }
    }

    /// Adds `hit` whole, or cut at the end of a word where enough budget is left; says whether it did.
    fn add(&mut self, hit: Hit) -> bool {
        let citation = self.records.len() as u32 + 1;
        let head = fence::head(citation, &hit, false);
        let body = fence::body(&hit.text);
        let cost = (self.count)(&head) + (self.count)(&body);
        if self.n_tokens + cost <= self.max_tokens {
            self.push(head, body, cost, Record { citation, hit, cut: false });
            return true;
        }
        let head = fence::head(citation, &hit, true);
        let left = self.max_tokens.saturating_sub(self.n_tokens + (self.count)(&head));
        if left < CUT_TOKENS_MIN {
            return false;
        }
        let kept = self.longest_prefix(&hit.text, left).to_owned();
        if kept.is_empty() {
            return false;
        }
        let body = fence::body(&kept);
        let cost = (self.count)(&head) + (self.count)(&body);
        let record = Record { citation, hit: Hit { text: kept, ..hit }, cut: true };
        self.push(head, body, cost, record);
        true
    }

    fn push(&mut self, head: String, body: String, cost: u32, record: Record) {
        self.text.push_str(&head);
        self.text.push_str(&body);
        self.n_tokens += cost;
        self.records.push(record);
    }

    /// The longest prefix of whole words whose quoted form has at most `budget` tokens.
    fn longest_prefix<'t>(&self, text: &'t str, budget: u32) -> &'t str {
        let ends: Vec<usize> = text
            .char_indices()
            .filter(|(_, letter)| letter.is_whitespace())
            .map(|(at, _)| at)
            .chain([text.len()])
            .collect();
        let fits = |end: &usize| (self.count)(&fence::body(&text[..*end])) <= budget;
        match ends.partition_point(fits) {
            0 => "",
            n => text[..ends[n - 1]].trim_end(),
        }
    }

    fn close(mut self, version: u64) -> Context {
        if self.records.is_empty() {
            // An empty fence would spend tokens to say nothing.
            return Context { version, text: String::new(), n_tokens: 0, records: Vec::new() };
        }
        self.text.push_str(&fence::closing(self.nonce));
        Context {
            version,
            n_tokens: (self.count)(&self.text).min(self.n_tokens),
            text: self.text,
            records: self.records,
        }
    }
}
