//! The corridor from end to end: small archives in, reports and sources out.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use index::model::{ChunkKind, Role, Scope, SourceKind};
use ingest::{Body, ImportSettings, NewSource, NewTurn, Silent, add_source, append_turns, import};
use world::{World, message};

mod world;

#[test]
fn importing_twice_changes_nothing() {
    let world = World::new();
    world.put("a.md", "# Lamps\n\nThe lamp is green. It stands by the door.\n");
    world.put("sub/b.txt", "A short note about rope.\n");
    world.put("chat.jsonl", message("1", 0, "We sail at dawn.") + &message("2", 1, "I love the sea."));
    world.put(".git/config", "hidden");
    let first = world.import(|_| {});
    assert_eq!((first.imported.len(), first.unchanged.len(), first.exit_code()), (3, 0, 0), "{first:#?}");
    assert_eq!(first.totals.hidden, 1);
    let second = world.import(|_| {});
    assert_eq!((second.imported.len(), second.unchanged.len()), (0, 3));
    assert_eq!(second.manifest_version, first.manifest_version);
    assert_eq!(second.totals.embedded, 0);
    let keys: Vec<&str> = first.imported.iter().map(|source| source.key.as_str()).collect();
    assert_eq!(keys, ["c/a.md", "deck", "c/sub/b.txt"]);
}

#[test]
fn a_dry_run_writes_nothing() {
    let world = World::new();
    world.put("a.txt", "A note.");
    let report = world.import(|settings| settings.dry_run = true);
    assert_eq!((report.imported.len(), report.manifest_version), (1, 0));
    assert_eq!(world.store.snapshot().unwrap().version(), 0);
}

#[test]
fn a_changed_document_is_a_new_version_and_known_sentences_are_not_embedded_again() {
    let world = World::new();
    world.put("a.txt", "The rope is old. The sail is new.");
    world.import(|_| {});
    world.put("a.txt", "The rope is old. The sail is torn.");
    let report = world.import(|_| {});
    assert_eq!((report.imported[0].version, report.totals.embedded, report.totals.cached), (2, 1, 1));
}

#[test]
fn bad_files_are_named_and_the_others_go_in() {
    let world = World::new();
    world.put("good.txt", "A good note.");
    world.put("latin.txt", b"caf\xe9 au lait");
    world.put("mixed.txt", b"caf\xc3\xa9 \xc3\xa9 caf\xe9");
    world.put("empty.txt", "");
    world.put("pic.png", b"\x89PNG\r\n\x1a\n\0\0\0");
    world.put("odd.xyz", "no reader has this ending");
    world.put("bad.jsonl", message("1", 0, "fine") + "{broken\n" + &message("2", 1, "fine too"));
    let report = world.import(|_| {});
    assert_eq!(report.exit_code(), 3);
    assert_eq!(report.imported.len(), 3);
    let mut skipped: Vec<String> = report
        .skipped
        .iter()
        .map(|s| format!("{} {}: {}", Path::new(&s.file).file_name().unwrap().display(), s.place, s.reason))
        .collect();
    skipped.sort();
    assert_eq!(skipped.len(), 5, "{skipped:#?}");
    assert!(skipped[0].starts_with("bad.jsonl line 2: "), "{skipped:#?}");
    assert!(skipped[2].starts_with("mixed.txt byte 12: not UTF-8"), "{skipped:#?}");
    assert_eq!(world.newest("text", "c/latin.txt").text, "café au lait");
    let remarks: Vec<&String> = report.imported.iter().flat_map(|source| &source.remarks).collect();
    assert_eq!(remarks, ["read as windows-1252, guessed from its bytes"]);
    assert!(report.skipped.iter().all(|s| !s.hint.is_empty()));
}

#[test]
fn two_files_of_one_key_are_not_two_versions() {
    let world = World::new();
    world.put("a/notes.md", "The left notes.\n");
    world.put("b/notes.md", "The right notes.\n");
    let [a, b] = ["a", "b"].map(|name| world.path().join(name));
    let report = world.import_paths(&[a.clone(), b], |_| {});
    assert_eq!((report.imported.len(), report.skipped.len(), report.exit_code()), (1, 1, 3));
    assert!(report.skipped[0].reason.contains("c/notes.md"), "{}", report.skipped[0].reason);
    assert_eq!(world.newest("markdown", "c/notes.md").text, "The left notes.\n");
    // The twin: one file named twice is one file.
    let again = world.import_paths(&[a.clone(), a.join("notes.md")], |_| {});
    assert_eq!((again.unchanged.len(), again.skipped.len(), again.exit_code()), (1, 0, 0));
}

#[test]
fn nothing_to_import_is_exit_code_1_and_a_missing_path_an_error() {
    let world = World::new();
    assert_eq!(world.import(|_| {}).exit_code(), 1);
    let settings = ImportSettings::standard(Scope::local());
    let cancel = AtomicBool::new(false);
    let missing = [world.path().join("nowhere")];
    let error = import(&world.store, &world.tools(), &settings, &missing, &Silent, &cancel).unwrap_err();
    assert!(error.to_string().contains("nowhere"));
}

