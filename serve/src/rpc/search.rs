//! Search: the best units for a question.

use index::Snapshot;
use index::model::ScopeSet;
use index::search::{K_MAX, Query};
use proto::v1;

use super::convert;
use crate::error::{Error, Result};
use crate::identity::{Caller, Verb};
use crate::shared::Memory;

/// `k` where a caller names none.
const K_DEFAULT: u32 = 10;
/// Bytes of the longest question.
const QUESTION_BYTES_MAX: usize = 16 << 10;
/// How many sources a question may be narrowed to.
pub const SOURCES_MAX: usize = 1_000;

/// Answers a question.
///
/// # Errors
/// What the caller may not, a field outside its bounds, or what the store says.
pub fn search(memory: &Memory, caller: &Caller, request: v1::SearchRequest) -> Result<v1::SearchResponse> {
    let scopes = caller.reads(Verb::Read, &request.scope)?;
    let asked = Asked {
        question: request.question,
        k: or_default(request.k, K_DEFAULT),
        unit: request.unit,
        sources: request.sources,
    };
    asked.check()?;
    let snapshot = memory.at_least(request.min_manifest_version)?;
    let query = asked.query(memory, &snapshot, &scopes)?;
    let answer = index::search::search(&snapshot, &scopes, &query)?;
    Ok(v1::SearchResponse {
        manifest_version: answer.version,
        hits: answer.hits.into_iter().map(convert::hit).collect(),
    })
}

/// What Search and GetContext ask in common, defaults filled in.
pub struct Asked {
    /// The words.
    pub question: String,
    /// The most units.
    pub k: u32,
    /// The wire's number of the unit.
    pub unit: i32,
    /// Keys or ids.
    pub sources: Vec<String>,
}

impl Asked {
    /// Checks what needs no store.
    ///
    /// # Errors
    /// [`Error::Argument`] with the field and its bounds.
    pub fn check(&self) -> Result<()> {
        if self.question.trim().is_empty() {
            return Err(Error::argument("question", "is empty"));
        }
        if self.question.len() > QUESTION_BYTES_MAX {
            return Err(Error::argument("question", "is longer than 16 KiB"));
        }
        if self.k > K_MAX {
            return Err(Error::argument("k", format!("{} is out of range: 1 to {K_MAX}", self.k)));
        }
        if self.sources.len() > SOURCES_MAX {
            return Err(Error::argument("sources", format!("are more than {SOURCES_MAX}")));
        }
        convert::asked_unit(self.unit).map(drop)
    }

    /// The question for `snapshot`, its vector made by the store's own embedder.
    ///
    /// # Errors
    /// A source that is not there for this caller, or what the embedder says.
    pub fn query(self, memory: &Memory, snapshot: &Snapshot, scopes: &ScopeSet) -> Result<Query> {
        let sources = index::search::resolve_sources(snapshot, scopes, &self.sources)?;
        Ok(Query {
            vector: memory.question_vector(snapshot, &self.question)?,
            text: self.question,
            unit: convert::asked_unit(self.unit)?,
            k: self.k,
            sources,
        })
    }
}

/// `given`, or `default` where a caller left it at 0.
pub fn or_default(given: u32, default: u32) -> u32 {
    if given == 0 { default } else { given }
}
