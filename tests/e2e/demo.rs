//! The demonstration, and the real model's answers to what a newcomer would ask.

use serde_json::Value;
use strata_tests::{World, sample, sample_paths, say};

use crate::PROGRAM;

/// Whether the default model lies on this machine, whole.
pub fn has_model(world: &World) -> bool {
    world.run(&["models", "verify", "minilm"]).code == 0
}

struct Ask {
    question: String,
    source: String,
    unit: String,
}

fn questions() -> Vec<Ask> {
    let text = std::fs::read_to_string(sample().join("questions.toml")).expect("the sample has questions");
    let table: toml::Table = text.parse().expect("the questions are TOML");
    let asks = table["ask"].as_array().expect("a list of questions");
    let field = |ask: &toml::Value, name: &str| ask[name].as_str().expect("a text").to_owned();
    let ask = |ask: &toml::Value| Ask {
        question: field(ask, "question"),
        source: field(ask, "source"),
        unit: field(ask, "unit"),
    };
    asks.iter().map(ask).collect()
}

/// How many questions find their source among the first `k` units.
fn n_found(world: &World, k: &str, report: &mut Vec<String>) -> usize {
    let mut n_found = 0;
    for ask in questions() {
        let asked = ["search", "--json", "--unit", &ask.unit, "-k", k, &ask.question];
        let hits = world.on_store(&asked).succeeds().json_lines();
        let key = |hit: &Value| hit["source_key"].as_str().unwrap_or("").to_owned();
        let found = hits.iter().any(|hit| key(hit).ends_with(&ask.source));
        n_found += usize::from(found);
        if !found {
            report.push(format!("{} finds {:?}", ask.question, hits.iter().map(key).collect::<Vec<_>>()));
        }
    }
    n_found
}

#[test]
fn words_alone_find_most_answers() {
    let world = World::with_sample(PROGRAM);
    let mut report = Vec::new();
    let n_found = n_found(&world, "5", &mut report);
    assert!(n_found + 1 >= questions().len(), "{report:?}");
}

#[test]
fn the_model_finds_every_answer_first() {
    let world = World::new(PROGRAM);
    if !has_model(&world) {
        say("skipped: the model's answers: no model (strata models pull minilm)");
        return;
    }
    let [notes, chats] = sample_paths();
    world.on_store(&["import", "--embedder", "minilm", &notes, &chats]).succeeds();
    let mut report = Vec::new();
    assert_eq!(n_found(&world, "3", &mut report), questions().len(), "{report:?}");
    // The store knows its embedder: another one is refused.
    world.on_store(&["import", "--embedder", "hashed", &notes]).exits(2);
    world.on_store(&["search", "--embedder", "hashed", "greenhouse"]).exits(2);
}

#[test]
fn the_demonstration_runs() {
    let world = World::new(PROGRAM);
    if !has_model(&world) {
        say("skipped: strata demo: no model (strata models pull minilm)");
        return;
    }
    let done = world.run(&["demo", "--folder", "demo"]).succeeds();
    assert!(done.stdout.lines().count() > 10, "{}", done.stdout);
}
