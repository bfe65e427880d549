//! Questions over small stores: who may see what, what counts as one, and that the layout does not matter.

use super::*;
use crate::model::SourceState;
use crate::search::{Answer, ContextQuery, Hit, Query, Unit, WalkQuery, context, resolve_sources, search, walk};

const HARBOUR: &str = "Ana: The harbour is closed. It opens in May\nBo: Then we take the tram\nAna: The tram is late";

fn ask(store: &Store, scope: &str, unit: Unit, k: u32, text: &str) -> Answer {
    let snapshot = store.snapshot().unwrap();
    let query = Query { text: text.to_owned(), vector: vector(&TextDigest::of(text)), unit, k, sources: Vec::new() };
    search(&snapshot, &grant(scope), &query).unwrap()
}

fn shown(hits: &[Hit]) -> Vec<String> {
    hits.iter().map(|hit| format!("{} {} {:.4}", hit.source.key, hit.unit_id, hit.score)).collect()
}

#[test]
fn the_cut_into_segments_changes_no_answer() {
    let texts: Vec<String> = (0..24).map(|i| format!("Ana: note {i} of the harbour\nBo: tram {}", i * 7)).collect();
    let entries = || texts.iter().enumerate().map(|(i, text)| entry("local", &format!("k{i:02}"), 1, text));
    let (_, at_once) = memory_store();
    at_once.commit(commit_of(entries().collect(), false)).unwrap();
    let (_, one_by_one) = memory_store();
    for entry in entries() {
        one_by_one.commit(commit_of(vec![entry], true)).unwrap();
    }
    for unit in Unit::ALL {
        let (a, b) =
            (ask(&at_once, "local", unit, 7, "harbour tram 21"), ask(&one_by_one, "local", unit, 7, "harbour tram 21"));
        assert_eq!(a.hits, b.hits, "{unit:?}");
        assert_eq!(a.hits.len(), 7);
    }
}

#[test]
fn other_scopes_change_no_byte_of_an_answer() {
    let (_, alone) = memory_store();
    alone.commit(commit_of(vec![entry("acme/ana", "k", 1, HARBOUR)], false)).unwrap();
    let (_, beside) = memory_store();
    let others = ["acme/bo", "other"].map(|scope| entry(scope, "k", 1, "Eve: harbour harbour tram\nEve: harbour"));
    beside.commit(commit_of([vec![entry("acme/ana", "k", 1, HARBOUR)], others.to_vec()].concat(), false)).unwrap();
    for unit in Unit::ALL {
        let expected = ask(&alone, "acme/ana", unit, 10, "harbour tram").hits;
        assert_eq!(ask(&beside, "acme/ana", unit, 10, "harbour tram").hits, expected);
        assert!(!expected.is_empty());
    }
    // The twin: whoever may see both sees both.
    let both = ask(&beside, "acme", Unit::Source, 10, "harbour").hits;
    assert_eq!(both.iter().map(|hit| hit.source.scope.as_str()).collect::<Vec<_>>().len(), 2);
}

#[test]
fn equal_text_is_one_hit_with_its_places_and_k_is_a_ceiling() {
    let (_, store) = memory_store();
    let entries = ["a", "b", "c"].map(|key| entry("local", key, 1, "Ana: The harbour is closed")).to_vec();
    store.commit(commit_of(entries, false)).unwrap();
    let hits = ask(&store, "local", Unit::Turn, 10, "harbour").hits;
    assert_eq!(shown(&hits).len(), 1);
    let places: Vec<&str> = hits[0].places.iter().map(|place| place.source.key.as_str()).collect();
    assert_eq!((hits[0].source.key.as_str(), places), ("a", vec!["b", "c"]));
    store.commit(commit_of(vec![entry("local", "d", 1, HARBOUR)], true)).unwrap();
    assert_eq!(ask(&store, "local", Unit::Turn, 2, "harbour tram").hits.len(), 2);
    let refused = Query { text: " ".to_owned(), vector: Vec::new(), unit: Unit::Turn, k: 1, sources: Vec::new() };
    assert!(search(&store.snapshot().unwrap(), &grant("local"), &refused).is_err());
}

