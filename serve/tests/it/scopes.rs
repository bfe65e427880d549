//! Whose memory is whose: every way to ask for more, each beside the way that works.

use proto::v1;
use serve::identity::Verb;
use tonic::{Code, Status};

use crate::world::{World, document, question};

const ALL: &[Verb] = &[Verb::Admin];

fn scoped(scope: &str) -> v1::SearchRequest {
    v1::SearchRequest { scope: scope.to_owned(), ..question("where is the treasure?") }
}

fn keys(answer: &v1::SearchResponse) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.source.as_ref().unwrap().key.as_str()).collect()
}

/// Ana holds `acme/ana`, Bob holds `acme/bob`, Eve holds `evil`: each with one source of their own.
async fn three() -> (World, Vec<String>) {
    let (world, tokens) =
        World::with_tokens(&[("ana", &["acme/ana"], ALL), ("bob", &["acme/bob"], ALL), ("eve", &["evil"], ALL)]).await;
    for (token, key) in tokens.iter().zip(["of-ana", "of-bob", "of-eve"]) {
        let text = format!("The treasure {key} is under the old oak.");
        world.client_of(token).await.add_source(document(key, &text)).await.unwrap();
    }
    let mut below = document("below-ana", "The second treasure is in the attic.");
    below.scope = "acme/ana/private".to_owned();
    world.client_of(&tokens[0]).await.add_source(below).await.unwrap();
    (world, tokens)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_narrows_and_never_widens() {
    let (world, tokens) = three().await;
    let mut ana = world.client_of(&tokens[0]).await;
    // What works: one's own, below it, and a parent, which yields one's own.
    for (scope, expected) in [
        ("", vec!["below-ana", "of-ana"]),
        ("acme/ana", vec!["below-ana", "of-ana"]),
        ("acme", vec!["below-ana", "of-ana"]),
        ("acme/ana/private", vec!["below-ana"]),
    ] {
        let answer = ana.search(scoped(scope)).await.unwrap().into_inner();
        let mut found = keys(&answer);
        found.sort_unstable();
        assert_eq!(found, expected, "scope {scope:?}");
    }
    // What does not: others', and everything that looks like one's own without being it.
    for (scope, code) in [
        ("acme/bob", Code::PermissionDenied),
        ("evil", Code::PermissionDenied),
        ("nowhere", Code::PermissionDenied),
        ("acme/anab", Code::PermissionDenied),
        ("acme/ana/../bob", Code::InvalidArgument),
        ("acme/*", Code::InvalidArgument),
        ("*", Code::InvalidArgument),
        ("ACME/ANA", Code::InvalidArgument),
        ("acme/ana/", Code::InvalidArgument),
        (" acme/ana", Code::InvalidArgument),
    ] {
        let refused = ana.search(scoped(scope)).await.unwrap_err();
        assert_eq!(refused.code(), code, "scope {scope:?}: {refused}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_goes_to_ones_own_scope_alone() {
    let (world, tokens) = three().await;
    let mut ana = world.client_of(&tokens[0]).await;
    for (scope, code) in [
        ("acme", Code::PermissionDenied),
        ("acme/bob", Code::PermissionDenied),
        ("evil", Code::PermissionDenied),
        ("acme/ana/..", Code::InvalidArgument),
        ("*", Code::InvalidArgument),
    ] {
        let mut request = document("planted", "A false treasure.");
        request.scope = scope.to_owned();
        assert_eq!(ana.add_source(request).await.unwrap_err().code(), code, "scope {scope:?}");
    }
    let mut request = document("own", "A true treasure.");
    request.scope = "acme/ana/new".to_owned();
    ana.add_source(request).await.unwrap();
    world.stop().await;
}

fn told(status: &Status, asked: &str) -> (Code, String, Vec<u8>) {
    let blank = |text: &str| text.replace(asked, "ID");
    let details = String::from_utf8_lossy(status.details()).replace(asked, "ID").into_bytes();
    (status.code(), blank(status.message()), details)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_foreign_is_as_if_it_were_not() {
    let (world, tokens) = three().await;
    let mut ana = world.client_of(&tokens[0]).await;
    let mut bob = world.client_of(&tokens[1]).await;
    let hits = bob.search(question("treasure")).await.unwrap().into_inner().hits;
    let (chunk, source) = (hits[0].unit_id.clone(), hits[0].source.clone().unwrap().id);
    let absent = "0123456789abcdef0123456789abcdef".to_owned();
    let get = |id: &str| v1::GetSourceRequest { source: id.to_owned(), ..Default::default() };
    let walk = |id: &str| v1::GraphWalkRequest { from_chunk_ids: vec![id.to_owned()], ..Default::default() };
    let delete = |id: &str| v1::DeleteSourceRequest { sources: vec![id.to_owned()], ..Default::default() };
    bob.get_source(get(&source)).await.unwrap();
    bob.graph_walk(walk(&chunk)).await.unwrap();
    bob.delete_source(delete(&source)).await.unwrap();

    let foreign = ana.get_source(get(&source)).await.unwrap_err();
    let missing = ana.get_source(get(&absent)).await.unwrap_err();
    assert_eq!(told(&foreign, &source), told(&missing, &absent));
    assert_eq!(foreign.code(), Code::NotFound);
    let foreign = ana.graph_walk(walk(&chunk)).await.unwrap_err();
    let missing = ana.graph_walk(walk(&absent)).await.unwrap_err();
    assert_eq!(told(&foreign, &chunk), told(&missing, &absent));
    let foreign = ana.delete_source(delete(&source)).await.unwrap_err();
    let missing = ana.delete_source(delete(&absent)).await.unwrap_err();
    assert_eq!(told(&foreign, &source), told(&missing, &absent));
    let foreign = ana.get_source(get("of-bob")).await.unwrap_err();
    let missing = ana.get_source(get("of-zoe")).await.unwrap_err();
    assert_eq!(told(&foreign, "of-bob"), told(&missing, "of-zoe"));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_needed_and_its_verbs_hold() {
    let (world, tokens) =
        World::with_tokens(&[("reader", &["acme"], &[Verb::Read]), ("writer", &["acme"], &[Verb::Read, Verb::Write])])
            .await;
    for client in [world.client().await, world.client_of("strata_wrong").await] {
        let mut client = client;
        let refused = client.search(question("x")).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated);
    }
    let mut reader = world.client_of(&tokens[0]).await;
    let mut writer = world.client_of(&tokens[1]).await;
    let refused = reader.add_source(document("a", "Text.")).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    writer.add_source(document("a", "Text.")).await.unwrap();
    reader.search(question("text")).await.unwrap();
    let delete = v1::DeleteSourceRequest { sources: vec!["a".to_owned()], ..Default::default() };
    assert_eq!(writer.delete_source(delete).await.unwrap_err().code(), Code::PermissionDenied);
    let mut again = document("a", "Text.");
    again.undelete = true;
    assert_eq!(writer.add_source(again).await.unwrap_err().code(), Code::PermissionDenied);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_tokens_a_request_names_whose_memory_it_means() {
    let world = World::open().await;
    let mut client = world.client().await;
    let mut request = document("there", "The treasure is there.");
    request.scope = "other".to_owned();
    client.add_source(request).await.unwrap();
    let here = client.search(scoped("")).await.unwrap().into_inner();
    assert!(here.hits.is_empty());
    let there = client.search(scoped("other")).await.unwrap().into_inner();
    assert_eq!(keys(&there), ["there"]);
    world.stop().await;
}
