//! Merging bounds the folders and changes no content.

use super::*;
use crate::files::Files;

fn folders(files: &FaultyFiles) -> usize {
    files.list("segments").unwrap().len()
}

#[test]
fn merging_keeps_content_and_history() {
    let (files, store) = memory_store();
    let (_, plain) = memory_store();
    for i in 0..50u32 {
        let (key, version) = (format!("k{}", i % 20), i / 20 + 1);
        let given = entry("local", &key, version, &format!("Ana: version {version} of {key}. It is long\nBo: yes"));
        store.commit(commit_of(vec![given.clone()], true)).unwrap();
        let mut sealed = commit_of(vec![given], false);
        sealed.action = "import".to_owned();
        plain.commit(sealed).unwrap();
    }
    let snapshot = store.snapshot().unwrap();
    assert!(snapshot.segments().iter().any(|segment| !segment.is_live()));
    assert_eq!(export(&snapshot), export(&plain.snapshot().unwrap()));
    assert_eq!(export(&snapshot), export(&open(&files).snapshot().unwrap()));
    let n_versions: usize = snapshot.segments().iter().map(|segment| segment.sources().len()).sum();
    assert_eq!(n_versions, 50);
    let n_current: usize = snapshot.all_sources().len();
    assert_eq!(n_current, 20);
    assert_eq!(crate::verify::verify_place(store.place()).unwrap().problems, []);
    assert_eq!(folders(&files), snapshot.segments().len());
}

#[test]
fn a_thousand_live_commits_leave_few_folders() {
    let (files, store) = memory_store();
    let mut most = 0;
    for i in 0..1_000 {
        store.commit(commit_of(vec![entry("local", &format!("k{i}"), 1, "Ana: hello")], true)).unwrap();
        most = most.max(folders(&files));
    }
    assert!(most <= 32, "{most} folders");
    assert_eq!(store.snapshot().unwrap().all_sources().len(), 1_000);
}

#[test]
fn tenants_never_share_a_segment() {
    let (_, store) = memory_store();
    for i in 0..20 {
        let pair = ["acme", "local/a"].map(|scope| entry(scope, &format!("k{i}"), 1, "Ana: hello"));
        store.commit(commit_of(pair.to_vec(), true)).unwrap();
    }
    let snapshot = store.snapshot().unwrap();
    for segment in snapshot.segments() {
        assert!(segment.sources().iter().all(|source| source.scope.tenant() == segment.tenant()));
    }
    assert_eq!(snapshot.sources(&grant("acme")).len(), 20);
}

#[test]
fn only_orphans_are_swept() {
    let (files, store) = memory_store();
    store.commit(commit_of(vec![entry("local", "k", 1, "Ana: hello")], true)).unwrap();
    files.put_new("segments/dead-000/sources.parquet", b"half").unwrap();
    files.put_new("segments/busy-000/text/meta.json", b"half").unwrap();
    let busy = files.lock("locks/busy").unwrap();
    assert_eq!(store.sweep_orphans().unwrap(), 1);
    assert_eq!(folders(&files), 2);
    drop(busy);
    assert_eq!(store.sweep_orphans().unwrap(), 1);
    assert_eq!(folders(&files), 1);
    assert_eq!(open(&files).snapshot().unwrap().all_sources().len(), 1);
}