#[test]
fn exports_are_a_union_where_the_newer_one_decides() {
    let world = World::new();
    world.put("a.jsonl", message("1", 0, "one") + &message("2", 1, "two") + &message("4", 9, "four"));
    world.import(|_| {});
    // A newer export: 1 was edited, 2 is gone, 5 is new.
    world.put("a.jsonl", message("1", 0, "ONE") + &message("4", 9, "four") + &message("5", 10, "five"));
    world.import(|_| {});
    assert_eq!(world.texts("deck"), ["ONE", "two", "four", "five"]);
    // An older export: adds 3, edits nothing, hides nothing.
    world.put("a.jsonl", message("1", 0, "old one") + &message("2", 1, "two") + &message("3", 2, "three"));
    world.import(|_| {});
    assert_eq!(world.texts("deck"), ["ONE", "two", "three", "four", "five"]);
    assert_eq!(world.newest("chat", "deck").source.version, 3);
    // The whole truth: what is missing goes.
    world.import(|settings| settings.mirror = true);
    assert_eq!(world.texts("deck"), ["old one", "two", "three"]);
}

#[test]
fn a_mirror_deletes_what_is_gone_but_not_what_it_could_not_read() {
    let world = World::new();
    world.put("a.txt", "A note.");
    world.put("b.txt", "Another note.");
    world.put("c.txt", "A third note.");
    world.import(|_| {});
    fs::remove_file(world.path().join("a.txt")).unwrap();
    world.put("b.txt", b"now \xff\xe9 broken");
    let kept = world.import(|_| {});
    assert!(kept.deleted.is_empty());
    let report = world.import(|settings| settings.mirror = true);
    let deleted: Vec<&str> = report.deleted.iter().map(|source| source.key.as_str()).collect();
    assert_eq!(deleted, ["c/a.txt"]);
    world.put("a.txt", "A note.");
    let refused = world.import(|_| {});
    assert_eq!((refused.refused.len(), refused.exit_code()), (1, 3));
    let back = world.import(|settings| settings.undelete = true);
    assert_eq!(back.imported[0].version, 3);
}

#[test]
fn every_sentence_is_in_a_chunk_within_the_budget() {
    let world = World::new();
    let story: String = (0..60).map(|n| format!("The ship number {n} left the harbour of Port {n} in fog. ")).collect();
    world.put("story.txt", &story);
    let talk: String =
        (0..40).map(|n| message(&n.to_string(), n, "I always carry the red lamp to Anna on Fridays.")).collect();
    world.put("talk.jsonl", talk);
    world.import(|_| {});
    for (reader, key) in [("text", "c/story.txt"), ("chat", "deck")] {
        let entry = world.newest(reader, key);
        let mut covered = vec![false; entry.sentences.len()];
        for chunk in &entry.chunks {
            assert!(chunk.n_tokens <= 256, "{chunk:?}");
            chunk.sentences.iter().for_each(|&idx| covered[idx as usize] = true);
        }
        assert!(covered.iter().all(|&is_covered| is_covered));
        assert!(!entry.edges.is_empty());
        let n_cards = entry.chunks.iter().filter(|chunk| chunk.kind == ChunkKind::FactsCard).count();
        assert_eq!(n_cards, usize::from(reader == "chat"));
    }
}

#[test]
fn segments_are_cut_at_their_bound() {
    let world = World::new();
    for n in 0..6 {
        world.put(&format!("{n}.txt"), format!("Note {n} is here. It says a word."));
    }
    let report = world.import(|settings| settings.segment_sentences_max = 4);
    assert_eq!((report.totals.segments, report.manifest_version), (3, 3));
}

#[test]
fn a_cancelled_import_says_so_and_writes_nothing_half() {
    let world = World::new();
    world.put("a.txt", "A note.");
    let settings = ImportSettings::standard(Scope::local());
    let cancel = AtomicBool::new(true);
    let report = import(&world.store, &world.tools(), &settings, &[world.path()], &Silent, &cancel).unwrap();
    assert!(report.cancelled && report.imported.is_empty());
    assert_eq!(world.store.snapshot().unwrap().version(), 0);
}

fn turn(id: Option<&str>, text: &str) -> NewTurn {
    NewTurn {
        id: id.map(str::to_owned),
        author: "Mira".to_owned(),
        role: Role::User,
        said_at: None,
        reply_to: None,
        text: text.to_owned(),
        metadata: Default::default(),
    }
}

#[test]
fn a_source_is_added_once_and_turns_are_appended_by_id() {
    let world = World::new();
    let tools = world.tools();
    let source = NewSource {
        scope: Scope::local(),
        reader: "api".to_owned(),
        key: "talk".to_owned(),
        title: "A talk".to_owned(),
        kind: SourceKind::Conversation,
        body: Body::Turns(vec![turn(Some("1"), "one"), turn(Some("2"), "two")]),
        collection: String::new(),
        exported_at: None,
        metadata: Default::default(),
    };
    let added = add_source(&world.store, &tools, source.clone(), "ana", false).unwrap();
    assert!(added.changed && added.n_sentences == 2 && added.n_chunks > 0);
    assert!(!add_source(&world.store, &tools, source, "ana", false).unwrap().changed);
    let turns = vec![turn(Some("2"), "TWO"), turn(None, "three")];
    let scope = Scope::local();
    let appended = append_turns(&world.store, &tools, &scope, added.id, turns, "ana").unwrap();
    assert_eq!((appended.version, appended.n_sentences), (2, 3));
    let other = Scope::parse("other").unwrap();
    let error = append_turns(&world.store, &tools, &other, added.id, vec![turn(None, "x")], "ana").unwrap_err();
    assert_eq!(error.kind(), index::Kind::NotFound);
}
