//! The service: one line a call. Who asks is settled here, the rest in one file a call.
//!
//! The same files answer the commands of this process (`--store`), so that both ways say the same.

pub mod convert;

pub mod add;
pub mod context;
pub mod delete;
pub mod search;
pub mod sources;
pub mod stats;
pub mod walk;

use std::sync::Arc;

use prost::Message;
use proto::v1;
use proto::v1::memory_service_server::MemoryService;
use tokio::sync::Semaphore;
use tonic::{Request, Response, Status};

use crate::code::status;
use crate::error::{Error, Result};
use crate::identity::{Caller, Identity};
use crate::mutation::{Key, Mutations};
use crate::shared::Memory;

/// The service over one memory.
pub struct Service {
    memory: Arc<Memory>,
    identity: Arc<Identity>,
    mutations: Mutations,
    gate: Arc<Semaphore>,
}

type Answer<R> = std::result::Result<Response<R>, Status>;

impl Service {
    /// A service that takes at most `calls_max` calls at once.
    pub fn new(memory: Arc<Memory>, identity: Arc<Identity>, calls_max: usize) -> Self {
        Self { memory, identity, mutations: Mutations::default(), gate: Arc::new(Semaphore::new(calls_max)) }
    }

    fn caller<Q>(&self, request: &Request<Q>) -> std::result::Result<Caller, Status> {
        let shown = request.metadata().get("authorization");
        let shown = shown.and_then(|value| value.to_str().ok());
        self.identity.caller(shown).map_err(|error| status(&error))
    }

    /// Runs a question on a thread that may block.
    async fn ask<Q, R>(&self, request: Request<Q>, work: fn(&Memory, &Caller, Q) -> Result<R>) -> Answer<R>
    where
        Q: Send + 'static,
        R: Send + 'static,
    {
        let caller = self.caller(&request)?;
        let memory = Arc::clone(&self.memory);
        let place = Arc::clone(&self.gate);
        let place = place.try_acquire_owned().map_err(|_| status(&Error::Busy))?;
        let request = request.into_inner();
        let task = tokio::task::spawn_blocking(move || {
            let answer = work(&memory, &caller, request);
            drop(place);
            answer
        });
        let answer = task.await.map_err(|_| status(&Error::Stopped { what: "the question's task" }))?;
        answer.map(Response::new).map_err(|error| status(&error))
    }

    /// Runs a change detached from its caller.
    async fn change<Q, R>(
        &self,
        method: &'static str,
        request: Request<Q>,
        request_id: fn(&Q) -> &str,
        work: fn(&Memory, &Caller, Q) -> Result<R>,
    ) -> Answer<R>
    where
        Q: Message + 'static,
        R: Message + Default + 'static,
    {
        let caller = self.caller(&request)?;
        let place = Arc::clone(&self.gate);
        let place = place.try_acquire_owned().map_err(|_| status(&Error::Busy))?;
        let memory = Arc::clone(&self.memory);
        let request = request.into_inner();
        let key = Key { principal: caller.principal().to_owned(), method, request_id: request_id(&request).to_owned() };
        let content = request.encode_to_vec();
        let work = move || {
            let answer = work(&memory, &caller, request);
            drop(place);
            answer
        };
        self.mutations.run(key, &content, work).await.map(Response::new)
    }
}

/// Only a commit is a change; a plan may be asked for again and differ.
fn commit_id(request: &v1::DeleteSourceRequest) -> &str {
    if request.commit { &request.request_id } else { "" }
}

#[tonic::async_trait]
impl MemoryService for Service {
    async fn search(&self, request: Request<v1::SearchRequest>) -> Answer<v1::SearchResponse> {
        self.ask(request, search::search).await
    }

    async fn get_context(&self, request: Request<v1::GetContextRequest>) -> Answer<v1::GetContextResponse> {
        self.ask(request, context::context).await
    }

    async fn graph_walk(&self, request: Request<v1::GraphWalkRequest>) -> Answer<v1::GraphWalkResponse> {
        self.ask(request, walk::walk).await
    }

    async fn list_sources(&self, request: Request<v1::ListSourcesRequest>) -> Answer<v1::ListSourcesResponse> {
        self.ask(request, sources::list).await
    }

    async fn get_source(&self, request: Request<v1::GetSourceRequest>) -> Answer<v1::GetSourceResponse> {
        self.ask(request, sources::get).await
    }

    async fn stats(&self, request: Request<v1::StatsRequest>) -> Answer<v1::StatsResponse> {
        self.ask(request, stats::stats).await
    }

    async fn add_source(&self, request: Request<v1::AddSourceRequest>) -> Answer<v1::AddSourceResponse> {
        self.change("AddSource", request, |q| &q.request_id, add::add).await
    }

    async fn append_turns(&self, request: Request<v1::AppendTurnsRequest>) -> Answer<v1::AppendTurnsResponse> {
        self.change("AppendTurns", request, |q| &q.request_id, add::append).await
    }

    async fn delete_source(&self, request: Request<v1::DeleteSourceRequest>) -> Answer<v1::DeleteSourceResponse> {
        self.change("DeleteSource", request, commit_id, delete::delete).await
    }
}
