//! The program as a process: exit codes, stdout and stderr, `--store` against `--server`, its end.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// The program with `args`, away from this machine's own stores.
pub fn strata(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
    for variable in ["STRATA_STORE", "STRATA_TOKEN", "STRATA_DEVICE"] {
        command.env_remove(variable);
    }
    command.args(args).stdin(Stdio::null());
    command
}

/// Exit code, stdout and stderr of the program with `args`.
pub fn ran(args: &[&str]) -> (i32, String, String) {
    said(&strata(args).output().unwrap())
}

/// Exit code, stdout and stderr.
pub fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A folder with an archive and a store made of it.
pub struct Place {
    /// Where all of it is.
    pub folder: tempfile::TempDir,
}

impl Place {
    /// Two notes, imported with the embedder without weights.
    pub fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        let notes = place.folder.path().join("notes");
        std::fs::create_dir(&notes).unwrap();
        let plan = "# Plan\n\nThe greenhouse needs glass. The tomatoes have whitefly. Yellow cards catch whitefly.\n\n\
                    The pump of the well leaks. A new pump costs ninety euros. The well is deep.\n";
        std::fs::write(notes.join("plan.md"), plan).unwrap();
        std::fs::write(notes.join("soup.txt"), "Red lentils simmer for twenty minutes. Add cumin.\n").unwrap();
        let (code, _, stderr) = ran(&[
            "import",
            "--store",
            &place.store(),
            "--embedder",
            "hashed",
            "--collection",
            "n",
            &place.path("notes"),
        ]);
        assert_eq!(code, 0, "{stderr}");
        place
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// The store's folder.
    pub fn store(&self) -> String {
        self.path("store")
    }
}

/// A server process; killed at the end of the test.
pub struct Server {
    child: Child,
    /// `http://HOST:PORT`.
    pub url: String,
    /// Where it computes.
    pub device: String,
}

impl Server {
    fn start(store: &str) -> Self {
        Self::with(store, &[])
    }

