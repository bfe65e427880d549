//! The house rules that a tool can check: each is a test, and each is shown to fail on a bad example.

mod crates;
mod documents;
mod lexer;
mod source;
mod tree;

use std::fmt::Write as _;
use std::path::Path;

use tree::{Finding, Tree};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace")
}

/// Fails with one line for each place that breaks the rule.
fn holds(rule: &str, check: impl Fn(&Tree) -> Vec<Finding>) {
    let findings = check(&Tree::read(root()));
    let mut report = String::new();
    for Finding { path, line, what } in &findings {
        let _ = write!(report, "\n  {path}:{line}: {what}");
    }
    assert!(findings.is_empty(), "{rule}: {} broken{report}", findings.len());
}

/// Shows that the rule names the line of a bad example and passes its good twin.
fn can_fail(check: impl Fn(&Tree) -> Vec<Finding>, bad: (&str, &str, usize), good: (&str, &str)) {
    let (path, text, line) = bad;
    let places: Vec<_> = check(&Tree::of(&[(path, text)])).into_iter().map(|f| (f.path, f.line)).collect();
    assert_eq!(places, [(path.to_owned(), line)], "the bad example");
    assert_eq!(check(&Tree::of(&[good])), [], "the good example");
}

fn machine_paths(tree: &Tree) -> Vec<Finding> {
    documents::machine_paths(tree, &root().to_string_lossy())
}

#[test]
fn crates_depend_only_downwards() {
    can_fail(
        crates::downwards,
        ("index/Cargo.toml", "[package]\n[dev-dependencies]\nkernels.workspace = true\n", 3),
        ("ingest/Cargo.toml", "[dependencies]\nkernels.workspace = true\n"),
    );
    can_fail(
        crates::downwards,
        ("proto/Cargo.toml", "[dependencies]\nmemory = { path = \"../index\", package = \"strata-index\" }\n", 2),
        ("serve/Cargo.toml", "[dependencies]\nproto.workspace = true\n"),
    );
    holds("crates depend only downwards", crates::downwards);
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    can_fail(
        crates::lints_inherited,
        ("index/Cargo.toml", "[package]\nname = \"x\"\n", 1),
        ("index/Cargo.toml", "[package]\nname = \"x\"\n[lints]\nworkspace = true\n"),
    );
    holds("every crate takes the lints of the workspace", crates::lints_inherited);
}

#[test]
fn each_engine_is_named_in_one_place() {
    can_fail(
        source::engines,
        ("index/src/search/mod.rs", "//! x\nuse tantivy::Index;\n", 2),
        ("index/src/segment/text.rs", "//! x\nuse tantivy::Index;\n"),
    );
    holds("each engine is named in one place", source::engines);
}

#[test]
fn the_nouns_are_plain_data() {
    can_fail(
        source::plain_nouns,
        ("index/model/src/chunk.rs", "//! x\n#[derive(Serialize)]\nstruct Chunk;\n", 2),
        ("index/src/manifest.rs", "//! x\n#[derive(Serialize)]\nstruct Chunk;\n"),
    );
    holds("the nouns are plain data", source::plain_nouns);
}

#[test]
fn calls_that_belong_to_one_file_are_made_there_alone() {
    can_fail(
        source::calls,
        ("serve/src/rpc/search.rs", "//! x\nfn f() { ScopeSet::grant(s); }\n", 2),
        ("serve/src/rpc/search.rs", "//! x\n#[cfg(test)]\nmod tests { fn f() { ScopeSet::grant(s); } }\n"),
    );
    can_fail(
        source::calls,
        ("index/src/commit.rs", "//! x\nfn f() { file.sync_all(); }\n", 2),
        ("index/src/files.rs", "//! x\nfn f() { file.sync_all(); }\n"),
    );
    can_fail(
        source::calls,
        ("ingest/src/store.rs", "//! x\nfn f() -> X { Utc::now() }\n", 2),
        ("serve/src/shared.rs", "//! x\nfn f() -> X { Utc::now() }\n"),
    );
    holds("calls that belong to one file are made there alone", source::calls);
}

#[test]
fn the_store_reaches_files_through_one_seam() {
    can_fail(
        source::store_files,
        ("index/src/segment/reader.rs", "//! x\nuse std::fs;\n", 2),
        ("index/src/files.rs", "//! x\nuse std::fs;\n"),
    );
    holds("the store reaches files through one seam", source::store_files);
}

#[test]
fn unsafe_has_few_homes() {
    can_fail(
        source::unsafe_homes,
        ("kernels/src/rows.rs", "//! x\nfn f() { unsafe { g() } }\n", 2),
        ("index/src/map.rs", "//! x\nfn f() { unsafe { g() } }\n"),
    );
    holds("unsafe has few homes", source::unsafe_homes);
}

#[test]
fn every_file_opens_with_what_it_is() {
    can_fail(
        source::opening,
        ("serve/src/main.rs", "fn main() {}\n", 1),
        ("serve/src/main.rs", "//! Starts the program.\nfn main() {}\n"),
    );
    holds("every file opens with `//! `", source::opening);
}

#[test]
fn files_and_functions_are_short() {
    let long_file = format!("//! x\n{}", "const A: u32 = 1;\n".repeat(500));
    let long_fn = format!("//! x\nfn f() {{\n{}}}\n", "    g();\n".repeat(69));
    let short_fn = format!("//! x\nfn f() {{\n{}}}\n", "    g();\n".repeat(68));
    can_fail(source::lengths, ("a.rs", &long_file, 1), ("a.rs", "//! x\n"));
    can_fail(source::lengths, ("a.rs", &long_fn, 2), ("a.rs", &short_fn));
    holds("files have at most 500 lines, functions 70", source::lengths);
}

#[test]
fn nothing_is_left_for_later() {
    can_fail(
        source::unfinished,
        ("a.rs", "//! x\nfn f() { todo!() }\n", 2),
        ("a.rs", "//! x\nfn f() { g(\"todo!\") } // todo!\n"),
    );
    can_fail(source::unfinished, ("a.rs", "//! x\n#[ignore]\nfn f() {}\n", 2), ("a.rs", "//! x\nfn f() {}\n"));
    holds("nothing is left for later", source::unfinished);
}

#[test]
fn tests_do_not_wait_for_time_to_pass() {
    can_fail(
        source::sleeps,
        ("tests/e2e/a.rs", "//! x\nfn f() { std::thread::sleep(d); }\n", 2),
        ("tests/e2e/a.rs", "//! x\nfn f() { child.wait(); }\n"),
    );
    holds("tests do not wait for time to pass", source::sleeps);
}

#[test]
fn every_link_leads_somewhere() {
    can_fail(
        documents::links,
        ("docs/a.md", "# A\n\nSee [b](b.md#there).\n", 3),
        ("docs/a.md", "# A\n\nSee [a](a.md#here), [top](#a) and [web](https://example.org/b.md).\n"),
    );
    holds("every relative link leads somewhere", documents::links);
}

#[test]
fn no_registry_is_named() {
    let bad = concat!("\nsee https://crates", ".io/crates/x\n");
    can_fail(documents::registries, ("README.md", bad, 2), ("README.md", "see the registry\n"));
    holds("no registry is named", documents::registries);
}

#[test]
fn no_path_of_this_machine_is_named() {
    let check = |tree: &Tree| documents::machine_paths(tree, "/home/ana/strata");
    can_fail(
        check,
        ("README.md", "cd /home/ana/strata/docs\n", 1),
        ("README.md", "cd docs, or https://x.org/home/ana/stratagem\n"),
    );
    holds("no path of this machine is named", machine_paths);
}
