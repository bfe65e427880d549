//! What cannot be taken in is named, with its reason and a way out; the rest goes in.

use std::fs;

use strata_tests::World;

use crate::PROGRAM;

#[test]
fn a_missing_path_is_refused_by_name() {
    let world = World::new(PROGRAM);
    let done = world.import(&["no-such-folder"]).exits(2);
    assert!(done.stderr.contains("no-such-folder"), "{}", done.stderr);
    assert!(done.stderr.contains("hint:"), "{}", done.stderr);
}

#[test]
fn a_bad_file_is_named_and_its_neighbour_goes_in() {
    let world = World::new(PROGRAM);
    world.write("in/good.md", "The ferry leaves at nine.");
    world.write("in/latin1.txt", b"caf\xe9 au lait, gar\xe7on");
    world.write("in/empty.md", "");
    world.write(
        "in/broken.jsonl",
        "{\"conversation\":\"c\",\"text\":\"one\",\"time\":\"2024-01-01T00:00:00Z\"}\n{\"conv\n",
    );
    world.write("in/picture.png", b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0d");
    let folder = world.path("in");
    let done = world.import(&["--json", &folder.to_string_lossy()]).exits(3);
    let report = done.json();
    let skipped: Vec<String> = report["skipped"].as_array().into_iter().flatten().map(|s| format!("{s}")).collect();
    for name in ["empty.md", "broken.jsonl", "picture.png"] {
        let line = skipped.iter().find(|line| line.contains(name));
        assert!(line.is_some(), "{name} is named in {skipped:?}");
    }
    assert!(skipped.iter().any(|line| line.contains("line 2")), "the bad line is told: {skipped:?}");
    world.on_store(&["search", "ferry"]).succeeds();
    // Nothing is guessed silently: an encoding that no mark names is told with its source.
    let latin = report["imported"].as_array().into_iter().flatten().find(|s| format!("{s}").contains("latin1.txt"));
    let remarks = latin.map(|source| source["remarks"].to_string()).unwrap_or_default();
    assert!(remarks.contains("read as windows-1252, guessed from its bytes"), "{report}");
}

#[test]
fn a_folder_without_anything_to_read_finds_nothing() {
    let world = World::new(PROGRAM);
    fs::create_dir_all(world.path("void")).expect("a folder");
    let done = world.import(&["void"]).exits(1);
    assert!(done.stderr.contains("void holds no file") && done.stderr.contains("hint:"), "{}", done.stderr);
    world.write("only/picture.png", b"\x89PNG\r\n\x1a\n\x00");
    world.import(&["only"]).exits(3);
}

#[test]
fn a_folder_that_is_no_model_is_refused() {
    let world = World::new(PROGRAM);
    let note = world.write("note.md", "One note.");
    world.write("model/config.json", "{\"model_type\": \"toaster\"}");
    for model in ["model", "no-such-model"] {
        let done = world.on_store(&["import", "--embedder", model, &note.to_string_lossy()]).exits(2);
        assert!(done.stderr.contains(model), "{}", done.stderr);
    }
    let found = world.on_store(&["search", "note"]);
    assert_ne!(found.code, 0, "nothing went in");
}

#[test]
fn another_embedder_is_refused_with_a_way_out() {
    let world = World::with_sample(PROGRAM);
    let note = world.write("note.md", "One note.");
    let done = world.on_store(&["import", "--embedder", "no-such-model", &note.to_string_lossy()]).exits(2);
    assert!(done.stderr.contains("minilm, hashed"), "{}", done.stderr);
    // The twin: the store's own embedder is taken.
    world.import(&[&*note.to_string_lossy()]).succeeds();
}

#[test]
fn bad_arguments_change_nothing() {
    let world = World::with_sample(PROGRAM);
    let before = crate::files::below(&world.store(), "");
    let [notes, _] = strata_tests::sample_paths();
    for arguments in [
        vec!["search", "-k", "0", "tomatoes"],
        vec!["search", "-k", "1001", "tomatoes"],
        vec!["search", "   "],
        vec!["search", "--unit", "page", "tomatoes"],
        vec!["search", "--source", "no-such-source", "tomatoes"],
        vec!["search", "--scope", "Local", "tomatoes"],
        vec!["context", "--max-tokens", "1", "tomatoes"],
        vec!["walk", "--from", "xyz"],
        vec!["delete", "--source", "no-such-source", "--commit"],
        vec!["import", "--format", "papyrus", &notes],
        vec!["import", "--scope", "a/../b", &notes],
        vec!["no-such-command"],
    ] {
        let done = world.on_store(&arguments).exits(2);
        assert!(!done.stderr.is_empty(), "{arguments:?} says why");
        assert_eq!(done.stdout, "", "{arguments:?} answers nothing");
    }
    assert_eq!(crate::files::below(&world.store(), ""), before, "the store has the same files");
    world.on_store(&["verify"]).succeeds();
}

#[test]
fn no_store_is_said_so() {
    let world = World::new(PROGRAM);
    for command in [vec!["search", "x"], vec!["stats"], vec!["sources"], vec!["export", "--canonical"]] {
        let done = world.on_store(&command).refuses("no store");
        assert!(done.stderr.contains("hint:"), "{command:?}: {}", done.stderr);
    }
}