#[test]
fn only_the_newest_version_and_no_deleted_source_comes_back() {
    let (_, store) = memory_store();
    store.commit(commit_of(vec![entry("local", "a", 1, HARBOUR), entry("local", "b", 1, HARBOUR)], false)).unwrap();
    store.commit(commit_of(vec![entry("local", "a", 2, "Ana: The lighthouse is new")], true)).unwrap();
    let mut gone = entry("local", "b", 2, "");
    gone = SourceEntry { turns: Vec::new(), sentences: Vec::new(), vectors: Vec::new(), chunks: Vec::new(), ..gone };
    gone.source.state = SourceState::Deleted;
    gone.text.clear();
    store.commit(commit_of(vec![gone], true)).unwrap();
    let hits = ask(&store, "local", Unit::Turn, 10, "harbour lighthouse").hits;
    assert_eq!(hits.iter().map(|hit| hit.text.as_str()).collect::<Vec<_>>(), ["The lighthouse is new"]);
    let snapshot = store.snapshot().unwrap();
    assert!(resolve_sources(&snapshot, &grant("local"), &["b".to_owned()]).is_err());
    assert_eq!(resolve_sources(&snapshot, &grant("local"), &["a".to_owned()]).unwrap().len(), 1);
}

#[test]
fn a_walk_goes_both_ways_and_stays_in_sight() {
    let (_, store) = memory_store();
    let (mine, hidden) = (entry("acme/ana", "a", 1, HARBOUR), entry("acme/bo", "b", 1, HARBOUR));
    let (first, second, foreign) = (mine.chunks[0].id, mine.chunks[1].id, hidden.chunks[0].id);
    let mut linked = mine.clone();
    linked.edges.push(Edge { from: first, to: foreign, kind: EdgeKind::CrossSource, weight: 0.9 });
    store.commit(commit_of(vec![linked, hidden], false)).unwrap();
    let snapshot = store.snapshot().unwrap();
    let from =
        |chunk| WalkQuery { from: vec![chunk], hops: 2, k: 10, kinds: vec![EdgeKind::Next, EdgeKind::CrossSource] };
    let found = walk(&snapshot, &grant("acme/ana"), &from(second)).unwrap().reached;
    let back = found.iter().find(|reached| reached.hit.unit_id == first.to_string()).unwrap();
    assert!(!back.path[0].forward, "the edge was written the other way");
    assert!(found.iter().all(|reached| reached.hit.unit_id != foreign.to_string()));
    assert!(walk(&snapshot, &grant("acme/ana"), &from(foreign)).is_err());
    // The twin: who may see both ends walks across, and on.
    let found = walk(&snapshot, &grant("acme"), &from(second)).unwrap().reached;
    let across = found.iter().find(|reached| reached.hit.unit_id == foreign.to_string()).unwrap();
    assert_eq!((across.path.len(), across.hit.score), (2, 0.9));
}

#[test]
fn a_context_keeps_its_budget_and_its_caps() {
    let (_, store) = memory_store();
    let entries =
        (0..6).map(|i| entry("local", &format!("k{i}"), 1, &format!("Ana: harbour number {i}. It is closed")));
    store.commit(commit_of(entries.collect(), false)).unwrap();
    let snapshot = store.snapshot().unwrap();
    let words = |text: &str| text.split_whitespace().count() as u32;
    for max_tokens in [1, 20, 40, 60, 100, 1_000] {
        for k in [1, 3, 10] {
            let query =
                Query { text: "harbour".to_owned(), vector: Vec::new(), unit: Unit::Turn, k, sources: Vec::new() };
            let asked = ContextQuery { query, max_tokens, per_source_max: 1 };
            let found = context(&snapshot, &grant("local"), &asked, 7, &words).unwrap();
            assert!(words(&found.text) <= max_tokens && found.n_tokens <= max_tokens, "{max_tokens}: {}", found.text);
            assert!(found.records.len() <= k as usize);
            assert_eq!(found.records.is_empty(), found.text.is_empty());
        }
    }
    let query = Query { text: "harbour".to_owned(), vector: Vec::new(), unit: Unit::Turn, k: 3, sources: Vec::new() };
    let asked = ContextQuery { query, max_tokens: 1_000, per_source_max: 1 };
    assert_eq!(context(&snapshot, &grant("local"), &asked, 7, &words).unwrap().records.len(), 3);
}
