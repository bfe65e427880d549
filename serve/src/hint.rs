//! The way out of a failure, where there is one: the `hint:` line under an error.

use tonic::Code;
use tonic_types::StatusExt;

use crate::desk::Refused;
use crate::error::Error;
use crate::identity::TokenFileError;
use crate::settings::ListenError;

/// What would help against `error`, taken from the first cause that knows.
pub fn of(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        if let Some(ours) = cause.downcast_ref::<Error>() {
            return of_ours(ours);
        }
        if let Some(index) = cause.downcast_ref::<index::Error>() {
            return of_index(index);
        }
        if let Some(ingest) = cause.downcast_ref::<ingest::Error>() {
            return of_ingest(ingest);
        }
        if let Some(listen) = cause.downcast_ref::<ListenError>() {
            return Some(listen.hint().to_owned());
        }
        if let Some(Refused(status)) = cause.downcast_ref::<Refused>() {
            return of_status(status);
        }
        if cause.downcast_ref::<TokenFileError>().is_some() {
            return Some("strata tokens new --principal NAME prints a block that works".to_owned());
        }
        if cause.downcast_ref::<tonic::transport::Error>().is_some() {
            return Some("start one with strata serve, or ask a store with --store DIR".to_owned());
        }
        None
    })
}

fn of_ours(error: &Error) -> Option<String> {
    match error {
        Error::Index(index) => of_index(index),
        Error::Ingest(ingest) => of_ingest(ingest),
        Error::Embedder { .. } => Some(REEMBED.to_owned()),
        Error::Stale { .. } => Some("plan again, then commit".to_owned()),
        Error::ScopeMissing { .. } => Some("say which with --scope".to_owned()),
        _ => None,
    }
}

const REEMBED: &str = "ask with the store's own model (leave --embedder out), or embed the archive anew into \
                       another store: strata import --store NEW_DIR --embedder NAME FILES";

fn of_index(error: &index::Error) -> Option<String> {
    match error {
        index::Error::NoStore { .. } => Some("strata import FILES makes one; --store DIR names another".to_owned()),
        index::Error::Embedder { .. } => Some(REEMBED.to_owned()),
        index::Error::NotFound { noun: "source", .. } => {
            Some("strata sources lists what is there; --scope says whose".to_owned())
        }
        index::Error::NotFound { noun: "chunk", .. } => {
            Some("a chunk's id stands under each hit of strata search".to_owned())
        }
        index::Error::Scope { .. } => Some("a scope is a path like acme/ana".to_owned()),
        index::Error::Conflict { .. } | index::Error::Contended { .. } => Some("try again".to_owned()),
        index::Error::Corrupt { .. } => Some("strata verify lists all that is wrong".to_owned()),
        index::Error::Incompatible { .. } => Some("use the strata that wrote it, or a newer one".to_owned()),
        _ => None,
    }
}

fn of_ingest(error: &ingest::Error) -> Option<String> {
    match error {
        ingest::Error::Index(index) => of_index(index),
        ingest::Error::Pull { name, .. } => Some(format!(
            "try again when a network is there (strata models pull {name}), or name a model's folder: --embedder DIR"
        )),
        other => other.hint(),
    }
}

fn of_status(status: &tonic::Status) -> Option<String> {
    let reason = status.get_details_error_info().map(|info| info.reason);
    match (status.code(), reason.as_deref()) {
        (Code::Unauthenticated, _) => Some("pass the token with --token or STRATA_TOKEN".to_owned()),
        (_, Some("SCOPE_REQUIRED")) => Some("say which with --scope".to_owned()),
        (_, Some("SCOPE_DENIED")) => Some("leave --scope out to ask your own".to_owned()),
        (_, Some("PLAN_STALE" | "CONFLICT")) => Some("plan again, then commit".to_owned()),
        (Code::Unavailable | Code::ResourceExhausted, _) => Some("try again in a moment".to_owned()),
        _ => None,
    }
}
