//! What stands at an import's edges: another writer, the store's own folder, names that look alike.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use index::Store;
use index::model::Scope;
use ingest::{ImportSettings, Progress, Silent, import};
use world::World;

mod world;

/// Runs `act` once, when the first batch is ready for the store.
struct Meanwhile<F: Fn() + Sync> {
    is_done: AtomicBool,
    act: F,
}

impl<F: Fn() + Sync> Progress for Meanwhile<F> {
    fn found(&self, _n_files: u64, _n_bytes: u64) {}
    fn file(&self, _path: &Path, _n_bytes: u64) {}
    fn embedded(&self, _n_sentences: u64, _n_cached: u64) {}
    fn stage(&self, name: &'static str) {
        if name == "store" && !self.is_done.swap(true, Ordering::SeqCst) {
            (self.act)();
        }
    }
}

#[test]
fn what_another_import_wrote_first_is_unchanged() {
    let world = World::new();
    world.put("a.txt", "A note.");
    world.put("b.txt", "Another note.");
    let other = World { store: Store::open_or_create(&world.folder.path().join("store")).unwrap(), ..World::new() };
    let paths = [world.path()];
    let act = || assert_eq!(other.import_paths(&paths, |_| {}).imported.len(), 2);
    let report = world.import_heard(&paths, &Meanwhile { is_done: AtomicBool::new(false), act }, |_| {});
    assert_eq!((report.imported.len(), report.unchanged.len()), (0, 2), "{report:#?}");
    assert_eq!((report.totals.segments, report.exit_code()), (0, 0));
}

#[test]
fn what_another_import_wrote_in_part_is_unchanged_and_the_rest_goes_in() {
    let world = World::new();
    world.put("a.txt", "A note.");
    world.put("b.txt", "Another note.");
    let other = World { store: Store::open_or_create(&world.folder.path().join("store")).unwrap(), ..World::new() };
    let paths = [world.path()];
    let act = || assert_eq!(other.import_paths(&[paths[0].join("a.txt")], |_| {}).imported.len(), 1);
    let report = world.import_heard(&paths, &Meanwhile { is_done: AtomicBool::new(false), act }, |_| {});
    assert_eq!((report.imported.len(), report.unchanged.len(), report.exit_code()), (1, 1, 0), "{report:#?}");
}

#[test]
fn the_store_does_not_import_itself() {
    let world = World::new();
    world.put("a.txt", "A note.");
    world.import(|_| {});
    // The folder around the archive holds the store as well.
    let around = [world.folder.path().to_path_buf()];
    for format in [None, Some("text".to_owned())] {
        let report = world.import_paths(&around, |settings| settings.format = format);
        let n_sources = report.imported.len() + report.unchanged.len();
        assert_eq!((n_sources, report.totals.hidden, report.exit_code()), (1, 1, 0), "{report:#?}");
    }
    let report = world.import_paths(&[world.store.path().to_path_buf()], |_| {});
    assert_eq!((report.skipped.len(), report.skipped[0].reason.as_str()), (1, "the store itself"));
}

#[test]
fn a_conversation_needs_a_name_of_its_own() {
    let world = World::new();
    world.put("a.jsonl", "{\"conversation\":\"\",\"text\":\"lost\"}\n{\"conversation\":\"k\",\"text\":\"kept\"}\n");
    let report = world.import(|_| {});
    assert_eq!((report.imported.len(), report.skipped.len()), (1, 1));
    let skipped = &report.skipped[0];
    assert_eq!((skipped.place.as_str(), skipped.reason.as_str()), ("line 1", "field conversation is empty"));
    assert!(skipped.hint.contains("chat-jsonl"));
}

#[test]
fn a_file_over_the_bound_is_told_what_works() {
    let world = World::new();
    world.put("a.txt", "A note that is longer than ten bytes.");
    let report = world.import(|settings| settings.source_bytes_max = 10);
    assert!(report.skipped[0].hint.starts_with("split it into smaller files"), "{:?}", report.skipped);
}

#[cfg(unix)]
#[test]
fn names_that_read_alike_can_be_told_apart_by_renaming() {
    use std::os::unix::ffi::OsStrExt;

    let world = World::new();
    for (name, text) in [(&b"caf\xe8.txt"[..], "One note."), (b"caf\xe9.txt", "Two notes.")] {
        let name = std::ffi::OsStr::from_bytes(name);
        if std::fs::write(world.path().join(name), text).is_err() {
            return; // This file system takes no such name.
        }
    }
    let report = world.import(|_| {});
    assert_eq!((report.imported.len(), report.skipped.len()), (1, 1));
    assert!(report.skipped[0].hint.contains("rename one of the two"), "{:?}", report.skipped);
}

#[test]
fn a_wrong_format_and_a_missing_path_have_a_way_out() {
    let world = World::new();
    let mut settings = ImportSettings::standard(Scope::local());
    let cancel = AtomicBool::new(false);
    let paths = [world.path().join("nowhere")];
    let error = import(&world.store, &world.tools(), &settings, &paths, &Silent, &cancel).unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("files or folders that exist")));
    settings.format = Some("bogus".to_owned());
    let error = import(&world.store, &world.tools(), &settings, &paths, &Silent, &cancel).unwrap_err();
    let hint = error.hint().unwrap_or_default();
    assert!(ingest::reader_names().iter().all(|name| hint.contains(name)), "{hint}");
}
