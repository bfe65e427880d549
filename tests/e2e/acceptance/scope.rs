//! Whose data an answer may hold.

use proto::v1::{
    AddSourceRequest, AppendTurnsRequest, DeleteSourceRequest, GetContextRequest, GetSourceRequest, GraphWalkRequest,
    ListSourcesRequest, NewTurn, SearchRequest, SourceView, StatsRequest,
};
use strata_tests::{Client, Token, World};
use tonic::Code;

use super::passed;
use crate::ask::{Reader, add, search, unfenced};

const ACME: Token = Token { secret: "acme-secret", scopes: &["acme/eng"], verbs: &["admin"] };
const BETA: Token = Token { secret: "beta-secret", scopes: &["beta"], verbs: &["admin"] };
const HR: Token = Token { secret: "hr-secret", scopes: &["acme/hr"], verbs: &["admin"] };

const QUESTION: &str = "Which bird is the vault code?";
const SECRET: &str = "The vault code is the name of a bird: kestrel. Only Ottilie knows the vault code.";

/// Notes of the other tenant, some with words of the question.
fn fill_beta(client: &Client) {
    for (key, text) in [
        ("birds", "A heron stood in the pond. The heron is a bird that waits."),
        ("codes", "The code review is on Tuesday. Bring the code and coffee."),
        ("garden", "Beans were planted in two rows. The vault of the cellar is cold."),
    ] {
        add(client, "", key, text);
    }
}

/// Everything `client` can be told, without what differs between any two stores: times and versions.
fn all_answers(client: &Client, foreign_source: &str, foreign_chunk: &str) -> Vec<String> {
    let reader = Reader(client);
    let context = reader.context(QUESTION, 5, 500);
    let unknown = |answer: Result<String, tonic::Status>| match answer {
        Ok(text) => text,
        Err(status) => format!("{:?}: {}", status.code(), status.message()),
    };
    let got = client.get_source(GetSourceRequest {
        source: foreign_source.to_owned(),
        view: SourceView::Full.into(),
        ..Default::default()
    });
    let walked =
        client.graph_walk(GraphWalkRequest { from_chunk_ids: vec![foreign_chunk.to_owned()], ..Default::default() });
    let mut stats = reader.stats();
    stats.manifest_version = 0;
    vec![
        format!("{:?}", reader.hits(QUESTION, 50)),
        format!("{:?}", reader.hits("kestrel Ottilie", 50)),
        unfenced(&context.text),
        format!("{} tokens, {} records", context.n_tokens, context.records.len()),
        format!("{:?}", reader.keys()),
        format!("{stats:?}"),
        unknown(got.map(|answer| format!("{answer:?}"))),
        unknown(walked.map(|answer| format!("{answer:?}"))),
    ]
}

#[test]
fn cross_tenant_absent() {
    let (with, without) = (World::new(crate::PROGRAM), World::new(crate::PROGRAM));
    for world in [&with, &without] {
        world.import_note("seed", "seed.md", "One seed.").succeeds();
    }
    let tokens = [ACME, BETA, HR];
    let (full, bare) = (with.serve(&tokens), without.serve(&tokens));
    let acme = full.client_as(ACME.secret);
    let source = add(&acme, "", "vault", SECRET).source_id;
    for server in [&full, &bare] {
        fill_beta(&server.client_as(BETA.secret));
    }
    let found = search(&acme, QUESTION, 5);
    let chunk = found[0].unit_id.clone();
    assert!(found[0].text.contains("kestrel"), "the twin: its owner finds it");
    let [seen, alone] = [&full, &bare].map(|server| all_answers(&server.client_as(BETA.secret), &source, &chunk));
    for (seen, alone) in seen.iter().zip(&alone) {
        // The name asked for may come back in a refusal; nothing else of the other tenant may.
        assert_eq!(seen, alone, "another tenant's answers differ with and without the data");
        assert!(!seen.contains("kestrel") && !seen.contains("Ottilie"), "{seen}");
    }
    let hr = full.client_as(HR.secret);
    let others = all_answers(&hr, &source, &chunk);
    assert!(others.iter().all(|answer| !answer.contains("kestrel")), "absent in another scope: {others:?}");
    assert_eq!(Reader(&hr).stats().n_sources, 0);
    passed("scope.cross_tenant_absent", format!("{} answers byte-equal, owner has {}", seen.len(), found.len()));
}

/// Names for what is not the caller's, and look-alikes of what is.
const FOREIGN: [&str; 15] = [
    "beta",
    "acme/hr",
    "acme/engine",
    "*",
    "acme/*",
    "acme/eng/*",
    "..",
    "acme/eng/..",
    "acme/eng/../hr",
    "ACME/ENG",
    "Acme/eng",
    "аcme/eng",
    "acme//eng",
    "/acme/eng",
    "acme/eng/",
];

