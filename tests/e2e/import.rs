//! What an import says: rehearsals, the ledger, bounds, formats; and that a killed one goes on.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};
use strata_tests::World;

use crate::PROGRAM;

/// A ChatGPT-shaped conversation of `n` messages.
fn conversation(name: &str, n: usize) -> Value {
    let mut mapping = serde_json::Map::new();
    for idx in 0..n {
        let parent = idx.checked_sub(1).map(|before| format!("{name}-{before}"));
        let message = json!({
            "id": format!("{name}-{idx}"),
            "author": {"role": if idx % 2 == 0 { "user" } else { "assistant" }},
            "create_time": 1.7e9 + idx as f64 * 60.0,
            "content": {"content_type": "text", "parts": [format!("Message {idx} of {name} is about kites. It is short.")]},
        });
        mapping.insert(
            format!("{name}-{idx}"),
            json!({"id": format!("{name}-{idx}"), "message": message, "parent": parent}),
        );
    }
    json!({
        "title": format!("Talk {name}"), "conversation_id": name, "create_time": 1.7e9,
        "current_node": format!("{name}-{}", n - 1), "mapping": mapping,
    })
}

fn export(names: &[&str], n: usize) -> String {
    Value::from(names.iter().map(|name| conversation(name, n)).collect::<Vec<_>>()).to_string()
}

#[test]
fn a_rehearsal_says_what_would_come_in() {
    let world = World::new(PROGRAM);
    world.write("in/conversations.json", export(&["a", "b"], 6));
    world.write("in/note.md", "# Kites\n\nA kite needs wind.\n");
    let report = world.import(&["--dry-run", "--json", "in"]).succeeds().json();
    assert_eq!(report["formats"]["chatgpt"]["found"], 2, "{report}");
    assert_eq!(report["formats"]["chatgpt"]["turns"], 12);
    assert_eq!(report["formats"]["markdown"]["files"], 1);
    let survey = &report["survey"];
    assert_eq!(survey["first"], "2023-11-14T22:13:20Z", "{survey}");
    assert_eq!(survey["last"], "2023-11-14T22:18:20Z");
    assert!(survey["sentences"].as_u64().is_some_and(|n| (20..40).contains(&n)), "{survey}");
    assert!(survey["seconds"].is_number());
    let said = world.import(&["--dry-run", "in"]).succeeds().stdout;
    for part in
        ["chatgpt  1 files, 2 sources found with 12 turns", "from 2023-11-14", "authors: ", "embedding them takes"]
    {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    // The twin: an import has no survey.
    assert_eq!(world.import(&["--json", "in"]).succeeds().json()["survey"], Value::Null);
}

#[test]
fn the_ledger_has_a_line_for_everything() {
    let world = World::new(PROGRAM);
    world.write("in/conversations.json", export(&["a", "b"], 3));
    world.write("in/empty.md", "");
    let ledger = world.path("ledger.jsonl");
    let flag = ledger.to_string_lossy().into_owned();
    world.import(&["--ledger", &flag, "in"]).exits(3);
    let events = || -> Vec<(String, Value)> {
        let lines = fs::read_to_string(&ledger).expect("a ledger");
        let parsed = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        parsed.map(|line| (line["event"].as_str().unwrap_or_default().to_owned(), line)).collect()
    };
    let first = events();
    let stored: Vec<&Value> =
        first.iter().filter(|(event, _)| event == "stored").map(|(_, line)| &line["key"]).collect();
    assert_eq!(stored, [&json!("a"), &json!("b")]);
    let skipped = first.iter().find(|(event, _)| event == "skipped").expect("the empty file");
    assert!(skipped.1["file"].as_str().is_some_and(|file| file.ends_with("empty.md")), "{skipped:?}");
    assert_eq!(skipped.1["reason"], "empty");
    // Importing again adds lines that say so.
    world.import(&["--ledger", &flag, "in"]).exits(3);
    let unchanged = events().iter().filter(|(event, _)| event == "unchanged").count();
    assert_eq!(unchanged, 2);
    world.import(&["--ledger", "no/such/folder/l.jsonl", "in"]).exits(2);
}

#[test]
fn an_import_that_stores_nothing_is_no_success() {
    let world = World::new(PROGRAM);
    world.write("only/message_feedback.json", "[]");
    let done = world.import(&["only"]);
    assert_ne!(done.code, 0, "{}", done.stdout);
    world.write("in/conversations.json", export(&["a"], 2));
    world.import(&["in"]).succeeds();
    world.on_store(&["delete", "--source", "a", "--commit"]).succeeds();
    let done = world.import(&["in"]).exits(3);
    assert!(done.stderr.contains("found 1 sources, stored none"), "{}", done.stderr);
}

#[test]
fn a_bound_leaves_out_what_is_larger() {
    let world = World::new(PROGRAM);
    world.write("in/large.md", "A long line of words. ".repeat(200));
    world.write("in/small.md", "A short one.");
    let report = world.import(&["--max-bytes", "1K", "--json", "in"]).exits(3).json();
    assert_eq!(report["totals"]["sources"], 1, "{report}");
    let skipped = &report["skipped"][0];
    assert!(skipped["file"].as_str().is_some_and(|file| file.ends_with("large.md")), "{skipped}");
    assert!(skipped["hint"].as_str().is_some_and(|hint| hint.contains("--max-bytes")), "{skipped}");
    world.import(&["--max-bytes", "1.5X", "in"]).exits(2);
    assert_eq!(world.import(&["--max-bytes", "1M", "--json", "in"]).succeeds().json()["totals"]["sources"], 1);
}

#[test]
fn a_killed_import_goes_on_and_ends_as_if_it_had_not_been() {
    let (whole, killed) = (World::new(PROGRAM), World::new(PROGRAM));
    let names: Vec<String> = (0..60).map(|n| format!("c{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for world in [&whole, &killed] {
        world.write("in/conversations.json", export(&names, 40));
    }
    whole.import(&["--collection", "c", "in"]).succeeds();
    let store = killed.store().to_string_lossy().into_owned();
    for round in 0..4 {
        let mut command = killed.command(&[
            "import",
            "--store",
            &store,
            "--embedder",
            "hashed",
            "--ledger",
            "l.jsonl",
            "--collection",
            "c",
            "in",
        ]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
        // Killed once it has read so much: the ledger's first line, or its end.
        let begun = killed.path("l.jsonl");
        while round > 0 && !begun.exists() && child.try_wait().expect("a child").is_none() {
            std::thread::yield_now();
        }
        child.kill().ok();
        child.wait().expect("a child");
    }
    killed.import(&["--collection", "c", "in"]).succeeds();
    killed.on_store(&["verify"]).succeeds();
    let [whole, killed] = [&whole, &killed].map(|world| world.on_store(&["export", "--canonical"]).succeeds().stdout);
    assert!(whole.len() > 100_000);
    assert_eq!(whole, killed);
}