    /// Serves `store` with more flags.
    pub fn with(store: &str, more: &[&str]) -> Self {
        let args = ["serve", "--store", store, "--listen", "127.0.0.1:0", "--embedder", "hashed", "--json"];
        let mut child = strata(&[&args, more].concat()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let field = |name: &str| told[name].as_str().unwrap().to_owned();
        Self { child, url: field("url"), device: field("device") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_exit_code_says_what_came_of_it() {
    let place = Place::new();
    let store = place.store();
    let (code, stdout, _) = ran(&["search", "--store", &store, "--json", "-k", "2", "whitefly on tomatoes"]);
    assert_eq!(code, 0);
    let hits = lines(&stdout);
    assert!(!hits.is_empty() && hits.len() <= 2);
    for field in ["unit", "unit_id", "source_key", "source_id", "spans", "turn_ids", "text", "author", "said_at"] {
        assert!(hits[0].get(field).is_some(), "{field} is missing");
    }
    assert!(hits[0]["signals"].is_object() && hits[0]["score"].is_f64());
    assert!(hits[0]["source_key"].as_str().unwrap().ends_with("plan.md"));

    let (code, stdout, _) = ran(&["search", "--store", &store, "--scope", "empty", "whitefly"]);
    assert_eq!((code, stdout.as_str()), (1, ""));
    let (code, stdout, stderr) = ran(&["search", "--store", &place.path("none"), "whitefly"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.contains("error: no store at") && stderr.contains("hint: "), "{stderr}");
    let (code, _, _) = ran(&["search", "--store", &store, "-k", "0", "whitefly"]);
    assert_eq!(code, 2);
    let (code, _, stderr) = ran(&["sources", "--store", &store, "show", "nowhere"]);
    assert_eq!(code, 2, "{stderr}");
}

#[test]
fn what_cannot_be_read_is_skipped_and_said() {
    let place = Place::new();
    std::fs::write(place.folder.path().join("broken.zip"), b"PK\x03\x04 not a zip").unwrap();
    let (code, _, stderr) = ran(&[
        "import",
        "--store",
        &place.store(),
        "--embedder",
        "hashed",
        &place.path("broken.zip"),
        &place.path("notes/soup.txt"),
    ]);
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("broken.zip"), "{stderr}");
}

#[test]
fn a_store_and_its_server_say_the_same() {
    let place = Place::new();
    let (store, server) = (place.store(), Server::start(&place.store()));
    let both = |args: &[&str]| {
        let there = ran(&[args, &["--server", &server.url]].concat());
        let here = ran(&[args, &["--store", &store]].concat());
        assert_eq!(here, there, "{args:?}");
        here.1
    };
    let hits = lines(&both(&["search", "--json", "whitefly on tomatoes"]));
    both(&["search", "whitefly on tomatoes"]);
    both(&["search", "--unit", "source", "--json", "-k", "1", "lentils"]);
    both(&["search", "--scope", "empty", "lentils"]);
    both(&["walk", "--from", hits[0]["unit_id"].as_str().unwrap(), "--json"]);
    both(&["sources", "--json"]);
    both(&["sources", "show", "--json", hits[0]["source_key"].as_str().unwrap()]);
    both(&["stats", "--json"]);
    both(&["delete", "--source", hits[0]["source_key"].as_str().unwrap(), "--json"]);
    let context = |place: &[&str]| {
        let (code, stdout, _) = ran(&[&["context", "--json", "--max-tokens", "300", "whitefly"], place].concat());
        let mut value = lines(&stdout).remove(0);
        // The fence differs each time: nobody can know it beforehand.
        value.as_object_mut().unwrap().remove("text");
        value.as_object_mut().unwrap().remove("n_tokens");
        (code, value)
    };
    assert_eq!(context(&["--store", &store]), context(&["--server", &server.url]));
}

#[test]
fn a_deletion_needs_commit() {
    let place = Place::new();
    let store = place.store();
    let key = "soup.txt";
    let named = |key: &str| {
        let all = lines(&ran(&["sources", "--store", &store, "--json"]).1);
        let found = all.iter().find(|source| source["source_key"].as_str().unwrap().ends_with(key));
        found.map(|source| source["source_key"].as_str().unwrap().to_owned())
    };
    let whole = named(key).unwrap();
    let (code, stdout, _) = ran(&["delete", "--store", &store, "--source", &whole]);
    assert!(code == 0 && stdout.contains("would delete"));
    assert!(named(key).is_some());
    let (code, stdout, _) = ran(&["delete", "--store", &store, "--source", &whole, "--commit", "--reason", "test"]);
    assert!(code == 0 && stdout.contains("\ndeleted"), "{stdout}");
    assert!(named(key).is_none());
}

#[test]
fn a_damaged_store_is_told() {
    let place = Place::new();
    let store = place.store();
    let (code, stdout, stderr) = ran(&["verify", "--store", &store]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    damage(Path::new(&store));
    let (code, stdout, _) = ran(&["verify", "--store", &store, "--json"]);
    assert_eq!(code, 2);
    assert!(!lines(&stdout)[0]["problems"].as_array().unwrap().is_empty());
}

/// Flips a bit in the middle of the largest file.
pub fn damage(store: &Path) {
    let mut files = Vec::new();
    let mut folders = vec![store.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                files.push((entry.metadata().unwrap().len(), entry.path()));
            }
        }
    }
    let (_, path) = files.into_iter().max().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
}

#[test]
fn an_open_address_is_refused_with_the_way_out() {
    let place = Place::new();
    let (code, stdout, stderr) = ran(&["serve", "--store", &place.store(), "--listen", "0.0.0.0:0"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.contains("refused to listen") && stderr.contains("hint: "), "{stderr}");
    let (code, stdout, _) = ran(&["tokens", "new", "--principal", "ana", "--scope", "acme/ana", "--json"]);
    assert_eq!(code, 0);
    let made = lines(&stdout).remove(0);
    std::fs::write(place.folder.path().join("t.toml"), made["toml"].as_str().unwrap()).unwrap();
    let (code, _, stderr) =
        ran(&["serve", "--store", &place.store(), "--listen", "0.0.0.0:0", "--tokens", &place.path("t.toml")]);
    assert_eq!(code, 2);
    assert!(stderr.contains("--insecure-plaintext"), "{stderr}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new();
    let mut child = strata(&["export", "--canonical", "--store", &place.store()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
#[cfg(unix)]
fn a_server_asked_to_stop_ends_well() {
    let place = Place::new();
    let mut server = Server::start(&place.store());
    let pid = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_same_archive_exports_the_same() {
    let (one, two) = (Place::new(), Place::new());
    let export = |place: &Place| {
        let (code, stdout, stderr) = ran(&["export", "--canonical", "--store", &place.store()]);
        assert_eq!(code, 0, "{stderr}");
        // When Strata took it in differs from run to run.
        stdout.lines().filter(|line| !line.contains("recorded_at")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(export(&one), export(&two));
}

#[test]
fn another_model_than_the_stores_is_refused() {
    let place = Place::new();
    let (code, _, stderr) = ran(&["search", "--store", &place.store(), "--embedder", "/nowhere", "whitefly"]);
    assert_eq!(code, 2, "{stderr}");
}

#[test]
fn help_names_every_command() {
    let (code, stdout, _) = ran(&["--help"]);
    assert_eq!(code, 0);
    for command in [
        "import", "search", "context", "walk", "sources", "delete", "export", "stats", "verify", "models", "serve",
        "tokens", "demo",
    ] {
        assert!(stdout.contains(command), "{command} is missing");
        assert_eq!(ran(&[command, "--help"]).0, 0);
    }
}
