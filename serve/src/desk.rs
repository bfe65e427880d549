//! Where a command's questions go: a store of this machine, or a server. Both say the same.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use proto::v1;
use proto::v1::memory_service_client::MemoryServiceClient;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use crate::hint::advised;
use crate::identity::Caller;
use crate::rpc;
use crate::settings::Limits;
use crate::shared::Memory;

/// How long a command waits for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What an address of a server looks like.
const ADDRESS: &str = "an address is like http://127.0.0.1:7077";

/// Puts the caller's token on every call.
#[derive(Clone)]
pub struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

/// A client of a server.
pub type Client = MemoryServiceClient<InterceptedService<Channel, Bearer>>;

/// Where questions go.
pub enum Desk {
    /// To a store, in this process, as the local human.
    Here {
        /// The open store.
        memory: Box<Memory>,
        /// Who asks.
        caller: Caller,
    },
    /// To a server.
    There {
        /// What drives the client.
        runtime: tokio::runtime::Runtime,
        /// The connected client.
        client: Client,
    },
}

/// A refusal of a server, told as the same process would tell it.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.message())]
pub struct Refused(pub Status);

macro_rules! call {
    ($(#[$doc:meta])* $name:ident, $method:ident, $here:path, $request:ty => $answer:ty) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// As the call says.
        pub fn $name(&mut self, request: $request) -> anyhow::Result<$answer> {
            match self {
                Self::Here { memory, caller } => Ok($here(memory, caller, request)?),
                Self::There { runtime, client } => {
                    let answer = runtime.block_on(client.$method(request)).map_err(told)?;
                    Ok(answer.into_inner())
                }
            }
        }
    };
}

impl Desk {
    call!(
        /// Asks a question.
        search, search, rpc::search::search, v1::SearchRequest => v1::SearchResponse
    );
    call!(
        /// Asks for a context.
        context, get_context, rpc::context::context, v1::GetContextRequest => v1::GetContextResponse
    );
    call!(
        /// Walks.
        walk, graph_walk, rpc::walk::walk, v1::GraphWalkRequest => v1::GraphWalkResponse
    );
    call!(
        /// Lists a page of sources.
        list, list_sources, rpc::sources::list, v1::ListSourcesRequest => v1::ListSourcesResponse
    );
    call!(
        /// Shows a source.
        get, get_source, rpc::sources::get, v1::GetSourceRequest => v1::GetSourceResponse
    );
    call!(
        /// Plans a deletion, or commits one.
        delete, delete_source, rpc::delete::delete, v1::DeleteSourceRequest => v1::DeleteSourceResponse
    );
    call!(
        /// Counts.
        stats, stats, rpc::stats::stats, v1::StatsRequest => v1::StatsResponse
    );
}

/// Connects to the server at `url`, like `http://127.0.0.1:7077`.
///
/// # Errors
/// When the address is none or nobody answers there.
pub async fn connect(url: &str, token: Option<&str>) -> anyhow::Result<Client> {
    let address = address(url)?;
    let endpoint = Endpoint::from_shared(address)
        .map_err(|_| advised(format!("{url} is no address of a server"), ADDRESS))?
        .connect_timeout(CONNECT_TIMEOUT);
    let bearer = token.map(|token| format!("Bearer {token}").parse()).transpose();
    let bearer = bearer.map_err(|_| {
        let hint = "pass the token as strata tokens new printed it: strata_ and 64 digits";
        advised("the token holds characters that no token has", hint)
    })?;
    let channel = endpoint.connect().await.with_context(|| format!("no server answers at {url}"))?;
    Ok(MemoryServiceClient::with_interceptor(channel, Bearer(bearer))
        .max_decoding_message_size(Limits::STANDARD.answer_bytes_max)
        .max_encoding_message_size(Limits::STANDARD.request_bytes_max))
}

/// `url` with its scheme, which is http where it names none.
fn address(url: &str) -> anyhow::Result<String> {
    let Some((scheme, _)) = url.split_once("://") else {
        return Ok(format!("http://{url}"));
    };
    if scheme.eq_ignore_ascii_case("http") {
        return Ok(url.to_owned());
    }
    // An https address would be spoken to in clear, token and all: this build has no TLS.
    Err(advised(format!("a server is not asked over {scheme}: only http is spoken"), ADDRESS))
}

fn told(status: Status) -> anyhow::Error {
    anyhow!(Refused(status))
}
