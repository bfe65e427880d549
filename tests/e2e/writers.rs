//! Two processes that write to one store at once.

use std::collections::BTreeSet;
use std::process::Stdio;

use strata_tests::World;

use crate::PROGRAM;
use crate::ask::{Reader, add};

#[test]
fn two_imports_at_once_lose_nothing() {
    let world = World::new(PROGRAM);
    let (n_writers, n_notes) = (3, 6);
    for writer in 0..n_writers {
        for note in 0..n_notes {
            let text = format!("Writer {writer} wrote note {note} about the windmill.");
            world.write(&format!("in-{writer}/{note}.md"), text);
        }
    }
    let store = world.store();
    let store = store.to_string_lossy();
    let mut children = Vec::new();
    for writer in 0..n_writers {
        let folder = format!("in-{writer}");
        let arguments = ["import", "--store", &store, "--embedder", "hashed", "--collection", &folder, &folder];
        let mut command = world.command(&arguments);
        children.push(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts"));
    }
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let sources = world.on_store(&["sources", "--json"]).succeeds().json_lines();
    let keys: BTreeSet<&str> = sources.iter().filter_map(|source| source["source_key"].as_str()).collect();
    assert_eq!(keys.len(), n_writers * n_notes, "{keys:?}");
    for writer in 0..n_writers {
        let question = format!("writer {writer} windmill");
        let hits = world.on_store(&["search", "-k", "100", "--json", &question]).succeeds().json_lines();
        assert_eq!(hits.len(), n_writers * n_notes);
    }
    world.on_store(&["verify"]).succeeds();
}

#[test]
fn a_server_sees_what_another_process_wrote() {
    let world = World::new(PROGRAM);
    world.import_note("local", "first.md", "The first note is about a windmill.").succeeds();
    let server = world.serve(&[]);
    let client = server.client();
    let added = add(&client, "", "second", "The second note is about a windmill too.");
    assert!(added.changed);
    world.import_note("local", "third.md", "The third note is about a windmill as well.").succeeds();
    let again = add(&client, "", "second", "The second note is about a windmill too.");
    assert!(!again.changed, "the same again changes nothing");
    // A write reads the newest manifest, so its own version holds all three.
    let fourth = add(&client, "", "fourth", "The fourth note closes the list.");
    let request = proto::v1::SearchRequest {
        question: "windmill".to_owned(),
        min_manifest_version: fourth.manifest_version,
        ..Default::default()
    };
    let answer = client.search(request).expect("the server has reached its own write");
    let texts: Vec<&str> = answer.hits.iter().map(|hit| hit.text.as_str()).collect();
    for word in ["first", "second", "third"] {
        assert!(texts.iter().any(|text| text.contains(word)), "{word} is found in {texts:?}");
    }
    drop(server);
    let sources = world.on_store(&["sources", "--json"]).succeeds().json_lines();
    assert_eq!(sources.len(), 4);
    world.on_store(&["verify"]).succeeds();
}

#[test]
fn both_doors_say_the_same() {
    let world = World::with_sample(PROGRAM);
    let server = world.serve(&[]);
    let url = server.url();
    for asked in [
        vec!["search", "--json", "-k", "20", "greenhouse vents"],
        vec!["search", "--json", "--unit", "turn", "--source", "mira-and-tomas", "Lofoten"],
        vec!["stats", "--json"],
        vec!["sources", "--json"],
    ] {
        let here = world.on_store(&asked).succeeds().stdout;
        let mut remote = vec![asked[0], "--server", &url];
        remote.extend(&asked[1..]);
        assert_eq!(world.run(&remote).succeeds().stdout, here, "{asked:?}");
    }
    let stats = Reader(&server.client()).stats();
    assert_eq!(stats.n_sources, 9);
}

#[test]
fn a_killed_import_leaves_a_sound_store() {
    let world = World::with_sample(PROGRAM);
    for note in 0..200 {
        let text = format!("Note {note} about a windmill. ").repeat(40);
        world.write(&format!("big/{note}.md"), text);
    }
    let store = world.store();
    let store = store.to_string_lossy();
    let mut command = world.command(&["import", "--store", &store, "--embedder", "hashed", "big"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    world.on_store(&["verify"]).succeeds();
    world.on_store(&["search", "greenhouse"]).succeeds();
    // The twin: the same import, left alone, goes in.
    world.import(&["big"]).succeeds();
    world.on_store(&["verify"]).succeeds();
}