/// What came of a call: how much it answered, or why not.
type Outcome = (&'static str, Result<usize, Code>);

/// The outcome of every call that reads, with `scope`.
fn reads(client: &Client, scope: &str, chunk: &str) -> Vec<Outcome> {
    let scope = || scope.to_owned();
    let searched = client.search(SearchRequest { question: QUESTION.to_owned(), scope: scope(), ..Default::default() });
    let context =
        client.get_context(GetContextRequest { question: QUESTION.to_owned(), scope: scope(), ..Default::default() });
    let walked = client.graph_walk(GraphWalkRequest {
        from_chunk_ids: vec![chunk.to_owned()],
        scope: scope(),
        ..Default::default()
    });
    let listed = client.list_sources(ListSourcesRequest { scope: scope(), ..Default::default() });
    let got = client.get_source(GetSourceRequest { source: "birds".to_owned(), scope: scope(), ..Default::default() });
    let counted = client.stats(StatsRequest { scope: scope(), ..Default::default() });
    vec![
        ("Search", told(searched, |a| a.hits.len())),
        ("GetContext", told(context, |a| a.records.len())),
        ("GraphWalk", told(walked, |a| a.reached.len())),
        ("ListSources", told(listed, |a| a.sources.len())),
        ("GetSource", told(got, |_| 1)),
        ("Stats", told(counted, |_| 1)),
    ]
}

/// The outcome of every call that writes, with `scope`.
fn writes(client: &Client, scope: &str) -> Vec<Outcome> {
    let scope = || scope.to_owned();
    let added = client.add_source(AddSourceRequest {
        key: "planted".to_owned(),
        text: "Planted.".to_owned(),
        scope: scope(),
        ..Default::default()
    });
    let turn = NewTurn { text: "Planted.".to_owned(), ..Default::default() };
    let appended = client.append_turns(AppendTurnsRequest {
        source: "talk".to_owned(),
        turns: vec![turn],
        scope: scope(),
        ..Default::default()
    });
    let deleted = client.delete_source(DeleteSourceRequest {
        sources: vec!["birds".to_owned()],
        scope: scope(),
        ..Default::default()
    });
    vec![
        ("AddSource", told(added, |_| 1)),
        ("AppendTurns", told(appended, |_| 1)),
        ("DeleteSource", told(deleted, |_| 1)),
    ]
}

#[allow(clippy::result_large_err, reason = "the status is taken apart here")]
fn told<T>(answer: Result<T, tonic::Status>, count: impl Fn(T) -> usize) -> Result<usize, Code> {
    answer.map(count).map_err(|status| status.code())
}

#[test]
fn caller_cannot_widen() {
    let world = World::new(crate::PROGRAM);
    world.import_note("seed", "seed.md", "One seed.").succeeds();
    let server = world.serve(&[ACME, BETA]);
    let (acme, beta) = (server.client_as(ACME.secret), server.client_as(BETA.secret));
    fill_beta(&beta);
    add(&acme, "", "vault", SECRET);
    let chunk = search(&beta, "heron", 1)[0].unit_id.clone();
    let mut n_refused = 0;
    for scope in FOREIGN {
        let outcomes = reads(&acme, scope, &chunk).into_iter();
        for (call, outcome) in outcomes.chain(writes(&acme, scope)) {
            let refused = matches!(outcome, Err(Code::PermissionDenied | Code::InvalidArgument));
            assert!(refused, "{call} with {scope:?}: {outcome:?}");
            n_refused += 1;
        }
        assert!(!search(&acme, QUESTION, 5).is_empty(), "the twin: its own call works after {scope:?}");
    }
    // A parent or nothing at all is no error: it means what is the caller's.
    for scope in ["", "acme"] {
        let request = SearchRequest {
            question: "heron bird vault".to_owned(),
            k: 50,
            scope: scope.to_owned(),
            ..Default::default()
        };
        let hits = acme.search(request).expect("its own scope is searched").hits;
        assert!(!hits.is_empty(), "the twin: {scope:?} finds its own");
        for hit in hits {
            assert_eq!(hit.source.expect("a hit has a source").scope, "acme/eng");
        }
    }
    assert_eq!(Reader(&beta).keys(), ["birds", "codes", "garden"], "nothing was planted or hidden");
    let stranger = server.client_as("no-such-secret").stats(StatsRequest::default());
    assert_eq!(stranger.expect_err("a stranger is refused").code(), Code::Unauthenticated);
    passed("scope.caller_cannot_widen", format!("{n_refused} calls refused, own calls work after each"));
}
