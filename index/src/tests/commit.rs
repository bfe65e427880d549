//! Two writers, one truth.

use super::*;
use crate::{Error, commit_delete, plan_delete};

#[test]
fn writers_of_different_sources_both_win() {
    let root = tempfile::tempdir().unwrap();
    Store::open_or_create(root.path()).unwrap();
    let write = |writer: usize| {
        let store = Store::open(root.path()).unwrap();
        for i in 0..12 {
            let given = entry("local", &format!("w{writer}-{i}"), 1, "Ana: hello");
            store.commit(commit_of(vec![given], true)).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for writer in 0..3 {
            scope.spawn(move || write(writer));
        }
    });
    let store = Store::open(root.path()).unwrap();
    assert_eq!(store.snapshot().unwrap().sources(&grant("local")).len(), 36);
    let report = crate::verify(root.path()).unwrap();
    assert_eq!((report.problems, report.orphans), (vec![], vec![]));
}

#[test]
fn writers_of_one_source_conflict() {
    let (files, first) = memory_store();
    let second = open(&files);
    first.commit(commit_of(vec![entry("local", "k", 1, "Ana: one")], true)).unwrap();
    let error = second.commit(commit_of(vec![entry("local", "k", 1, "Ana: two")], true)).unwrap_err();
    assert!(matches!(error, Error::Conflict { found: 1, expected: 0, .. }), "{error}");
    assert_eq!(second.snapshot().unwrap().segments().len(), 1);
    second.commit(commit_of(vec![entry("local", "k", 2, "Ana: two")], true)).unwrap();
    let snapshot = first.snapshot().unwrap();
    let texts: Vec<String> = snapshot.all_sources().iter().map(|&a| snapshot.entry(a).unwrap().text).collect();
    assert_eq!(texts, ["two"]);
}

#[test]
fn another_embedder_is_refused() {
    let (_, store) = memory_store();
    store.commit(commit_of(vec![entry("local", "k", 1, "Ana: one")], true)).unwrap();
    let mut other = commit_of(vec![entry("local", "l", 1, "Ana: one")], true);
    other.embedder.digest = "ffff".to_owned();
    assert!(matches!(store.commit(other).unwrap_err(), Error::Embedder { .. }));
}

#[test]
fn broken_entries_are_refused() {
    let (_, store) = memory_store();
    let good = || entry("local", "k", 1, "Ana: one. two\nBo: three");
    let breaks: [fn(&mut SourceEntry); 6] = [
        |entry| entry.vectors.truncate(1),
        |entry| entry.sentences[0].turn = 1,
        |entry| entry.chunks[0].sentences = vec![9],
        |entry| entry.chunks[0].spans = vec![Span::new(0, 99)],
        |entry| entry.edges[0].from = ChunkId::from_bytes([0; 16]),
        |entry| entry.source.state = SourceState::Deleted,
    ];
    for (i, break_it) in breaks.iter().enumerate() {
        let mut bad = good();
        break_it(&mut bad);
        let error = store.commit(commit_of(vec![bad], true)).unwrap_err();
        assert!(matches!(error, Error::Invariant { .. }), "{i}: {error}");
    }
    let error = store.commit(commit_of(vec![good(), good()], true)).unwrap_err();
    assert!(matches!(error, Error::Invariant { .. }));
    assert_eq!(store.snapshot().unwrap().version(), 0);
}

#[test]
fn a_deleted_source_is_hidden_and_can_come_back() {
    let (_, store) = memory_store();
    let first = entry("local", "k", 1, "Ana: one. two. three");
    store.commit(commit_of(vec![first.clone(), entry("local", "l", 1, "Ana: stays")], false)).unwrap();
    let absent = SourceId::from_bytes([9; 16]);
    let plan = |store: &Store, scope: &str| {
        plan_delete(&store.snapshot().unwrap(), &grant(scope), &[first.source.id, absent]).unwrap()
    };
    assert_eq!(plan(&store, "other").sources, []);
    let planned = plan(&store, "local");
    assert_eq!(planned.not_found, [absent]);
    let counts = &planned.sources[0];
    assert_eq!((counts.n_turns, counts.n_sentences, counts.n_chunks, counts.n_edges), (1, 3, 3, 2));
    let stale = planned.clone();
    commit_delete(&store, planned, "ana", "asked", Timestamp::from_micros(20)).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.sources(&grant("local")).len(), 1);
    assert_eq!(snapshot.chunk(&grant("local"), &first.chunks[0].id), None);
    assert_eq!(snapshot.source_at(snapshot.newest(&first.source.id).unwrap()).version, 2);
    let error = commit_delete(&store, stale, "ana", "again", Timestamp::from_micros(21)).unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }));
    store.commit(commit_of(vec![entry("local", "k", 3, "Ana: back")], true)).unwrap();
    assert_eq!(store.snapshot().unwrap().sources(&grant("local")).len(), 2);
}

#[test]
fn an_old_snapshot_stays_as_it_was() {
    let (_, store) = memory_store();
    store.commit(commit_of(vec![entry("local", "k0", 1, "Ana: zero")], true)).unwrap();
    let old = store.snapshot().unwrap();
    let before = export(&old);
    for i in 1..40 {
        store.commit(commit_of(vec![entry("local", &format!("k{i}"), 1, "Ana: more")], true)).unwrap();
    }
    assert_eq!(export(&old), before);
    assert_eq!(old.version(), 1);
}
