//! Damaged bytes are named, whatever file they are in, before any loader sees them.

use super::*;
use crate::Error;
use bytes::Bytes;

/// A store with a sealed and a live segment.
fn small() -> Arc<FaultyFiles> {
    let (files, store) = memory_store();
    store.commit(commit_of(vec![entry("local", "a", 1, "Ana: one. two\nBo: three")], false)).unwrap();
    store.commit(commit_of(vec![entry("local", "b", 1, "Ana: four")], true)).unwrap();
    files
}

fn is_named(files: &Arc<FaultyFiles>, path: &str) -> bool {
    let opened = Store::with_files(Arc::clone(files) as Arc<dyn crate::Files>, Path::new("mem"));
    match opened {
        Err(Error::Corrupt { path: found, .. }) => found == Path::new("mem").join(path),
        _ => false,
    }
}

#[test]
fn every_flipped_bit_is_named() {
    let files = small();
    let mut n_flips = 0;
    for (path, bytes) in files.dump() {
        // Of an older manifest nothing is read to open the newest; `verify` finds it, below.
        let is_old = path.ends_with(&format!("{:020}", 1));
        let step = (bytes.len() / 80).max(1);
        for at in (0..bytes.len()).step_by(step) {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 1 << (at % 8);
            files.overwrite(&path, Bytes::from(damaged));
            n_flips += 1;
            if is_old {
                let place =
                    crate::segment::Place { files: Arc::clone(&files) as Arc<dyn crate::Files>, root: "mem".into() };
                let report = crate::verify::verify_place(&place).unwrap();
                assert!(report.problems.iter().any(|problem| problem.path == Path::new("mem").join(&path)));
            } else {
                assert!(is_named(&files, &path), "{path} byte {at}");
            }
        }
        files.overwrite(&path, bytes);
    }
    assert!(n_flips > 1_000, "{n_flips}");
}

#[test]
fn a_cut_or_missing_file_is_named() {
    let files = small();
    for (path, bytes) in files.dump().into_iter().filter(|(path, _)| path.starts_with("segments")) {
        for end in [0, bytes.len() / 2, bytes.len() - 1] {
            files.overwrite(&path, bytes.slice(..end));
            assert!(is_named(&files, &path), "{path} cut at {end}");
        }
        crate::Files::remove(&*files, &path).unwrap();
        let opened = Store::with_files(Arc::clone(&files) as Arc<dyn crate::Files>, Path::new("mem"));
        assert!(matches!(opened, Err(Error::Corrupt { .. })), "{path} removed");
        files.overwrite(&path, bytes);
    }
}

#[test]
fn verify_names_every_damaged_file_and_orphan() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(root.path()).unwrap();
    store.commit(commit_of(vec![entry("local", "a", 1, "Ana: one. two")], false)).unwrap();
    let report = crate::verify(root.path()).unwrap();
    assert_eq!((report.version, report.problems.len(), report.orphans.len()), (1, 0, 0));
    drop(store);
    let segment = std::fs::read_dir(root.path().join("segments")).unwrap().next().unwrap().unwrap().path();
    for name in ["sources.parquet", "vectors.usearch"] {
        std::fs::write(segment.join(name), b"not what it was").unwrap();
    }
    std::fs::create_dir(root.path().join("segments/dead-000")).unwrap();
    let report = crate::verify(root.path()).unwrap();
    let names: Vec<_> = report.problems.iter().filter_map(|problem| problem.path.file_name()?.to_str()).collect();
    assert_eq!(names, ["sources.parquet", "vectors.usearch"]);
    assert_eq!(report.orphans.len(), 1);
    assert!(matches!(crate::verify(&segment), Err(Error::NoStore { .. })));
}

#[test]
fn a_store_that_lost_its_manifests_is_not_an_empty_one() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(root.path()).unwrap();
    store.commit(commit_of(vec![entry("local", "a", 1, "Ana: one. two")], false)).unwrap();
    drop(store);
    std::fs::remove_file(root.path().join(format!("manifest/{:020}", 1))).unwrap();
    assert!(matches!(Store::open_or_create(root.path()), Err(Error::Corrupt { .. })));
    assert_eq!(crate::verify(root.path()).unwrap().problems.len(), 1);
    // The twin: a first writer that was killed before it published left its lock, and is only swept away.
    let segment = std::fs::read_dir(root.path().join("segments")).unwrap().next().unwrap().unwrap().file_name();
    let attempt = segment.to_str().unwrap().split_once('-').unwrap().0.to_owned();
    std::fs::write(root.path().join("locks").join(attempt), b"").unwrap();
    let store = Store::open_or_create(root.path()).unwrap();
    store.commit(commit_of(vec![entry("local", "b", 1, "Bo: three")], false)).unwrap();
    assert_eq!(std::fs::read_dir(root.path().join("segments")).unwrap().count(), 1);
    assert!(crate::verify(root.path()).unwrap().problems.is_empty());
}
