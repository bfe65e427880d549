//! A crash at every operation opens as the version before or the one after.

use super::*;
use crate::files::{Fault, Files, Moment};

const BEFORE: usize = 18;

/// A store one commit short of a merge.
fn prepared() -> (Arc<FaultyFiles>, String) {
    let (files, store) = memory_store();
    for i in 0..BEFORE {
        // One merge has happened by then, and sixteen live segments stand again.
        let live = if i == 0 { 17 } else { 1 };
        for j in 0..live {
            let key = format!("k{i}-{j}");
            store.commit(commit_of(vec![entry("local", &key, 1, "Ana: hello. Twice")], true)).unwrap();
        }
        if store.snapshot().unwrap().segments().iter().filter(|segment| segment.is_live()).count() == 16 {
            break;
        }
    }
    (Arc::new(files.after_crash(|_| true)), export(&store.snapshot().unwrap()))
}

fn next() -> Commit {
    commit_of(vec![entry("local", "new", 1, "Ana: the new one. It came last")], true)
}

/// How many operations the next commit takes, with its merge.
fn n_ops(files: &FaultyFiles) -> usize {
    let files = Arc::new(files.after_crash(|_| true));
    let store = open(&files);
    files.set_fault(None);
    store.commit(next()).unwrap();
    files.ops().len()
}

#[test]
fn every_operation_may_be_the_last() {
    let (prepared, old) = prepared();
    let n_ops = n_ops(&prepared);
    assert!(n_ops > 60, "{n_ops} operations");
    let new = {
        let files = Arc::new(prepared.after_crash(|_| true));
        let store = open(&files);
        store.commit(next()).unwrap();
        export(&store.snapshot().unwrap())
    };
    let (mut n_old, mut n_new) = (0, 0);
    for at in 0..=n_ops {
        // A stop after an operation is a stop before the next one.
        for moment in [Moment::Before, Moment::Amid] {
            let files = Arc::new(prepared.after_crash(|_| true));
            let store = open(&files);
            files.set_fault(Some(Fault { at, moment, stops: true }));
            let acknowledged = store.commit(next()).is_ok();
            drop(store);
            // Names that were not synced: all kept, none kept, or some of them.
            for keep in 0..3u8 {
                let keep = |name: &str| match keep {
                    0 => true,
                    1 => false,
                    _ => name.bytes().fold(keep, u8::wrapping_add) % 2 == 0,
                };
                let left = Arc::new(files.after_crash(keep));
                let found = export(&open(&left).snapshot().unwrap());
                assert!(found == old || found == new, "operation {at} {moment:?}");
                assert!(!acknowledged || found == new, "operation {at} {moment:?}: acknowledged and lost");
                if found == old { n_old += 1 } else { n_new += 1 }
            }
        }
    }
    assert!(n_old > 0 && n_new > 0);
}

#[test]
fn every_operation_may_fail_once() {
    let (prepared, old) = prepared();
    for at in 0..n_ops(&prepared) {
        let files = Arc::new(prepared.after_crash(|_| true));
        let store = open(&files);
        files.set_fault(Some(Fault { at, moment: Moment::Before, stops: false }));
        let committed = store.commit(next()).is_ok();
        files.set_fault(None);
        let found = export(&store.snapshot().unwrap());
        assert!(!committed || found != old, "operation {at}");
        // The store goes on: the same again either works or is already there.
        let again = store.commit(next());
        assert!(again.is_ok() || found != old, "operation {at}: {again:?}");
        store.sweep_orphans().unwrap();
        let n_folders = files.list("segments").unwrap().len();
        assert_eq!(n_folders, store.snapshot().unwrap().segments().len(), "operation {at}");
        assert_eq!(crate::verify::verify_place(store.place()).unwrap().problems, [], "operation {at}");
    }
}

#[test]
fn numbers_are_never_used_twice() {
    let (files, store) = memory_store();
    for i in 0..40 {
        let committed = store.commit(commit_of(vec![entry("local", &format!("k{i}"), 1, "Ana: hi")], true)).unwrap();
        assert!(committed.version > i);
    }
    let names = files.list("manifest").unwrap();
    let expected: Vec<String> = (1..=names.len()).map(|number| format!("{number:020}")).collect();
    assert_eq!(names, expected);
}
