//! A mirrored import removes what is gone, and nothing that it could not see.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use ingest::{ImportSettings, Report};
use world::{World, message};

mod world;

fn mirror(settings: &mut ImportSettings) {
    settings.mirror = true;
}

fn idle(report: &Report) -> bool {
    report.imported.is_empty() && report.deleted.is_empty() && report.skipped.is_empty() && report.exit_code() == 0
}

/// Two folders `a` and `b` of one collection, imported.
fn two_folders() -> (World, [PathBuf; 2]) {
    let world = World::new();
    world.put("a/one.txt", "One note.");
    world.put("b/two.txt", "Two notes.");
    let folders = ["a", "b"].map(|name| world.path().join(name));
    world.import_paths(&folders, |_| {});
    (world, folders)
}

#[test]
fn a_missing_argument_removes_nothing_of_its_collection() {
    let (world, folders) = two_folders();
    fs::remove_dir_all(&folders[1]).unwrap();
    fs::remove_file(folders[0].join("one.txt")).unwrap();
    world.put("a/three.txt", "Three notes.");
    let report = world.import_paths(&folders, mirror);
    assert_eq!((report.imported.len(), report.deleted.len(), report.exit_code()), (1, 0, 3), "{report:#?}");
    assert!(report.skipped[0].reason.contains("nothing of collection c was removed"), "{:?}", report.skipped);
    // The twin: with b there, what is gone goes.
    world.put("b/two.txt", "Two notes.");
    let report = world.import_paths(&folders, mirror);
    let deleted: Vec<&str> = report.deleted.iter().map(|source| source.key.as_str()).collect();
    assert_eq!((deleted, report.exit_code()), (vec!["c/one.txt"], 0));
}

#[test]
fn a_folder_without_a_file_removes_nothing_and_says_so() {
    let (world, folders) = two_folders();
    fs::remove_file(folders[1].join("two.txt")).unwrap();
    for paths in [&folders[..], &folders[1..]] {
        let report = world.import_paths(paths, mirror);
        assert_eq!((report.deleted.len(), report.skipped.len(), report.exit_code()), (0, 1, 3), "{report:#?}");
        assert!(report.skipped[0].hint.contains("mounted"));
    }
}

#[test]
fn a_file_with_skipped_lines_adds_and_removes_nothing() {
    let world = World::new();
    world.put("a.jsonl", message("1", 0, "one") + &message("2", 1, "two"));
    world.import(mirror);
    world
        .put("a.jsonl", message("1", 0, "one") + "{\"conversation\":\"deck\",\"id\":\"2\n" + &message("3", 2, "three"));
    let report = world.import(mirror);
    assert_eq!((report.skipped.len(), report.exit_code()), (1, 3));
    assert_eq!(world.texts("deck"), ["one", "two", "three"]);
    // The twin: mended, it is the whole truth again.
    world.put("a.jsonl", message("1", 0, "one") + &message("3", 2, "three"));
    world.import(mirror);
    assert_eq!(world.texts("deck"), ["one", "three"]);
}

#[test]
fn one_conversation_in_two_files_is_mirrored_as_their_union() {
    let world = World::new();
    world.put("stale.jsonl", message("0", 0, "zero") + &message("1", 1, "stale one"));
    world.import(|_| {});
    fs::remove_file(world.path().join("stale.jsonl")).unwrap();
    world.put("new.jsonl", message("2", 2, "TWO") + &message("3", 3, "three"));
    world.put("old.jsonl", message("1", 1, "one") + &message("2", 2, "two"));
    let report = world.import(mirror);
    assert_eq!((report.imported.len(), report.imported[0].version, report.exit_code()), (1, 2, 0), "{report:#?}");
    assert_eq!(world.texts("deck"), ["one", "TWO", "three"]);
    for _ in 0..2 {
        let again = world.import(mirror);
        assert!(idle(&again), "{again:#?}");
        assert_eq!(again.manifest_version, report.manifest_version);
    }
    // What is gone from every file goes.
    world.put("old.jsonl", message("2", 2, "two"));
    world.import(mirror);
    assert_eq!(world.texts("deck"), ["TWO", "three"]);
}

#[test]
fn files_without_times_settle_too() {
    let world = World::new();
    let line = |id: u32, text: &str| format!("{{\"conversation\":\"deck\",\"id\":{id},\"text\":\"{text}\"}}\n");
    world.put("a.jsonl", line(1, "one") + &line(2, "two"));
    world.put("b.jsonl", line(2, "TWO") + &line(3, "three"));
    let first = world.import(mirror);
    assert_eq!(world.texts("deck"), ["one", "TWO", "three"]);
    let again = world.import(mirror);
    assert!(idle(&again) && again.manifest_version == first.manifest_version, "{again:#?}");
}

#[test]
fn a_part_that_cannot_be_read_takes_no_turns_with_it() {
    let world = World::new();
    world.put("a.jsonl", message("1", 0, "one"));
    world.put("b.jsonl", message("2", 1, "two"));
    world.import(mirror);
    for broken in [&b""[..], &[0; 300], b"\xff\xfe{\0"] {
        world.put("a.jsonl", broken);
        assert_eq!(world.import(mirror).exit_code(), 3);
        assert_eq!(world.texts("deck"), ["one", "two"]);
    }
    let paths = [world.path().join("b.jsonl"), world.path().join("gone.jsonl")];
    world.import_paths(&paths, mirror);
    assert_eq!(world.texts("deck"), ["one", "two"]);
    // The twin: with nothing amiss the file is the whole truth.
    world.import_paths(&paths[..1], mirror);
    assert_eq!(world.texts("deck"), ["two"]);
}

#[test]
fn a_file_of_which_nothing_can_be_read_takes_nothing_away() {
    let world = World::new();
    world.put("a.jsonl", format!("{}{}", message("1", 0, "Kept."), message("2", 1, "Kept too.")));
    world.import(|settings| settings.mirror = true);
    world.put("a.jsonl", message("1", 0, "Kept."));
    world.put("b.jsonl", "{\"conversation\":\"deck\",\"id\":\"2\",\"te\n");
    let report = world.import(|settings| settings.mirror = true);
    assert_eq!(report.skipped.len(), 1, "{report:#?}");
    assert!(report.skipped[0].reason.starts_with("no message in it: line 1, "), "{report:#?}");
    assert_eq!(world.texts("deck"), ["Kept.", "Kept too."]);
    std::fs::remove_file(world.path().join("b.jsonl")).unwrap();
    world.import(|settings| settings.mirror = true);
    assert_eq!(world.texts("deck"), ["Kept."]);
}
