//! Questions over gRPC in the fewest words.

use proto::v1::{
    AddSourceRequest, AddSourceResponse, GetContextRequest, GetContextResponse, GetSourceRequest, GraphWalkRequest,
    Hit, ListSourcesRequest, SearchRequest, SourceView, StatsRequest, StatsResponse,
};
use strata_tests::Client;

/// Adds a document.
pub fn add(client: &Client, scope: &str, key: &str, text: &str) -> AddSourceResponse {
    let request =
        AddSourceRequest { key: key.to_owned(), text: text.to_owned(), scope: scope.to_owned(), ..Default::default() };
    client.add_source(request).expect("a document is taken in")
}

/// The best `k` chunks.
pub fn search(client: &Client, question: &str, k: u32) -> Vec<Hit> {
    Reader(client).hits(question, k)
}

/// A context's text without what is fresh in each answer: the number in its fences.
pub fn unfenced(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut lines: Vec<&str> = text.trim_end().lines().collect();
    assert!(lines.len() >= 2 && lines[0].starts_with("<<<"), "{text}");
    lines.pop();
    lines[1..].join("\n")
}

/// Asks as one client.
pub struct Reader<'a>(pub &'a Client);

impl Reader<'_> {
    /// The best `k` chunks.
    pub fn hits(&self, question: &str, k: u32) -> Vec<Hit> {
        let request = SearchRequest { question: question.to_owned(), k, ..Default::default() };
        self.0.search(request).expect("a search").hits
    }

    /// A context of at most `k` records, as many as the budget takes of each source.
    pub fn context(&self, question: &str, k: u32, max_tokens: u32) -> GetContextResponse {
        let request = GetContextRequest { question: question.to_owned(), k, max_tokens, ..Default::default() };
        self.0.get_context(request).expect("a context")
    }

    /// Numbers of the caller's scope.
    pub fn stats(&self) -> StatsResponse {
        self.0.stats(StatsRequest::default()).expect("stats")
    }

    /// The keys of all sources.
    pub fn keys(&self) -> Vec<String> {
        let request = ListSourcesRequest { page_size: 1000, ..Default::default() };
        let sources = self.0.list_sources(request).expect("a list").sources;
        let refs = sources.into_iter().filter_map(|source| source.r#ref);
        refs.map(|source| source.key).collect()
    }

    /// The chunks that `hops` edges lead to from `chunk`.
    pub fn walk(&self, chunk: &str, hops: u32) -> Vec<Hit> {
        let request = GraphWalkRequest { from_chunk_ids: vec![chunk.to_owned()], hops, k: 1000, ..Default::default() };
        let reached = self.0.graph_walk(request).expect("a walk").reached;
        reached.into_iter().filter_map(|reached| reached.hit).collect()
    }

    /// The whole text of a source and the ids of all its chunks that a broad question finds.
    pub fn source_with_hits(&self, key: &str) -> (String, Vec<String>) {
        let request = GetSourceRequest { source: key.to_owned(), view: SourceView::Full.into(), ..Default::default() };
        let text = self.0.get_source(request).expect("the source").text;
        let request = SearchRequest {
            question: "the greenhouse in Utrecht".to_owned(),
            k: 1000,
            sources: vec![key.to_owned()],
            ..Default::default()
        };
        let hits = self.0.search(request).expect("a search").hits;
        let mut chunks: Vec<String> = hits.into_iter().map(|hit| hit.unit_id).collect();
        chunks.sort();
        (text, chunks)
    }
}
