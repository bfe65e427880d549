//! The sample archive from the west door to the east: import, ask, look around, take it out again.

use serde_json::Value;
use strata_tests::{World, sample_paths};

use crate::PROGRAM;

/// Live sources of the sample: six notes and three conversations.
const N_SOURCES: u64 = 9;
/// Turns of its two JSONL conversations and its transcript.
const N_TURNS: u64 = 75 + 27 + 9;

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} is text in {value}"))
}

#[test]
fn an_import_says_what_went_in() {
    let world = World::new(PROGRAM);
    let [notes, chats] = sample_paths();
    let report = world.import(&["--json", &notes, &chats]).succeeds().json();
    assert_eq!(report["totals"]["sources"], N_SOURCES);
    assert_eq!(report["totals"]["turns"], N_TURNS);
    assert_eq!(report["imported"].as_array().map(Vec::len), usize::try_from(N_SOURCES).ok());
    for list in ["skipped", "refused", "deleted", "unchanged"] {
        assert_eq!(report[list], Value::Array(Vec::new()), "{list}");
    }
    let readers: Vec<&str> = report["imported"].as_array().into_iter().flatten().map(|s| text(s, "reader")).collect();
    for reader in ["markdown", "text", "chat", "transcript"] {
        assert!(readers.contains(&reader), "{reader} reads something of {readers:?}");
    }
    let stats = world.on_store(&["stats", "--json"]).succeeds().json();
    assert_eq!((&stats["n_sources"], &stats["n_turns"]), (&N_SOURCES.into(), &N_TURNS.into()));
    assert_eq!(stats["n_chunks"], report["totals"]["chunks"]);
}

#[test]
fn a_second_import_changes_nothing() {
    let world = World::with_sample(PROGRAM);
    let before = world.on_store(&["export", "--canonical"]).succeeds().stdout;
    assert!(before.contains("polycarbonate"), "an export holds the texts");
    let [notes, chats] = sample_paths();
    let report = world.import(&["--json", &notes, &chats]).succeeds().json();
    assert_eq!(report["unchanged"].as_array().map(Vec::len), usize::try_from(N_SOURCES).ok());
    assert_eq!((&report["totals"]["sources"], &report["totals"]["embedded"]), (&0.into(), &0.into()));
    assert_eq!(world.on_store(&["export", "--canonical"]).succeeds().stdout, before);
}

#[test]
fn two_stores_of_one_archive_are_equal() {
    let (one, two) = (World::with_sample(PROGRAM), World::with_sample(PROGRAM));
    let [one, two] = [&one, &two].map(|world| world.on_store(&["export", "--canonical"]).succeeds().stdout);
    assert!(!one.is_empty());
    assert_eq!(one, two, "nothing of an export depends on the run");
}

#[test]
fn a_rehearsed_import_writes_nothing() {
    let world = World::new(PROGRAM);
    let [notes, _] = sample_paths();
    let report = world.import(&["--dry-run", "--json", &notes]).succeeds().json();
    assert_eq!(report["dry_run"], true);
    assert_eq!(report["totals"]["sources"], 6);
    assert_ne!(world.on_store(&["search", "tomatoes"]).code, 0, "there is nothing to find");
    // The twin: the import itself writes.
    world.import(&[&notes]).succeeds();
    world.on_store(&["search", "tomatoes"]).succeeds();
}

#[test]
fn a_search_answers_with_reasons_and_places() {
    let world = World::with_sample(PROGRAM);
    let store = world.store().to_string_lossy().into_owned();
    let hits = world.on_store(&["search", "-k", "3", "--json", "soil moisture sensors"]).succeeds().json_lines();
    assert_eq!(hits.len(), 3);
    for (idx, hit) in hits.iter().enumerate() {
        assert_eq!(hit["rank"], idx + 1);
        assert_eq!((text(hit, "unit"), text(hit, "scope")), ("chunk", "local"));
        let score = hit["score"].as_f64().expect("a score");
        assert!((0.0..=1.0).contains(&score), "{score}");
        let signals = hit["signals"].as_object().expect("signals");
        assert!(!signals.is_empty() && signals.values().all(|s| s.as_f64().is_some_and(|s| (0.0..=1.0).contains(&s))));
        let shown = ["sources", "show", "--store", &*store, "--json", text(hit, "source_id")];
        let shown = world.run(&shown).succeeds().json();
        let whole = text(&shown, "text");
        for span in hit["spans"].as_array().into_iter().flatten() {
            let at = |idx: usize| usize::try_from(span[idx].as_u64().expect("a byte")).expect("it fits");
            let quoted = whole.get(at(0)..at(1)).expect("a span lies on character borders");
            let first = quoted.lines().next().expect("a span is not empty");
            assert!(text(hit, "text").contains(first), "{first:?} stands in the hit");
        }
    }
    let scores: Vec<f64> = hits.iter().filter_map(|hit| hit["score"].as_f64()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "best first: {scores:?}");
    let people = world.on_store(&["search", "-k", "3", "soil moisture sensors"]).succeeds().stdout;
    assert!(people.contains("greenhouse"), "{people}");
}

