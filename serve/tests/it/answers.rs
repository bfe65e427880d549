//! Questions over gRPC: search, context, walk, lists, health, reflection.

use proto::v1;
use tonic::Code;
use tonic_types::StatusExt;

use crate::world::{World, conversation, document, question};

const LONG: &str = "The greenhouse needs new glass before winter. Glass for the greenhouse is sold in Porto. \
    The tomatoes in the greenhouse suffer from whitefly. Whitefly on tomatoes is caught with yellow cards. \
    The pump of the well leaks. A leaking pump wastes water from the well. Solar panels feed the pump. \
    In winter the solar panels give little. The battery keeps the pump alive at night. \
    A battery for the solar panels costs a lot. Tomatoes want warm nights. Warm nights need a heater.";

async fn filled() -> World {
    let world = World::open().await;
    let mut client = world.client().await;
    client.add_source(document("plan", LONG)).await.unwrap();
    client.add_source(document("soup", "Red lentils simmer for twenty minutes.")).await.unwrap();
    let friends = conversation(
        "friends",
        &[
            ("t1", "Mira", "I moved to Porto in March."),
            ("t2", "Tomás", "How is the new flat?"),
            ("t3", "Mira", "Small, but it has a balcony."),
        ],
    );
    client.add_source(friends).await.unwrap();
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_store_answers_empty() {
    let world = World::open().await;
    let mut client = world.client().await;
    let answer = client.search(question("anything")).await.unwrap().into_inner();
    assert!(answer.hits.is_empty());
    let stats = client.stats(v1::StatsRequest::default()).await.unwrap().into_inner();
    assert_eq!((stats.n_sources, stats.embedder.as_str()), (0, ""));
    let list = client.list_sources(v1::ListSourcesRequest::default()).await.unwrap().into_inner();
    assert_eq!((list.total_size, list.next_page_token.as_str()), (0, ""));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn search_finds_what_was_added() {
    let world = filled().await;
    let mut client = world.client().await;
    let mut asked = question("who moved to Porto?");
    asked.unit = v1::Unit::Turn.into();
    let answer = client.search(asked.clone()).await.unwrap().into_inner();
    let hit = &answer.hits[0];
    assert_eq!((hit.unit_id.as_str(), hit.author.as_str()), ("t1", "Mira"));
    assert_eq!(hit.said_at.unwrap().seconds, 1_700_000_000);
    assert!((0.0..=1.0).contains(&hit.score) && answer.manifest_version > 0);
    asked.unit = v1::Unit::Source.into();
    asked.sources = vec!["soup".to_owned()];
    let narrowed = client.search(asked).await.unwrap().into_inner();
    assert!(narrowed.hits.iter().all(|hit| hit.source.as_ref().unwrap().key == "soup"));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_outside_their_bounds_are_told_which_field() {
    let world = filled().await;
    let mut client = world.client().await;
    let mut large = question("x");
    large.k = 1_001;
    let mut strange = question("x");
    strange.unit = 99;
    let mut nowhere = question("x");
    nowhere.sources = vec!["nowhere".to_owned()];
    for (request, code) in [
        (question("  "), Code::InvalidArgument),
        (question(&"x".repeat(20_000)), Code::InvalidArgument),
        (large, Code::InvalidArgument),
        (strange, Code::InvalidArgument),
        (nowhere, Code::NotFound),
    ] {
        let refused = client.search(request).await.unwrap_err();
        assert_eq!(refused.code(), code, "{refused}");
        assert_eq!(refused.get_details_error_info().unwrap().domain, "strata");
    }
    let walk = v1::GraphWalkRequest { from_chunk_ids: vec!["no id".to_owned()], ..Default::default() };
    assert_eq!(client.graph_walk(walk).await.unwrap_err().code(), Code::InvalidArgument);
    let mut early = question("x");
    early.min_manifest_version = 10_000;
    let behind = client.search(early).await.unwrap_err();
    assert_eq!(behind.code(), Code::Unavailable);
    assert!(behind.get_details_retry_info().is_some());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_keeps_its_budget() {
    let world = filled().await;
    let mut client = world.client().await;
    for max_tokens in [64, 200, 1_000] {
        let request =
            v1::GetContextRequest { question: "whitefly on tomatoes".to_owned(), max_tokens, ..Default::default() };
        let context = client.get_context(request).await.unwrap().into_inner();
        assert!(context.n_tokens <= max_tokens, "{} of {max_tokens}", context.n_tokens);
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_walk_leads_from_chunk_to_chunk() {
    let world = filled().await;
    let mut client = world.client().await;
    let hits = client.search(question("whitefly on tomatoes")).await.unwrap().into_inner().hits;
    let from = hits[0].unit_id.clone();
    let request = v1::GraphWalkRequest { from_chunk_ids: vec![from.clone()], hops: 2, k: 5, ..Default::default() };
    let walk = client.graph_walk(request.clone()).await.unwrap().into_inner();
    for reached in &walk.reached {
        assert_eq!(reached.path[0].from_chunk_id, from);
        assert_eq!(reached.path.last().unwrap().to_chunk_id, reached.hit.as_ref().unwrap().unit_id);
    }
    let absent = v1::GraphWalkRequest { from_chunk_ids: vec!["0".repeat(32)], ..request };
    assert_eq!(client.graph_walk(absent).await.unwrap_err().code(), Code::NotFound);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_goes_page_by_page_over_one_version() {
    let world = filled().await;
    let mut client = world.client().await;
    let mut request = v1::ListSourcesRequest { page_size: 2, ..Default::default() };
    let first = client.list_sources(request.clone()).await.unwrap().into_inner();
    assert_eq!((first.sources.len(), first.total_size), (2, 3));
    // A source that arrives in between does not shift the pages.
    client.add_source(document("aaa", "Something new.")).await.unwrap();
    request.page_token = first.next_page_token.clone();
    let second = client.list_sources(request.clone()).await.unwrap().into_inner();
    assert_eq!(second.manifest_version, first.manifest_version);
    let keys = first.sources.iter().chain(&second.sources).map(|s| s.r#ref.as_ref().unwrap().key.clone());
    assert_eq!(keys.collect::<Vec<_>>(), ["friends", "plan", "soup"]);
    assert_eq!(second.next_page_token, "");
    let moved = v1::ListSourcesRequest { scope: "other".to_owned(), ..request.clone() };
    for refused in [
        moved,
        v1::ListSourcesRequest { page_token: "nonsense".to_owned(), ..request.clone() },
        v1::ListSourcesRequest { page_size: -1, page_token: String::new(), ..request },
    ] {
        assert_eq!(client.list_sources(refused).await.unwrap_err().code(), Code::InvalidArgument);
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_is_shown_whole_or_in_parts() {
    let world = filled().await;
    let mut client = world.client().await;
    let mut request = v1::GetSourceRequest { source: "friends".to_owned(), ..Default::default() };
    let basic = client.get_source(request.clone()).await.unwrap().into_inner();
    assert!(basic.text.is_empty() && basic.turns.is_empty());
    request.view = v1::SourceView::Full.into();
    let full = client.get_source(request.clone()).await.unwrap().into_inner();
    assert_eq!(full.turns.len(), 3);
    assert_eq!(full.total_bytes, full.text.len() as u64);
    let mut parts = String::new();
    request.limit_bytes = 7;
    while parts.len() < full.text.len() {
        request.offset_bytes = parts.len() as u64;
        let part = client.get_source(request.clone()).await.unwrap().into_inner();
        parts.push_str(&part.text);
    }
    assert_eq!(parts, full.text);
    request.offset_bytes = u64::MAX;
    assert_eq!(client.get_source(request).await.unwrap().into_inner().text, "");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_reflection_answer() {
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_check_response::ServingStatus;
    use tonic_health::pb::health_client::HealthClient;
    use tonic_reflection::pb::v1::ServerReflectionRequest;
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

    let world = World::open().await;
    let channel = tonic::transport::Endpoint::from_shared(world.url.clone()).unwrap().connect().await.unwrap();
    let mut health = HealthClient::new(channel.clone());
    let check = HealthCheckRequest { service: proto::SERVICE_NAME.to_owned() };
    let status = health.check(check).await.unwrap().into_inner().status;
    assert_eq!(status, i32::from(ServingStatus::Serving));
    let mut reflection = ServerReflectionClient::new(channel);
    let list = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers = reflection.server_reflection_info(tokio_stream::once(list)).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    let MessageResponse::ListServicesResponse(services) = answer else {
        panic!("no list of services");
    };
    let names: Vec<&str> = services.service.iter().map(|service| service.name.as_str()).collect();
    assert!(names.contains(&proto::SERVICE_NAME) && names.contains(&"grpc.health.v1.Health"), "{names:?}");
    drop(answers);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_of_other_processes_appear() {
    let world = filled().await;
    let mut client = world.client().await;
    // Another holder of the same folder commits on its own.
    let other = serve::shared::Memory::new(
        index::Store::open(&world.store()).unwrap(),
        serve::shared::Model::new(Some("hashed".to_owned())),
    )
    .unwrap();
    let caller = serve::identity::Caller::local_human();
    let added = tokio::task::spawn_blocking(move || {
        serve::rpc::add::add(&other, &caller, document("late", "A zebra crossed the road."))
    });
    let version = added.await.unwrap().unwrap().manifest_version;
    let mut asked = question("zebra");
    asked.min_manifest_version = version;
    let answer = client.search(asked).await.unwrap().into_inner();
    assert_eq!(answer.hits[0].source.as_ref().unwrap().key, "late");
    world.stop().await;
}
