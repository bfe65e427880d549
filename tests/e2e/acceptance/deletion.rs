//! What a deleted source leaves behind: nothing of any kind.

use proto::v1::{GetSourceRequest, GraphWalkRequest, Hit, SourceView, StatsResponse};
use strata_tests::{Client, World};
use tonic::Code;

use super::passed;
use crate::PROGRAM;
use crate::ask::{Reader, search};

const DELETED: &str = "greenhouse-plan.md";
const SIBLING: &str = "mira-and-tomas";
/// Words that stand in the deleted document alone.
const WORDS: &str = "polycarbonate actuators ampere";

/// The source that will be deleted, and what there was before.
struct Before {
    key: String,
    id: String,
    chunk: String,
    stats: StatsResponse,
    sibling: (String, Vec<String>),
}

fn before(world: &World) -> Before {
    let server = world.serve(&[]);
    let client = server.client();
    let hit = search(&client, WORDS, 1).remove(0);
    let source = hit.source.expect("a hit has a source");
    assert!(source.key.ends_with(DELETED), "{} is found", source.key);
    Before {
        key: source.key,
        id: source.id,
        chunk: hit.unit_id,
        stats: Reader(&client).stats(),
        sibling: Reader(&client).source_with_hits(SIBLING),
    }
}

#[test]
fn source_delete_reaches_derived() {
    let world = World::with_sample(PROGRAM);
    let before = before(&world);
    let plan = ["delete", "--source", &before.key, "--json"];
    let planned = world.on_store(&plan).succeeds().json();
    assert_eq!(planned["committed"], false);
    let planned_again = world.on_store(&plan).succeeds().json();
    assert_eq!(planned, planned_again, "a plan changes nothing");
    world.on_store(&["delete", "--source", &before.key, "--commit"]).succeeds();
    world.on_store(&["verify"]).succeeds();

    let server = world.serve(&[]);
    let client = server.client();
    let counted = counts_fell(&before, &Reader(&client).stats());
    is_not_found(&client, &before);
    leads_nowhere(&client, &before);
    let export = world.on_store(&["export", "--canonical"]).succeeds();
    assert!(!export.stdout.contains("polycarbonate"), "it is exported");
    let sibling = Reader(&client).source_with_hits(SIBLING);
    assert_eq!(sibling, before.sibling, "the twin is untouched");
    let refused = world.import(&strata_tests::sample_paths()).exits(3);
    assert!(refused.stderr.contains("--undelete"), "{}", refused.stderr);
    passed("evidence.source_delete_reaches_derived", counted);
}

fn counts_fell(before: &Before, after: &StatsResponse) -> String {
    let was = &before.stats;
    let counts = [
        ("sources", was.n_sources, after.n_sources),
        ("sentences", was.n_sentences, after.n_sentences),
        ("chunks", was.n_chunks, after.n_chunks),
        ("tokens", was.n_tokens, after.n_tokens),
    ];
    for (kind, was, is) in counts {
        assert!(0 < is && is < was, "{kind}: {was} before, {is} after");
    }
    assert_eq!(after.n_sources + 1, was.n_sources);
    assert_eq!(after.n_turns, was.n_turns, "a document has no turns");
    counts.map(|(kind, was, is)| format!("{kind} {was} to {is}")).join(", ")
}

fn is_not_found(client: &Client, before: &Before) {
    for question in [WORDS, "greenhouse budget", "soil sensors"] {
        let hits = search(client, question, 1000);
        assert!(!hits.is_empty(), "the twin: others answer {question:?}");
        assert!(hits.iter().all(|hit| !is_of(hit, &before.id)), "{question:?}");
        let places = hits.iter().flat_map(|hit| &hit.places);
        let mut sources = places.filter_map(|place| place.source.as_ref());
        assert!(sources.all(|source| source.id != before.id));
    }
    let context = Reader(client).context(WORDS, 20, 4000);
    assert!(!context.text.contains("polycarbonate"), "it is quoted");
    assert!(!Reader(client).keys().contains(&before.key), "it is listed");
    for name in [&before.key, &before.id] {
        let request = GetSourceRequest { source: name.clone(), view: SourceView::Full.into(), ..Default::default() };
        let refusal = client.get_source(request).expect_err("it is gone");
        assert_eq!(refusal.code(), Code::NotFound);
    }
}

fn leads_nowhere(client: &Client, before: &Before) {
    let request = GraphWalkRequest { from_chunk_ids: vec![before.chunk.clone()], ..Default::default() };
    let refusal = client.graph_walk(request).expect_err("its chunk is gone");
    assert_eq!(refusal.code(), Code::NotFound);
    for from in &before.sibling.1 {
        let reached = Reader(client).walk(from, 6);
        assert!(reached.iter().all(|hit| !is_of(hit, &before.id)), "an edge");
    }
}

fn is_of(hit: &Hit, source: &str) -> bool {
    hit.source.as_ref().is_some_and(|found| found.id == source)
}
