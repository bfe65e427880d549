//! Rules about which crate may know which.

use crate::tree::{File, Finding, Tree};

/// Our crates and those of ours that each may depend on; tests and benches may depend on all.
const MAY_USE: [(&str, &[&str]); 8] = [
    ("kernels", &[]),
    ("index/model", &[]),
    ("index", &["model"]),
    ("proto", &[]),
    ("ingest/read", &["model"]),
    ("ingest", &["read", "index", "kernels"]),
    ("serve/mcp", &["proto"]),
    ("serve", &["index", "kernels", "proto", "ingest", "mcp"]),
];

/// Names under which our crates are depended on.
const OURS: [(&str, &str); 16] = [
    ("model", "model"),
    ("strata-model", "model"),
    ("read", "read"),
    ("strata-read", "read"),
    ("kernels", "kernels"),
    ("strata-kernels", "kernels"),
    ("index", "index"),
    ("strata-index", "index"),
    ("proto", "proto"),
    ("strata-proto", "proto"),
    ("ingest", "ingest"),
    ("strata-ingest", "ingest"),
    ("serve", "serve"),
    ("strata", "serve"),
    ("mcp", "mcp"),
    ("strata-mcp", "mcp"),
];

/// Crates depend only downwards.
pub fn downwards(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, allowed) in MAY_USE {
        let manifest = format!("{folder}/Cargo.toml");
        let Some(file) = tree.files.iter().find(|file| file.path == manifest) else {
            continue;
        };
        for (line, name) in own_dependencies(file) {
            if !allowed.contains(&name) {
                findings.push(Finding::new(&file.path, line, format!("{folder} may not depend on {name}")));
            }
        }
    }
    findings
}

/// The dependencies of a manifest that are crates of ours, of every kind, with their lines.
fn own_dependencies(file: &File) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let mut in_dependencies = false;
    for (idx, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            in_dependencies = header.ends_with("dependencies");
            let single = header.rsplit_once("dependencies.").map(|(_, name)| name);
            found.extend(single.and_then(ours).map(|name| (idx + 1, name)));
        } else if in_dependencies {
            let key = line.split(['.', '=', ' ']).next().unwrap_or("");
            let renamed = OURS.iter().find(|(name, _)| line.contains(&format!("package = \"{name}\"")));
            let name = renamed.map(|&(_, name)| name).or_else(|| ours(key));
            found.extend(name.map(|name| (idx + 1, name)));
        }
    }
    found
}

fn ours(name: &str) -> Option<&'static str> {
    let name = name.trim_matches('"');
    OURS.iter().find(|(key, _)| *key == name).map(|&(_, name)| name)
}

/// Every manifest takes the lints of the workspace.
pub fn lints_inherited(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending("Cargo.toml") {
        let inherits = file.text.contains("[lints]\nworkspace = true");
        if file.text.contains("[package]") && !inherits {
            findings.push(Finding::new(&file.path, 1, "lacks `[lints] workspace = true`"));
        }
    }
    findings
}
