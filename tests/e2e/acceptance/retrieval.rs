//! `k` and the token budget are ceilings.

use proto::v1::{SearchRequest, Unit};
use strata_tests::{Client, World};

use super::passed;
use crate::PROGRAM;
use crate::ask::{Reader, search};

const QUESTION: &str = "lighthouse lamp";

/// Forty long notes about one thing, and the sample's chats.
fn crowded() -> World {
    let world = World::new(PROGRAM);
    let detail = "The keeper writes about the lighthouse and its lamp in detail. ";
    for idx in 0..40 {
        let head = format!("Note {idx} about the lighthouse. Lamp {idx} turns at {idx} knots.");
        let text = format!("{head}\n\n{}", detail.repeat(12));
        world.write(&format!("many/{idx:02}.md"), text);
    }
    let [_, chats] = strata_tests::sample_paths();
    let many = world.path("many").to_string_lossy().into_owned();
    world.import(&[many, chats]).succeeds();
    world
}

#[test]
fn k_is_an_upper_bound() {
    let world = crowded();
    let server = world.serve(&[]);
    let client = server.client();
    for k in [1, 2, 7, 30] {
        let hits = search(&client, QUESTION, k);
        assert_eq!(hits.len(), k as usize, "the twin: {k} fit and {k} come");
    }
    units_are_counted(&client);
    let counted = contexts_are_bounded(&Reader(&client));
    passed("retrieval.k_is_an_upper_bound", counted);
}

fn units_are_counted(client: &Client) {
    for unit in [Unit::Turn, Unit::Session, Unit::Source] {
        let request = SearchRequest {
            question: "lighthouse lamp greenhouse".to_owned(),
            k: 5,
            unit: unit.into(),
            ..Default::default()
        };
        let hits = client.search(request).expect("a search").hits;
        assert!((1..=5).contains(&hits.len()), "{unit:?}: {}", hits.len());
        let counted = hits.iter().all(|hit| hit.unit == i32::from(unit));
        assert!(counted, "k counts {unit:?}");
    }
}

fn contexts_are_bounded(reader: &Reader<'_>) -> String {
    let mut counted = Vec::new();
    for (k, max_tokens) in [(3, 4000), (50, 300), (5, 100_000), (1, 64)] {
        let context = reader.context(QUESTION, k, max_tokens);
        let (n_records, n_tokens) = (context.records.len(), context.n_tokens);
        assert!(n_records <= k as usize, "{n_records} records of {k}");
        assert!(n_tokens <= max_tokens, "{n_tokens} of {max_tokens} tokens");
        // A budget also counts bytes, so that no text can be too cheap.
        let n_bytes = context.text.len();
        assert!(n_bytes <= max_tokens as usize * 4, "{n_bytes} bytes");
        let heads = context.text.lines().filter(|line| line.starts_with('['));
        assert_eq!(heads.count(), n_records, "every record is counted");
        counted.push(format!("{n_records}/{k} in {n_tokens}/{max_tokens}"));
    }
    let roomy = reader.context(QUESTION, 5, 100_000).records.len();
    assert_eq!(roomy, 5, "the twin: k records when they fit");
    let tight = reader.context(QUESTION, 50, 300).records.len();
    assert!(tight > 0, "the twin: and not zero");
    counted.join(", ")
}