#[test]
fn every_unit_is_what_k_counts() {
    let world = World::with_sample(PROGRAM);
    for unit in ["chunk", "turn", "session", "source"] {
        let hits = world.on_store(&["search", "-k", "4", "--unit", unit, "--json", "greenhouse"]).succeeds();
        let hits = hits.json_lines();
        assert!((1..=4).contains(&hits.len()), "{unit}: {} hits", hits.len());
        assert!(hits.iter().all(|hit| text(hit, "unit") == unit), "{unit}");
    }
    let one = world.on_store(&["search", "--source", "mira-and-tomas", "--json", "greenhouse"]).succeeds();
    assert!(one.json_lines().iter().all(|hit| text(hit, "source_key") == "mira-and-tomas"));
}

#[test]
fn other_languages_are_found_by_their_words() {
    let world = World::with_sample(PROGRAM);
    for (question, file) in [("コナジラミ", "tomato-ja.md"), ("Kündigung Vermieter", "umzug-de.txt")] {
        let hits = world.on_store(&["search", "-k", "1", "--json", question]).succeeds().json_lines();
        assert!(text(&hits[0], "source_key").ends_with(file), "{question} finds {}", hits[0]);
    }
}

#[test]
fn nothing_found_is_an_answer_of_its_own() {
    let world = World::with_sample(PROGRAM);
    world.on_store(&["search", "--scope", "elsewhere", "greenhouse"]).exits(1);
    world.on_store(&["context", "--scope", "elsewhere", "greenhouse"]).exits(1);
    // The twin: where it is, it is found.
    world.on_store(&["search", "--scope", "local", "greenhouse"]).succeeds();
}

#[test]
fn a_context_stays_within_its_budget() {
    let world = World::with_sample(PROGRAM);
    for budget in [200_u64, 1000] {
        let tokens = budget.to_string();
        let asked = ["context", "--max-tokens", &tokens, "--json", "vents and temperature in the greenhouse"];
        let context = world.on_store(&asked).succeeds().json();
        assert!(context["n_tokens"].as_u64().is_some_and(|n| n <= budget), "{}", context["n_tokens"]);
        assert!(context["records"].as_array().is_some_and(|records| !records.is_empty()));
        let block = text(&context, "text");
        assert!(block.starts_with("<<<") && block.trim_end().ends_with(">>>"), "{block}");
    }
}

#[test]
fn a_walk_leads_on_from_a_hit() {
    let world = World::with_sample(PROGRAM);
    let hit = world.on_store(&["search", "-k", "1", "--json", "Reinebringen"]).succeeds().json();
    let walk = ["walk", "--from", text(&hit, "unit_id"), "--hops", "2", "-k", "5", "--json"];
    let reached = world.on_store(&walk).succeeds().json_lines();
    assert!((1..=5).contains(&reached.len()));
    for chunk in &reached {
        let path = chunk["path"].as_array().expect("a path");
        assert!((1..=2).contains(&path.len()), "{chunk}");
        assert_ne!(chunk["unit_id"], hit["unit_id"], "the start is not among them");
    }
    world.on_store(&["walk", "--from", &"0".repeat(32)]).refuses("no chunk");
}

#[test]
fn sources_are_listed_and_a_sound_store_verifies() {
    let world = World::with_sample(PROGRAM);
    let sources = world.on_store(&["sources", "--json"]).succeeds().json_lines();
    assert_eq!(sources.len() as u64, N_SOURCES);
    let keys: Vec<&str> = sources.iter().map(|source| text(source, "source_key")).collect();
    assert!(keys.is_sorted(), "{keys:?}");
    let chat = sources.iter().find(|source| source["source_key"] == "mira-and-tomas").expect("the conversation");
    assert_eq!(text(chat, "exported_at"), "2024-11-01T08:00:00Z");
    world.on_store(&["verify"]).succeeds();
}

#[test]
fn tables_are_the_users_own_parquet() {
    let world = World::with_sample(PROGRAM);
    let tables = crate::files::below(&world.store(), "parquet");
    assert!(tables.len() >= 5, "{tables:?}");
    for table in tables {
        let bytes = std::fs::read(&table).expect("a table");
        let magic = b"PAR1";
        assert!(bytes.starts_with(magic) && bytes.ends_with(magic), "{}", table.display());
    }
}
