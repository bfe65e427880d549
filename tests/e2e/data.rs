//! Real archives, where this machine has them: read whole, counted, asked.

use strata_tests::{World, data};

use crate::PROGRAM;

#[test]
fn locomo_goes_in_turn_by_turn() {
    let Some(file) = data("LoCoMo", "locomo/locomo.dev.json") else {
        return;
    };
    let world = World::new(PROGRAM);
    let report = world.import(&["--json", &*file.to_string_lossy()]).succeeds().json();
    assert_eq!(report["totals"]["sources"], 7);
    assert_eq!(report["totals"]["turns"], 4279);
    let asked =
        ["search", "--json", "--unit", "turn", "--source", "conv-30", "-k", "10", "Jon lost his job as a banker"];
    let hits = world.on_store(&asked).succeeds().json_lines();
    let found = hits.iter().any(|hit| hit["turn_ids"] == serde_json::json!(["conv-30/D1:2"]));
    assert!(found, "the turn that says so is among ten");
    assert!(hits.iter().all(|hit| hit["source_key"] == "conv-30"));
    assert!(hits.iter().all(|hit| hit["said_at"].is_string()), "sessions have dates");
    let again = world.import(&["--json", &*file.to_string_lossy()]).succeeds().json();
    assert_eq!(again["unchanged"].as_array().map(Vec::len), Some(7));
}

#[test]
fn python_documentation_is_found_by_topic() {
    let Some(folder) = data("Python documentation", "docs/python_doc_rst/tutorial") else {
        return;
    };
    let world = World::new(PROGRAM);
    let n_files = crate::files::below(&folder, ".txt").len();
    let report = world.import(&["--json", &*folder.to_string_lossy()]).succeeds().json();
    assert_eq!(report["totals"]["sources"], n_files);
    let asked = ["search", "--json", "-k", "5", "list comprehensions in square brackets"];
    let hits = world.on_store(&asked).succeeds().json_lines();
    let keys: Vec<&str> = hits.iter().filter_map(|hit| hit["source_key"].as_str()).collect();
    assert!(keys.iter().any(|key| key.ends_with("datastructures.rst.txt")), "{keys:?}");
}
