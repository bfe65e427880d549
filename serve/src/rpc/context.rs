//! GetContext: a fenced block of evidence within a token budget.

use index::search::ContextQuery;
use proto::v1;

use super::convert;
use super::search::{Asked, or_default};
use crate::error::{Error, Result};
use crate::identity::{Caller, Verb};
use crate::shared::Memory;

/// `k` where a caller names none.
const K_DEFAULT: u32 = 20;
/// `max_tokens` where a caller names none.
const TOKENS_DEFAULT: u32 = 2_000;
/// The smallest budget that holds a fence and a record's head.
const TOKENS_MIN: u32 = 64;
/// The largest budget.
const TOKENS_MAX: u32 = 1_000_000;
/// `per_source_max` where a caller names none.
const PER_SOURCE_DEFAULT: u32 = 3;

/// Answers a question within a budget.
///
/// # Errors
/// What the caller may not, a field outside its bounds, or what the store says.
pub fn context(memory: &Memory, caller: &Caller, request: v1::GetContextRequest) -> Result<v1::GetContextResponse> {
    let scopes = caller.reads(Verb::Read, &request.scope)?;
    let asked = Asked {
        question: request.question,
        k: or_default(request.k, K_DEFAULT),
        unit: request.unit,
        sources: request.sources,
    };
    asked.check()?;
    let max_tokens = or_default(request.max_tokens, TOKENS_DEFAULT);
    if !(TOKENS_MIN..=TOKENS_MAX).contains(&max_tokens) {
        let reason = format!("{max_tokens} is out of range: {TOKENS_MIN} to {TOKENS_MAX}");
        return Err(Error::argument("max_tokens", reason));
    }
    let snapshot = memory.at_least(request.min_manifest_version)?;
    let query = ContextQuery {
        query: asked.query(memory, &snapshot, &scopes)?,
        max_tokens,
        per_source_max: or_default(request.per_source_max, PER_SOURCE_DEFAULT),
    };
    let count = memory.token_counter(&snapshot)?;
    // The nonce makes the fence unforgeable: no stored text can know it.
    let nonce = uuid::Uuid::new_v4().as_u128();
    let context = index::search::context(&snapshot, &scopes, &query, nonce, &*count)?;
    Ok(convert::context(context))
}
