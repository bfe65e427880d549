//! Rules about every text of the tree: links, and names of places outside it.

use crate::tree::{File, Finding, Tree};

/// Every relative link in a document leads somewhere.
pub fn links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".md") {
        for (line, target) in link_targets(&file.text) {
            let target = target.split(['#', ' ']).next().unwrap_or("");
            let outside = target.contains("://") || target.starts_with("mailto:");
            if target.is_empty() || outside {
                continue;
            }
            let leads = resolved(&file.path, target).is_some_and(|path| tree.has(&path));
            if !leads {
                findings.push(Finding::new(&file.path, line, format!("the link to {target} leads nowhere")));
            }
        }
    }
    findings
}

/// The targets of inline links and of link definitions outside code blocks, with their lines from 1.
fn link_targets(text: &str) -> Vec<(usize, &str)> {
    let mut targets = Vec::new();
    let mut in_code = false;
    for (idx, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        targets.extend(inline.map(|target| (idx + 1, target)));
        let definition = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        targets.extend(definition.map(|(_, target)| (idx + 1, target.trim())));
    }
    targets
}

/// `target` as a path from the root, as seen from the file `from`; `None` where it leaves the tree.
fn resolved(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// No text names the host of a package registry: ordinary clients know where theirs is.
pub fn registries(tree: &Tree) -> Vec<Finding> {
    // Written in parts, so that this file keeps its own rule.
    let hosts = [
        concat!("crates", ".io"),
        concat!("pypi", ".org"),
        concat!("python", "hosted.org"),
        concat!("npmjs", ".org"),
        concat!("npmjs", ".com"),
        concat!("proxy.golang", ".org"),
        concat!("static.rust", "-lang.org"),
        concat!("ana", "conda.org"),
    ];
    let checked = |file: &&File| !file.path.ends_with("Cargo.lock");
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(checked) {
        for (idx, line) in file.text.lines().enumerate() {
            let named = hosts.iter().find(|host| line.contains(*host));
            findings.extend(named.map(|host| Finding::new(&file.path, idx + 1, format!("names the registry {host}"))));
        }
    }
    findings
}

/// No text names `root`, the place where this tree happens to lie, or another absolute path below its parent.
pub fn machine_paths(tree: &Tree, root: &str) -> Vec<Finding> {
    let root = root.trim_end_matches('/');
    // `/src` alone would be found in every other path.
    if root.matches('/').count() < 2 {
        return Vec::new();
    }
    let stands_alone = |line: &str, at: usize| {
        let before = line[..at].chars().next_back();
        let after = line[at + root.len()..].chars().next();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '.') && !after.is_some_and(char::is_alphanumeric)
    };
    let mut findings = Vec::new();
    for file in &tree.files {
        for (idx, line) in file.text.lines().enumerate() {
            if line.match_indices(root).any(|(at, _)| stands_alone(line, at)) {
                findings.push(Finding::new(&file.path, idx + 1, "names the folder of this checkout"));
            }
        }
    }
    findings
}
