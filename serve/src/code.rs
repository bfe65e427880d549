//! Errors as gRPC sees them: a code, a message and exactly one `ErrorInfo`.
//!
//! What a caller can mend is told in full; what only the operator can mend is logged here and told
//! without paths.

use std::collections::HashMap;
use std::error::Error as _;
use std::time::Duration;

use index::Kind;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};
use tracing::error;

use crate::error::Error;

/// The domain of every `ErrorInfo`.
pub const DOMAIN: &str = "strata";
/// The key of an `ErrorInfo`'s metadata that holds which field, noun or verb the reason is about.
pub const ABOUT: &str = "about";
/// How long a caller should wait before it tries again.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// The status that tells a caller of `failure`.
pub fn status(failure: &Error) -> Status {
    let (code, reason) = code_of(failure);
    let message = match code {
        Code::DataLoss | Code::Internal => {
            error!(reason, error = %chain(failure), "call failed");
            "the store or the server failed; its log says where".to_owned()
        }
        _ => chain(failure),
    };
    let about = about(failure);
    let metadata = (!about.is_empty()).then(|| (ABOUT.to_owned(), about));
    let mut details = ErrorDetails::with_error_info(reason, DOMAIN, HashMap::from_iter(metadata));
    if matches!(code, Code::Unavailable | Code::ResourceExhausted) {
        details.set_retry_info(Some(RETRY_AFTER));
    }
    Status::with_error_details(code, message, details)
}

/// The reason of `failure` in the contract's words.
pub fn reason(failure: &Error) -> &'static str {
    code_of(failure).1
}

/// Which field, noun or verb `failure` is about; empty where the reason says all.
pub fn about(failure: &Error) -> String {
    match failure {
        Error::Index(error) | Error::Ingest(ingest::Error::Index(error)) => about_index(error).to_owned(),
        Error::Verb { verb, .. } => verb.to_string(),
        Error::Argument { field, .. } => (*field).to_owned(),
        _ => String::new(),
    }
}

/// As [`about`], for what the store says.
pub fn about_index(failure: &index::Error) -> &'static str {
    match failure {
        index::Error::NotFound { noun, .. } => noun,
        index::Error::Model(index::model::Error::Id { noun, .. }) => noun,
        index::Error::Model(index::model::Error::Scope { .. }) => "scope",
        index::Error::Model(index::model::Error::Time { .. }) => "time",
        index::Error::OutOfRange { what, .. } => what,
        _ => "",
    }
}

fn code_of(failure: &Error) -> (Code, &'static str) {
    match failure {
        Error::Index(error) => code_of_kind(error.kind()),
        Error::Ingest(ingest::Error::Deleted { .. }) => (Code::FailedPrecondition, "SOURCE_DELETED"),
        Error::Ingest(
            ingest::Error::ModelAbsent { .. }
            | ingest::Error::ModelUnknown { .. }
            | ingest::Error::ModelDigest { .. }
            | ingest::Error::Pull { .. },
        ) => (Code::FailedPrecondition, "MODEL_MISSING"),
        Error::Ingest(error) => code_of_kind(error.kind()),
        Error::Kernels(_) => (Code::Internal, "EMBEDDER_FAILED"),
        Error::Unauthenticated { .. } => (Code::Unauthenticated, "TOKEN_REQUIRED"),
        Error::Verb { .. } => (Code::PermissionDenied, "VERB_DENIED"),
        Error::Scope { .. } => (Code::PermissionDenied, "SCOPE_DENIED"),
        Error::ScopeMissing { .. } => (Code::InvalidArgument, "SCOPE_REQUIRED"),
        Error::Argument { .. } => (Code::InvalidArgument, "INVALID"),
        Error::Page { .. } => (Code::InvalidArgument, "PAGE_TOKEN_INVALID"),
        Error::Behind { .. } => (Code::Unavailable, "VERSION_NOT_REACHED"),
        Error::Stale { .. } => (Code::Aborted, "PLAN_STALE"),
        Error::Reused { .. } => (Code::InvalidArgument, "REQUEST_ID_REUSED"),
        Error::Embedder { .. } => (Code::FailedPrecondition, "EMBEDDER_MISMATCH"),
        Error::Busy => (Code::ResourceExhausted, "BUSY"),
        Error::Stopped { .. } => (Code::Internal, "STOPPED"),
    }
}

/// The code and the reason of what the store says.
pub fn code_of_kind(kind: Kind) -> (Code, &'static str) {
    match kind {
        Kind::Invalid => (Code::InvalidArgument, "INVALID"),
        Kind::NotFound => (Code::NotFound, "NOT_FOUND"),
        Kind::Conflict => (Code::Aborted, "CONFLICT"),
        Kind::Corrupt => (Code::DataLoss, "CORRUPT"),
        Kind::Unavailable => (Code::Unavailable, "STORE_UNAVAILABLE"),
        Kind::Internal => (Code::Internal, "INTERNAL"),
    }
}

/// The message of `failure` with all its causes, outermost first.
pub fn chain(failure: &Error) -> String {
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_one_reason() {
        let refused = status(&Error::Scope { given: "b".to_owned() });
        assert_eq!(refused.code(), Code::PermissionDenied);
        let info = refused.get_details_error_info().unwrap();
        assert_eq!((info.reason.as_str(), info.domain.as_str()), ("SCOPE_DENIED", DOMAIN));
    }

    #[test]
    fn what_only_the_operator_can_mend_hides_paths() {
        let told =
            status(&Error::Index(index::Error::Corrupt { path: "/secret/place".into(), reason: "digest".to_owned() }));
        assert_eq!(told.code(), Code::DataLoss);
        assert!(!told.message().contains("secret"));
    }
}
