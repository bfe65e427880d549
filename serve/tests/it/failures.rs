//! Failures of the program: each says what would help, and none leaves anything behind.

use std::path::Path;
use std::process::Stdio;

use serve::identity::{ActorKind, TokenFile, Verb, new_token};

use crate::program::{Place, Server, damage, ran, said, strata};

/// Fails unless the program ends with 2 and a hint; its stderr.
fn refused(args: &[&str]) -> String {
    let (code, _, stderr) = ran(args);
    assert_eq!(code, 2, "{args:?}: {stderr}");
    let hints: Vec<&str> = stderr.lines().filter(|line| line.starts_with("hint: ")).collect();
    assert_eq!(hints.len(), 1, "{args:?}: {stderr}");
    assert!(hints[0].len() > "hint: ".len());
    stderr
}

fn file(place: &Place, name: &str, text: &str) -> String {
    let path = place.path(name);
    std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_server_hints_as_its_store_does() {
    let place = Place::new();
    let (store, server) = (place.store(), Server::with(&place.store(), &[]));
    let long = "x".repeat(20_000);
    let zeros = "0".repeat(32);
    for args in [
        &["search", "--source", "nope", "x"] as &[&str],
        &["search", "--scope", "../x", "x"],
        &["search", "--scope", "", "x"],
        &["search", ""],
        &["search", &long],
        &["context", " "],
        &["sources", "show", "nope"],
        &["sources", "list"],
        &["walk", "--from", &zeros],
        &["walk", "--from", "zz"],
        &["delete", "--source", "nope"],
        &["stats", "--scope", "Local"],
    ] {
        let here = refused(&[args, &["--store", &store]].concat());
        let there = refused(&[args, &["--server", &server.url]].concat());
        assert_eq!(here, there, "{args:?}");
    }
}

#[test]
fn a_token_that_may_not_says_who_could_help() {
    let place = Place::new();
    let mut tokens = Vec::new();
    let mut entries = TokenFile::default();
    for verb in [Verb::Read, Verb::Write] {
        let (token, entry) = new_token("ana", ActorKind::Agent, vec!["local".to_owned()], vec![verb]);
        tokens.push(token);
        entries.token.push(entry);
    }
    let path = file(&place, "t.toml", &toml::to_string(&entries).unwrap());
    let server = Server::with(&place.store(), &["--tokens", &path]);
    let url = &server.url;
    let stderr = refused(&["delete", "--source", "x", "--server", url, "--token", &tokens[0]]);
    assert!(stderr.contains("ana may not delete here") && stderr.contains("--verb delete"), "{stderr}");
    let stderr = refused(&["search", "x", "--server", url, "--token", &tokens[1]]);
    assert!(stderr.contains("--verb read"), "{stderr}");
    let stderr = refused(&["search", "x", "--server", url, "--token", &tokens[0], "--scope", "other"]);
    assert!(stderr.contains("leave --scope out"), "{stderr}");
    let stderr = refused(&["search", "x", "--server", url]);
    assert!(stderr.contains("--token"), "{stderr}");
}

#[test]
fn every_failure_says_what_would_help() {
    let place = Place::new();
    let (store, notes) = (place.store(), place.path("notes"));
    let fresh = place.path("fresh");
    let incomplete = file(&place, "incomplete/config.json", "{}");
    let incomplete = Path::new(&incomplete).parent().unwrap().display().to_string();
    let truncated = file(&place, "truncated/config.json", "{");
    let truncated = Path::new(&truncated).parent().unwrap().display().to_string();
    for name in ["tokenizer.json", "model.safetensors"] {
        file(&place, &format!("truncated/{name}"), "x");
    }
    let plain = file(&place, "plain", "no folder");
    let below = format!("{plain}/store");
    let bogus = |flag, value| ["import", "--store", &fresh, flag, value, &notes].map(str::to_owned);
    for args in [
        bogus("--embedder", "bogus"),
        bogus("--embedder", &notes),
        bogus("--embedder", &incomplete),
        bogus("--embedder", &truncated),
    ] {
        refused(&args.each_ref().map(String::as_str));
    }
    let hashed = ["import", "--store", &fresh, "--embedder", "hashed", &notes];
    refused(&[&hashed, &["--format", "bogus"] as &[&str]].concat());
    refused(&[&hashed, &["--device", "bogus"] as &[&str]].concat());
    refused(&[&hashed, &["--scope", ""] as &[&str]].concat());
    assert!(!Path::new(&fresh).exists(), "a failed import left an empty store");
    refused(&["import", "--store", &below, "--embedder", "hashed", &notes]);
    refused(&["import", "--store", &store, "--embedder", "hashed", &place.path("nowhere")]);
    refused(&["export", "--store", &store]);
    refused(&["tokens", "new", "--principal", ""]);
    refused(&["tokens", "new", "--principal", "a", "--scope", ""]);
    refused(&["models", "verify", "bogus"]);
    refused(&["search", "x", "--server", "127.0.0.1:1"]);
    refused(&["search", "x", "--server", "not an address"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let stderr = refused(&["serve", "--store", &store, "--embedder", "hashed", "--listen", &address]);
    assert!(stderr.contains("another program listens there"), "{stderr}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told() {
    let place = Place::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = strata(&["export", "--canonical", "--store", &place.store()]);
    let (code, _, stderr) = said(&command.stdout(Stdio::from(full)).output().unwrap());
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("hint: make room"), "{stderr}");
}

#[test]
fn a_foreign_scheme_is_refused_as_such() {
    let stderr = refused(&["search", "x", "--server", "ftp://127.0.0.1:7077"]);
    assert!(stderr.contains("over ftp") && stderr.contains("http://127.0.0.1:7077"), "{stderr}");
}

#[test]
fn a_damaged_store_says_what_to_do() {
    let place = Place::new();
    damage(Path::new(&place.store()));
    let stderr = refused(&["verify", "--store", &place.store()]);
    assert!(stderr.starts_with("1 problem\nhint: ") || stderr.contains(" problems\nhint: "), "{stderr}");
}

#[test]
fn nothing_to_import_makes_no_store() {
    let place = Place::new();
    let fresh = place.path("deep/fresh");
    let empty = place.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let import = ["import", "--store", &fresh, "--embedder", "hashed"];
    let (code, _, stderr) = ran(&[&import, &[empty.as_str()] as &[&str]].concat());
    assert_eq!(code, 1, "{stderr}");
    assert!(!Path::new(&place.path("deep")).exists());
    let notes = place.path("notes");
    let rehearse = [&import, &["--dry-run", notes.as_str()] as &[&str]].concat();
    assert_eq!(ran(&rehearse).0, 0);
    assert!(!Path::new(&place.path("deep")).exists());
    std::fs::create_dir_all(&fresh).unwrap();
    assert_eq!(ran(&rehearse).0, 0);
    assert_eq!(std::fs::read_dir(&fresh).unwrap().count(), 0);
    assert_eq!(ran(&[&import, &[place.path("notes").as_str()] as &[&str]].concat()).0, 0);
    assert_eq!(ran(&["verify", "--store", &fresh]).0, 0);
}

#[test]
fn a_store_made_by_serve_is_told() {
    let place = Place::new();
    let typo = place.path("stroe");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let serve = ["serve", "--embedder", "hashed", "--listen", &address, "--store"];
    let made = format!("made an empty store at {typo}");
    assert!(refused(&[&serve, &[typo.as_str()] as &[&str]].concat()).contains(&made));
    assert!(!refused(&[&serve, &[place.store().as_str()] as &[&str]].concat()).contains("made an empty store"));
}

#[test]
fn a_token_file_without_tokens_is_refused() {
    let place = Place::new();
    let path = file(&place, "none.toml", "");
    let stderr = refused(&[
        "serve",
        "--store",
        &place.store(),
        "--embedder",
        "hashed",
        "--listen",
        "127.0.0.1:0",
        "--tokens",
        &path,
    ]);
    assert!(stderr.contains("nobody could enter") && stderr.contains("strata tokens new"), "{stderr}");
}

#[test]
fn a_budget_too_small_for_one_record_is_no_nothing() {
    let place = Place::new();
    let (store, server) = (place.store(), Server::with(&place.store(), &[]));
    let ask = |more: &[&str]| {
        let here = ran(&[&["context", "--store", &store], more].concat());
        assert_eq!(here, ran(&[&["context", "--server", &server.url], more].concat()), "{more:?}");
        here
    };
    let (code, stdout, stderr) = ask(&["--max-tokens", "64", "whitefly on tomatoes"]);
    assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
    assert!(stderr.contains("64 tokens") && stderr.contains("hint: ") && stderr.contains("--max-tokens"), "{stderr}");
    let (code, _, stderr) = ask(&["--max-tokens", "64", "--scope", "empty", "whitefly"]);
    assert_eq!((code, stderr.as_str()), (1, "nothing found\n"));
}

#[test]
#[cfg(unix)]
fn an_import_asked_to_stop_keeps_what_is_finished() {
    let place = Place::new();
    let archive = place.path("large");
    std::fs::create_dir(&archive).unwrap();
    for number in 0..60 {
        let lines = (0..2_000).map(|line| format!("The pump {number} of well {line} leaks again this winter. "));
        std::fs::write(format!("{archive}/{number}.txt"), lines.collect::<String>()).unwrap();
    }
    let fresh = place.path("fresh");
    let child = strata(&["import", "--store", &fresh, "--embedder", "hashed", &archive])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The signal is listened for before the store is made.
    while !Path::new(&fresh).join("manifest").is_dir() {
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let (code, _, stderr) = said(&output);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("stopping: ") && stderr.contains("the same command goes on from there"), "{stderr}");
}
