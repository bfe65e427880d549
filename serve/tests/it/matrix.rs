//! Every call of the contract, as its descriptors list them, against every way to be refused.
//!
//! A new call is tried without a line here; it fails until it settles who asks before anything else.

use std::str::FromStr;

use prost::Message;
use prost::bytes::{Buf, BufMut};
use prost_types::FileDescriptorSet;
use serve::identity::Verb;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

use crate::world::World;

/// Sends bytes as they are and drops what comes back.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = ();
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        from.advance(from.remaining());
        Ok(Some(()))
    }
}

/// Each call's path and the number of its request's `scope`.
fn calls() -> Vec<(String, u8)> {
    let set = FileDescriptorSet::decode(proto::FILE_DESCRIPTOR_SET).unwrap();
    let file = set.file.iter().find(|file| file.package() == "strata.v1").unwrap();
    let methods = file.service.iter().flat_map(|service| &service.method);
    let call = |method: &prost_types::MethodDescriptorProto| {
        let short = method.input_type().rsplit('.').next().unwrap();
        let request = file.message_type.iter().find(|message| message.name() == short).unwrap();
        let scope = request.field.iter().find(|field| field.name() == "scope").unwrap();
        let path = format!("/{}/{}", proto::SERVICE_NAME, method.name());
        (path, u8::try_from(scope.number()).unwrap())
    };
    methods.map(call).collect()
}

async fn call(channel: &Channel, path: &str, token: Option<&str>, body: Vec<u8>) -> Code {
    let mut request = Request::new(body);
    if let Some(token) = token {
        let bearer = format!("Bearer {token}").parse().unwrap();
        request.metadata_mut().insert("authorization", bearer);
    }
    let mut client = tonic::client::Grpc::new(channel.clone());
    client.ready().await.unwrap();
    let path = PathAndQuery::from_str(path).unwrap();
    match client.unary(request, path, Raw).await {
        Ok(_) => Code::Ok,
        Err(status) => status.code(),
    }
}

/// A request that holds nothing but its scope.
fn scoped(field: u8, scope: &str) -> Vec<u8> {
    let mut body = vec![field << 3 | 2, u8::try_from(scope.len()).unwrap()];
    body.extend_from_slice(scope.as_bytes());
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_settles_who_asks_first() {
    let holders: &[(&str, &[&str], &[Verb])] = &[("ana", &["acme/ana"], &[Verb::Admin])];
    let (world, tokens) = World::with_tokens(holders).await;
    let channel = Endpoint::from_shared(world.url.clone()).unwrap().connect().await.unwrap();
    let ana = Some(tokens[0].as_str());
    let calls = calls();
    assert!(calls.len() >= 9);
    for (path, field) in calls {
        for (token, scope, expected) in [
            (None, "acme/ana", Code::Unauthenticated),
            (Some("strata_unknown"), "acme/ana", Code::Unauthenticated),
            (ana, "acme/bob", Code::PermissionDenied),
            (ana, "nowhere", Code::PermissionDenied),
            (ana, "acme/ana/..", Code::InvalidArgument),
            (ana, "acme/*", Code::InvalidArgument),
            (ana, "Acme/ana", Code::InvalidArgument),
        ] {
            let code = call(&channel, &path, token, scoped(field, scope)).await;
            assert_eq!(code, expected, "{path} with {token:?} for {scope:?}");
        }
        // The same call for one's own scope gets past the door, to whatever else its fields lack.
        let code = call(&channel, &path, ana, scoped(field, "acme/ana")).await;
        assert!(!matches!(code, Code::PermissionDenied | Code::Unauthenticated), "{path}: {code:?}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_needs_a_verb() {
    let holders: &[(&str, &[&str], &[Verb])] = &[
        ("reader", &["acme"], &[Verb::Read]),
        ("writer", &["acme"], &[Verb::Write]),
        ("deleter", &["acme"], &[Verb::Delete]),
    ];
    let (world, tokens) = World::with_tokens(holders).await;
    let channel = Endpoint::from_shared(world.url.clone()).unwrap().connect().await.unwrap();
    for (path, field) in calls() {
        let mut n_admitted = 0;
        for token in &tokens {
            let code = call(&channel, &path, Some(token), scoped(field, "acme")).await;
            n_admitted += u32::from(code != Code::PermissionDenied);
        }
        assert_eq!(n_admitted, 1, "{path} is not behind exactly one verb");
    }
    world.stop().await;
}
