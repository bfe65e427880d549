//! What is written comes back, live and sealed alike.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::Field;
use crate::analyze::Analyzer;

fn entries() -> impl Strategy<Value = Vec<SourceEntry>> {
    let line = "(Ana|Bo|)(: )[a-zé犬東京 ]{0,12}(\\. [a-z]{1,5})?";
    let lines = prop::collection::vec(line, 0..5).prop_map(|lines| lines.join("\n"));
    prop::collection::btree_map("[a-z]{1,4}", (0..3usize, lines), 1..6).prop_map(|sources| {
        let scopes = ["local", "local/notes", "acme/eng"];
        sources.into_iter().map(|(key, (scope, lines))| entry(scopes[scope], &key, 1, &lines)).collect()
    })
}

fn read_back(snapshot: &Snapshot) -> Vec<SourceEntry> {
    snapshot.all_sources().into_iter().map(|address| snapshot.entry(address).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn entries_come_back(mut given in entries(), live: bool) {
        let (files, store) = memory_store();
        store.commit(commit_of(given.clone(), live)).unwrap();
        given.sort_by(|a, b| (&a.source.scope, &a.source.key).cmp(&(&b.source.scope, &b.source.key)));
        prop_assert_eq!(read_back(&store.snapshot().unwrap()), given.clone());
        prop_assert_eq!(read_back(&open(&files).snapshot().unwrap()), given);
        let report = crate::verify::verify_place(store.place()).unwrap();
        prop_assert_eq!(report.problems, vec![]);
    }

    #[test]
    fn live_and_sealed_answer_alike(given in entries()) {
        let (_, live) = memory_store();
        let (_, sealed) = memory_store();
        live.commit(commit_of(given.clone(), true)).unwrap();
        sealed.commit(commit_of(given.clone(), false)).unwrap();
        let (live, sealed) = (live.snapshot().unwrap(), sealed.snapshot().unwrap());
        let analyzer = Analyzer::default();
        let terms: BTreeSet<String> = given.iter().flat_map(|entry| analyzer.terms(&entry.text)).collect();
        for (a, b) in live.segments().iter().zip(sealed.segments()) {
            for term in terms.iter().map(String::as_str).chain(["ana", "bo", "absent"]) {
                for field in [Field::Turn, Field::Chunk] {
                    let postings = |segment: &crate::Segment| {
                        let mut found = Vec::new();
                        segment.postings(field, term, &mut |row, n| found.push((row, n))).unwrap();
                        found
                    };
                    prop_assert_eq!(postings(a), postings(b), "{:?} {}", field, term);
                }
            }
            prop_assert_eq!(export(&live), export(&sealed));
        }
    }
}

#[test]
fn rows_are_found_by_id_scope_and_text() {
    let (_, store) = memory_store();
    let given = entry("local/notes", "k", 1, "Ana: I moved to Lisbon. It is warm\nBo: Nice");
    store.commit(commit_of(vec![given.clone(), entry("acme", "k", 1, "Eve: Secret")], false)).unwrap();
    let snapshot = store.snapshot().unwrap();
    let address = snapshot.source(&grant("local"), &given.source.id).unwrap();
    let segment = &snapshot.segments()[address.segment as usize];
    assert_eq!(&*segment.text(address.row).unwrap(), "I moved to Lisbon. It is warm\nNice");
    assert_eq!(segment.turn_text(1).unwrap(), "Nice");
    assert_eq!(segment.chunk_text(0).unwrap(), "I moved to Lisbon.\nIt is warm");
    assert_eq!(segment.chunk_text(2).unwrap(), "names: Ana, Lisbon");
    assert_eq!(segment.n_terms(Field::Turn, 0), 4);
    assert_eq!(segment.source_of_chunk(2), address.row);
    let chunk = given.chunks[0].id;
    assert_eq!(snapshot.chunk(&grant("local"), &chunk).map(|found| found.row), Some(0));
    assert_eq!(snapshot.chunk(&grant("local/other"), &chunk), None);
    assert_eq!(snapshot.source(&grant("acme"), &given.source.id), None);
    assert_eq!(snapshot.sources(&grant("acme")).len(), 1);
    let digest = given.sentences[2].digest;
    let found = snapshot.vectors_of([digest, TextDigest::of("never said")].into()).unwrap();
    assert_eq!(found, [(digest, vector(&digest))].into());
}

#[test]
fn the_nearest_allowed_sentence_is_found() {
    let (_, store) = memory_store();
    let lines: Vec<String> = (0..40).map(|i| format!("Ana: thing number {i}")).collect();
    store.commit(commit_of(vec![entry("local", "k", 1, &lines.join("\n"))], false)).unwrap();
    let snapshot = store.snapshot().unwrap();
    let segment = &snapshot.segments()[0];
    let asked = segment.vector_of(17).unwrap().to_vec();
    let found = segment.nearest(&asked, 3, &|_| true).unwrap().unwrap();
    assert_eq!((found.len(), found[0].0), (3, 17));
    assert!((found[0].1 - 1.0).abs() < 1e-5);
    let found = segment.nearest(&asked, 3, &|row| row % 2 == 0).unwrap().unwrap();
    assert!(found.iter().all(|(row, _)| row % 2 == 0));
    assert!(segment.nearest(&[1.0], 3, &|_| true).is_err());
}

#[test]
fn equal_input_gives_equal_tables() {
    let given = || vec![entry("local", "b", 1, "Ana: one. two"), entry("local", "a", 1, "Bo: three")];
    let mut reversed = given();
    reversed.reverse();
    let dumps = [given(), reversed].map(|entries| {
        let (files, store) = memory_store();
        store.commit(commit_of(entries, false)).unwrap();
        let named = |(path, bytes): (String, bytes::Bytes)| Some((path.rsplit_once('/')?.1.to_owned(), bytes));
        let is_table = |(name, _): &(String, bytes::Bytes)| name.ends_with(".parquet") || name.starts_with("0000");
        let rows = files.dump().into_iter().filter(|(path, _)| path.starts_with("segments"));
        rows.filter_map(named).filter(is_table).collect::<Vec<_>>()
    });
    assert!(dumps[0].len() > 8);
    assert!(dumps[0] == dumps[1]);
}
