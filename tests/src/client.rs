//! A gRPC client that waits for its answers, so that tests read from top to bottom.

use proto::v1::memory_service_client::MemoryServiceClient;
use proto::v1::{
    AddSourceRequest, AddSourceResponse, AppendTurnsRequest, AppendTurnsResponse, DeleteSourceRequest,
    DeleteSourceResponse, GetContextRequest, GetContextResponse, GetSourceRequest, GetSourceResponse, GraphWalkRequest,
    GraphWalkResponse, ListSourcesRequest, ListSourcesResponse, SearchRequest, SearchResponse, StatsRequest,
    StatsResponse,
};
use tokio::runtime::{Builder, Runtime};
use tonic::transport::Channel;
use tonic::{Request, Status};

/// One caller with a channel of its own.
pub struct Client {
    runtime: Runtime,
    service: MemoryServiceClient<Channel>,
    token: Option<String>,
}

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident: $request:ident -> $response:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// The status the server answers.
        #[allow(clippy::result_large_err, reason = "the status is what the tests look at")]
        pub fn $name(&self, message: $request) -> Result<$response, Status> {
            let request = self.request(message);
            let mut service = self.service.clone();
            self.runtime.block_on(service.$name(request)).map(tonic::Response::into_inner)
        }
    )*};
}

impl Client {
    pub(crate) fn connect(url: &str, token: Option<&str>) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
        let service = runtime.block_on(MemoryServiceClient::connect(url.to_owned())).expect("the server answers");
        Self {
            runtime,
            service: service.max_decoding_message_size(64 << 20),
            token: token.map(|secret| format!("Bearer {secret}")),
        }
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            let value = token.parse().expect("a token is ASCII");
            request.metadata_mut().insert("authorization", value);
        }
        request
    }

    calls! {
        /// The best units for a question.
        search: SearchRequest -> SearchResponse;
        /// A fenced block of evidence.
        get_context: GetContextRequest -> GetContextResponse;
        /// Chunks along edges.
        graph_walk: GraphWalkRequest -> GraphWalkResponse;
        /// A page of sources.
        list_sources: ListSourcesRequest -> ListSourcesResponse;
        /// One source.
        get_source: GetSourceRequest -> GetSourceResponse;
        /// Takes in one source.
        add_source: AddSourceRequest -> AddSourceResponse;
        /// Adds turns.
        append_turns: AppendTurnsRequest -> AppendTurnsResponse;
        /// Plans or commits a deletion.
        delete_source: DeleteSourceRequest -> DeleteSourceResponse;
        /// Numbers of a scope.
        stats: StatsRequest -> StatsResponse;
    }
}
