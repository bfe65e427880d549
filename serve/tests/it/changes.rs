//! Changes over gRPC: durable, retried without harm, and not cut by a caller that goes away.

use proto::v1;
use tonic::Code;

use crate::world::{World, conversation, document, new_turns, question};

fn delete(sources: &[&str]) -> v1::DeleteSourceRequest {
    v1::DeleteSourceRequest { sources: sources.iter().map(|&source| source.to_owned()).collect(), ..Default::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_source_twice_changes_nothing() {
    let world = World::open().await;
    let mut client = world.client().await;
    let first = client.add_source(document("a", "One fact.")).await.unwrap().into_inner();
    let same = client.add_source(document("a", "One fact.")).await.unwrap().into_inner();
    assert!(first.changed && !same.changed);
    assert_eq!((same.version, same.manifest_version), (1, first.manifest_version));
    let other = client.add_source(document("a", "Another fact.")).await.unwrap().into_inner();
    assert_eq!((other.version, other.source_id), (2, first.source_id));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_are_appended_once() {
    let world = World::open().await;
    let mut client = world.client().await;
    client.add_source(conversation("c", &[("t1", "Mira", "Hello there.")])).await.unwrap();
    let request = v1::AppendTurnsRequest {
        source: "c".to_owned(),
        turns: new_turns(&[("t1", "Mira", "Hello there."), ("t2", "Tomás", "The quokka is here.")]),
        ..Default::default()
    };
    let added = client.append_turns(request.clone()).await.unwrap().into_inner();
    assert_eq!(added.version, 2);
    let again = client.append_turns(request.clone()).await.unwrap().into_inner();
    assert!(!again.changed);
    let mut asked = question("quokka");
    asked.unit = v1::Unit::Turn.into();
    let hits = client.search(asked).await.unwrap().into_inner().hits;
    assert_eq!(hits[0].unit_id, "t2");
    let nowhere = v1::AppendTurnsRequest { source: "nowhere".to_owned(), ..request };
    assert_eq!(client.append_turns(nowhere).await.unwrap_err().code(), Code::NotFound);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_is_planned_before_it_is_done() {
    let world = World::open().await;
    let mut client = world.client().await;
    client.add_source(document("gone", "The walrus sleeps.")).await.unwrap();
    client.add_source(document("kept", "The seal sleeps.")).await.unwrap();
    let planned = client.delete_source(delete(&["gone"])).await.unwrap().into_inner();
    let plan = planned.plan.unwrap();
    assert!(!planned.committed && plan.sources.len() == 1 && plan.sources[0].n_chunks > 0);
    let found = client.search(question("walrus")).await.unwrap().into_inner().hits;
    assert!(found.iter().any(|hit| hit.source.as_ref().unwrap().key == "gone"));

    // Another source changes nothing that the plan read; the planned one does.
    client.add_source(document("new", "A new thing.")).await.unwrap();
    let mut commit = delete(&["gone"]);
    (commit.commit, commit.base_version) = (true, plan.base_version);
    let stale = client.delete_source(commit.clone()).await.unwrap_err();
    assert_eq!(stale.code(), Code::Aborted);
    commit.etag = plan.etag;
    let done = client.delete_source(commit).await.unwrap().into_inner();
    assert!(done.committed && done.manifest_version > plan.base_version);
    let found = client.search(question("walrus")).await.unwrap().into_inner().hits;
    assert!(found.iter().all(|hit| hit.source.as_ref().unwrap().key != "gone"));

    let refused = client.add_source(document("gone", "The walrus sleeps.")).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let mut again = document("gone", "The walrus sleeps.");
    again.undelete = true;
    client.add_source(again).await.unwrap();
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_with_the_same_id_writes_once() {
    let world = World::open().await;
    let mut client = world.client().await;
    let mut request = document("a", "One fact.");
    request.request_id = "try-1".to_owned();
    let first = client.add_source(request.clone()).await.unwrap().into_inner();
    let retried = client.add_source(request.clone()).await.unwrap().into_inner();
    assert_eq!(first, retried);
    request.text = "Another fact.".to_owned();
    let reused = client.add_source(request).await.unwrap_err();
    assert_eq!(reused.code(), Code::InvalidArgument);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_outlives_its_caller() {
    let world = World::open().await;
    let client = world.client().await;
    for n in 0..8 {
        let mut request = document(&format!("doc-{n}"), "The pelican waits.");
        request.request_id = format!("id-{n}");
        let mut caller = client.clone();
        let call = tokio::spawn(async move { caller.add_source(request).await });
        // Cut at another moment each time: before, while and after the server writes.
        for _ in 0..n * n * n {
            tokio::task::yield_now().await;
        }
        call.abort();
        let _ = call.await;
    }
    // Retries join what is under way or find it done; either way each is there exactly once.
    for n in 0..8 {
        let mut request = document(&format!("doc-{n}"), "The pelican waits.");
        request.request_id = format!("id-{n}");
        let done = client.clone().add_source(request).await.unwrap().into_inner();
        assert_eq!(done.version, 1);
    }
    let stats = client.clone().stats(v1::StatsRequest::default()).await.unwrap().into_inner();
    assert_eq!(stats.n_sources, 8);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_there_after_the_end() {
    let world = World::open().await;
    let mut client = world.client().await;
    let added = client.add_source(document("a", "The heron stands.")).await.unwrap().into_inner();
    drop(client);
    let folder = world.stop().await;
    let store = index::Store::open(&folder.path().join("store")).unwrap();
    assert_eq!(store.snapshot().unwrap().version(), added.manifest_version);
}
