//! Rules about Rust source: what is named where, how long it is, how it opens.

use crate::lexer;
use crate::tree::{File, Finding, Tree};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;

/// An engine, and the only places that may name it.
const HOMES: [(&str, &[&str]); 9] = [
    ("usearch", &["index/src/segment/vector.rs"]),
    ("tantivy", &["index/src/segment/text.rs"]),
    ("tonic", &["proto/", "serve/", "tests/"]),
    ("cudarc", &["kernels/src/cuda/"]),
    ("parquet", &["index/src/table/", "index/src/segment/"]),
    ("arrow", &["index/src/table/", "index/src/segment/"]),
    ("tokio", &["serve/", "tests/"]),
    ("anyhow", &["serve/", "tests/", "benches/"]),
    ("hf_hub", &["ingest/src/models.rs", "ingest/src/models/"]),
];

/// A call of product code, its only homes and why; tests and measurements may use it.
const CALLS: [(&str, &[&str], &str); 6] = [
    ("ScopeSet::grant", &["serve/src/identity.rs"], "only the identity layer grants scopes"),
    ("sync_all", &["index/src/files.rs"], "one place makes bytes durable"),
    ("sync_data", &["index/src/files.rs"], "one place makes bytes durable"),
    ("SystemTime::now", &["serve/src/shared.rs"], "time is an argument"),
    ("Utc::now", &["serve/src/shared.rs"], "time is an argument"),
    ("Local::now", &["serve/src/shared.rs"], "time is an argument"),
];

fn lies_in(path: &str, homes: &[&str]) -> bool {
    homes.iter().any(|home| path == *home || (home.ends_with('/') && path.starts_with(home)))
}

/// The lines of `code` that hold `needle` as a whole name, from 1.
fn lines_naming<'a>(code: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let named = move |line: &str| {
        line.match_indices(needle).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + needle.len()..].chars().next();
            !before.is_some_and(part_of_name) && !after.is_some_and(part_of_name)
        })
    };
    code.lines().enumerate().filter(move |(_, line)| named(line)).map(|(idx, _)| idx + 1)
}

/// Each engine is named in one place.
pub fn engines(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let code = lexer::code(&file.text);
        for (engine, homes) in HOMES {
            if lies_in(&file.path, homes) {
                continue;
            }
            for line in lines_naming(&code, engine) {
                let used = code.lines().nth(line - 1).is_some_and(|text| is_path(text, engine));
                if used {
                    let what = format!("{engine} is named only in {}", homes.join(", "));
                    findings.push(Finding::new(&file.path, line, what));
                }
            }
        }
    }
    findings
}

/// The nouns are plain data: no encoding of wire or disk is named among them.
pub fn plain_nouns(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| file.path.starts_with("index/model/src/")) {
        let code = lexer::code(&file.text);
        for needle in ["serde", "Serialize", "Deserialize", "prost", "arrow", "parquet"] {
            for line in lines_naming(&code, needle) {
                findings.push(Finding::new(&file.path, line, format!("{needle} has no place among the nouns")));
            }
        }
    }
    findings
}

/// Whether `line` uses `name` as a crate and not as a variable or method of that name.
fn is_path(line: &str, name: &str) -> bool {
    line.contains(&format!("{name}::")) || line.contains(&format!("use {name}"))
}

/// Calls that belong to one file are made there alone.
pub fn calls(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let code = file.product_code();
        for (call, homes, why) in CALLS {
            if lies_in(&file.path, homes) {
                continue;
            }
            for line in lines_naming(&code, call) {
                findings.push(Finding::new(&file.path, line, format!("{call}: {why} ({})", homes.join(", "))));
            }
        }
    }
    findings
}

/// The store reaches files through its one seam.
pub fn store_files(tree: &Tree) -> Vec<Finding> {
    let homes = ["index/src/files.rs", "index/src/files/", "index/src/map.rs"];
    let in_index = |file: &&File| file.path.starts_with("index/src/") && !lies_in(&file.path, &homes);
    let mut findings = Vec::new();
    for file in tree.rust().filter(in_index) {
        let code = file.product_code();
        for needle in ["std::fs", "fs::File", "File::open", "File::create", "OpenOptions"] {
            for line in lines_naming(&code, needle) {
                findings.push(Finding::new(&file.path, line, format!("{needle}: store files go through files.rs")));
            }
        }
    }
    findings
}

/// Unsafe code has few homes.
pub fn unsafe_homes(tree: &Tree) -> Vec<Finding> {
    let allowed = |path: &str| {
        path == "index/src/map.rs"
            || path == "kernels/src/cpu/simd.rs"
            || (path.starts_with("kernels/") && path.ends_with("/launch.rs"))
    };
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| !allowed(&file.path)) {
        for line in lines_naming(&lexer::code(&file.text), "unsafe") {
            findings.push(Finding::new(&file.path, line, "unsafe outside map.rs, launch.rs and simd.rs"));
        }
    }
    findings
}

/// Every file opens with what it is.
pub fn opening(tree: &Tree) -> Vec<Finding> {
    let opens = |file: &File| file.text.strip_prefix("//! ").is_some_and(|rest| !rest.starts_with('\n'));
    let missing = tree.rust().filter(|file| !opens(file));
    missing.map(|file| Finding::new(&file.path, 1, "does not open with `//! ` and what it is")).collect()
}

/// Files and functions fit a reader's head.
pub fn lengths(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let n_lines = file.text.lines().count();
        if n_lines > FILE_LINES_MAX {
            findings.push(Finding::new(&file.path, 1, format!("{n_lines} lines, at most {FILE_LINES_MAX}")));
        }
        for (name, line, n_lines) in lexer::functions(&lexer::code(&file.text)) {
            if n_lines > FUNCTION_LINES_MAX {
                let what = format!("fn {name} has {n_lines} lines, at most {FUNCTION_LINES_MAX}");
                findings.push(Finding::new(&file.path, line, what));
            }
        }
    }
    findings
}

/// Nothing is left for later and no test is switched off.
pub fn unfinished(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let code = lexer::code(&file.text);
        for needle in ["todo!", "unimplemented!", "#[ignore", "should_panic", "dbg!"] {
            for (idx, _) in code.lines().enumerate().filter(|(_, line)| line.contains(needle)) {
                findings.push(Finding::new(&file.path, idx + 1, format!("{needle} is not left in the tree")));
            }
        }
    }
    findings
}

/// Tests wait for a thing that happens, never for time to pass.
pub fn sleeps(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let product = file.product_code();
        let waits: Vec<usize> = lines_naming(&product, "thread::sleep").collect();
        let code = lexer::code(&file.text);
        for line in lines_naming(&code, "thread::sleep").filter(|line| !waits.contains(line)) {
            findings.push(Finding::new(&file.path, line, "wait for an event, not for time to pass"));
        }
    }
    findings
}
