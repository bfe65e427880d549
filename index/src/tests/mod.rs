//! Tests of the whole store, and the small sources that they are made of.

mod commit;
mod corrupt;
mod crash;
mod merge;
mod round_trip;
mod search;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::files::FaultyFiles;
use crate::model::{
    Chunk, ChunkId, ChunkKind, Edge, EdgeKind, Role, Scope, Sentence, Source, SourceEntry, SourceId, SourceKind,
    SourceState, Span, TextDigest, TimeOrigin, Timestamp, Turn,
};
use crate::{Commit, EmbedderIdentity, Snapshot, Store, export_canonical};

const DIM: usize = 8;

pub(crate) fn embedder() -> EmbedderIdentity {
    EmbedderIdentity {
        name: "hashed".to_owned(),
        digest: "0123456789abcdef".to_owned(),
        dim: DIM as u32,
        pooling: "mean".to_owned(),
        query_prompt: String::new(),
        passage_prompt: String::new(),
        window: 512,
    }
}

/// A source version from lines `author: body`, each a turn; bodies are cut into sentences after `. `.
pub(crate) fn entry(scope: &str, key: &str, version: u32, lines: &str) -> SourceEntry {
    let id = SourceId::of(scope, "chat", key);
    let mut text = String::new();
    let mut turns = Vec::new();
    let mut sentences = Vec::new();
    for (i, line) in lines.lines().enumerate() {
        let (author, body) = line.split_once(": ").unwrap_or(("", line));
        if i > 0 {
            text.push('\n');
        }
        let start = text.len() as u64;
        for part in body.split_inclusive(". ") {
            let at = text.len() as u64;
            text.push_str(part);
            let span = Span::new(at, at + part.trim_end().len() as u64);
            let digest = TextDigest::of(part.trim_end());
            sentences.push(Sentence { span, turn: i as u32, digest, n_tokens: 3 });
        }
        turns.push(Turn {
            id: format!("m{i}"),
            author: author.to_owned(),
            role: if i % 2 == 0 { Role::User } else { Role::Assistant },
            said_at: (i % 3 != 0).then(|| Timestamp::from_micros(1_700_000_000_000_000 + i as i64)),
            said_at_origin: if i % 3 == 0 { TimeOrigin::Unknown } else { TimeOrigin::Given },
            reply_to: (i > 0).then(|| format!("m{}", i - 1)),
            session: 0,
            span: Span::new(start, text.len() as u64),
            metadata: BTreeMap::from([("n".to_owned(), i.to_string())]),
        });
    }
    let chunks = chunks_of(id, &sentences, version);
    let edge = |pair: &[Chunk]| Edge { from: pair[0].id, to: pair[1].id, kind: EdgeKind::Next, weight: 1.0 };
    SourceEntry {
        source: source(scope, key, version, &text),
        edges: chunks.windows(2).map(edge).collect(),
        vectors: sentences.iter().flat_map(|sentence| vector(&sentence.digest)).collect(),
        text,
        turns,
        sentences,
        chunks,
    }
}

fn chunks_of(id: SourceId, sentences: &[Sentence], version: u32) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for (i, pair) in sentences.chunks(2).enumerate() {
        let kind = if i % 2 == 0 { ChunkKind::Exchange } else { ChunkKind::Community };
        let digests: Vec<TextDigest> = pair.iter().map(|sentence| sentence.digest).collect();
        let nth = (0..).find(|&nth| chunks.iter().all(|c| c.id != ChunkId::of(id, kind.as_str(), &digests, nth)));
        chunks.push(Chunk {
            id: ChunkId::of(id, kind.as_str(), &digests, nth.unwrap()),
            kind,
            session: 0,
            sentences: (0..pair.len()).map(|j| (2 * i + j) as u32).collect(),
            spans: pair.iter().map(|sentence| sentence.span).collect(),
            n_tokens: 6,
            card: None,
            entities: vec!["ana".to_owned()],
            dates: Vec::new(),
            preferences: vec!["tea".to_owned(), format!("v{version}")],
        });
    }
    if !chunks.is_empty() {
        chunks.push(Chunk {
            id: ChunkId::of(id, "facts_card", &[], 0),
            kind: ChunkKind::FactsCard,
            sentences: Vec::new(),
            spans: Vec::new(),
            card: Some("names: Ana, Lisbon".to_owned()),
            ..chunks[0].clone()
        });
    }
    chunks
}

fn source(scope: &str, key: &str, version: u32, text: &str) -> Source {
    Source {
        id: SourceId::of(scope, "chat", key),
        scope: Scope::parse(scope).unwrap(),
        reader: "chat".to_owned(),
        key: key.to_owned(),
        title: format!("Title of {key}"),
        kind: SourceKind::Conversation,
        version,
        state: SourceState::Live,
        digest: TextDigest::of(text),
        collection: "c".to_owned(),
        path: format!("{key}.json"),
        exported_at: (version > 1).then(|| Timestamp::from_micros(5)),
        recorded_at: Timestamp::from_micros(7),
        n_tokens: 9,
        n_unknown: 1,
        n_replaced: 0,
        metadata: BTreeMap::from([("lang".to_owned(), "en".to_owned())]),
    }
}

/// A unit vector that depends on the text alone.
pub(crate) fn vector(digest: &TextDigest) -> Vec<f32> {
    let raw: Vec<f32> = digest.as_bytes().iter().take(DIM).map(|&b| f32::from(b) - 127.5).collect();
    let length = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
    raw.iter().map(|x| x / length).collect()
}

pub(crate) fn commit_of(entries: Vec<SourceEntry>, live: bool) -> Commit {
    Commit {
        actor: "ana".to_owned(),
        action: "add".to_owned(),
        reason: "a test".to_owned(),
        at: Timestamp::from_micros(11),
        embedder: embedder(),
        settings: BTreeMap::from([("k".to_owned(), "v".to_owned())]),
        live,
        entries,
    }
}

pub(crate) fn export(snapshot: &Snapshot) -> String {
    let mut out = Vec::new();
    export_canonical(snapshot, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn memory_store() -> (Arc<FaultyFiles>, Store) {
    let files = Arc::new(FaultyFiles::default());
    let store = open(&files);
    (files, store)
}

pub(crate) fn open(files: &Arc<FaultyFiles>) -> Store {
    Store::with_files(Arc::clone(files) as Arc<dyn crate::Files>, Path::new("mem")).unwrap()
}

pub(crate) fn grant(scope: &str) -> crate::model::ScopeSet {
    crate::model::ScopeSet::grant(Scope::parse(scope).unwrap())
}
