//! The way out of a failure: the `hint:` line under an error, the same for a store and a server.

use std::error::Error as StdError;
use std::io;

use tonic::Code;
use tonic_types::StatusExt;

use crate::code;
use crate::desk::Refused;
use crate::error::Error;
use crate::identity::TokenFileError;
use crate::settings::ListenError;

/// A failure that brings its way out along.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Advised {
    message: String,
    hint: String,
}

/// A failure with `message` and the `hint` that helps against it.
pub fn advised(message: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Advised { message: message.into(), hint: hint.into() })
}

/// What would help against `error`, taken from the first cause that knows.
pub fn of(error: &anyhow::Error) -> String {
    error.chain().find_map(of_cause).unwrap_or_else(|| LAST_RESORT.to_owned())
}

const LAST_RESORT: &str = "strata COMMAND --help shows how it is used; STRATA_LOG=debug says more of what it did";
const REEMBED: &str = "ask with the store's own model (leave --embedder out), or embed the archive anew into \
                       another store: strata import --store NEW_DIR --embedder NAME FILES";
const VERIFY: &str = "strata verify lists all that is wrong with a store";
const OPERATOR: &str = "ask who runs the server: its log says what happened, and strata verify checks its store";
const CHUNK: &str = "a chunk's id stands under each hit of strata search";
const MODEL_FILES: &str = "a model's folder holds config.json, tokenizer.json and model.safetensors, each whole; \
                           strata models pull fetches one";
const TRY_AGAIN: &str = "try again in a moment";

fn of_cause(cause: &(dyn StdError + 'static)) -> Option<String> {
    if let Some(ours) = cause.downcast_ref::<Error>() {
        return Some(of_ours(ours));
    }
    if let Some(advised) = cause.downcast_ref::<Advised>() {
        return Some(advised.hint.clone());
    }
    if let Some(index) = cause.downcast_ref::<index::Error>() {
        return Some(of_index(index));
    }
    if let Some(ingest) = cause.downcast_ref::<ingest::Error>() {
        return Some(of_ingest(ingest));
    }
    if let Some(kernels) = cause.downcast_ref::<kernels::Error>() {
        return Some(of_kernels(kernels).to_owned());
    }
    if let Some(listen) = cause.downcast_ref::<ListenError>() {
        return Some(listen.hint().to_owned());
    }
    if let Some(Refused(status)) = cause.downcast_ref::<Refused>() {
        return Some(of_status(status));
    }
    if cause.downcast_ref::<TokenFileError>().is_some() {
        return Some("strata tokens new --principal NAME prints a block that works".to_owned());
    }
    if cause.downcast_ref::<tonic::transport::Error>().is_some() {
        return Some("start one with strata serve, or ask a store with --store DIR".to_owned());
    }
    cause.downcast_ref::<io::Error>().map(|error| of_io(error).to_owned())
}

fn of_ours(error: &Error) -> String {
    match error {
        Error::Index(index) => of_index(index),
        Error::Ingest(ingest) => of_ingest(ingest),
        Error::Kernels(kernels) => of_kernels(kernels).to_owned(),
        Error::Embedder { .. } => REEMBED.to_owned(),
        other => of_reason(code::reason(other), &code::about(other)).unwrap_or_else(|| TRY_AGAIN.to_owned()),
    }
}

fn of_index(error: &index::Error) -> String {
    match error {
        index::Error::NoStore { .. } => "strata import FILES makes one; --store DIR names another".to_owned(),
        index::Error::Embedder { .. } => REEMBED.to_owned(),
        index::Error::Conflict { .. } | index::Error::Contended { .. } => "try again".to_owned(),
        index::Error::Corrupt { .. } => VERIFY.to_owned(),
        index::Error::Incompatible { .. } => "use the strata that wrote it, or a newer one".to_owned(),
        index::Error::Io { source, .. } => of_io(source).to_owned(),
        index::Error::Invariant { .. } | index::Error::Engine { .. } => {
            format!("this is a mistake of strata's, please report it; {VERIFY}")
        }
        other => {
            let (_, reason) = code::code_of_kind(other.kind());
            of_reason(reason, code::about_index(other)).unwrap_or_else(bounds)
        }
    }
}

fn of_ingest(error: &ingest::Error) -> String {
    match error {
        ingest::Error::Index(index) => return of_index(index),
        ingest::Error::Kernels(kernels) => return of_kernels(kernels).to_owned(),
        ingest::Error::Pull { name, .. } => {
            return format!(
                "try again when a network is there (strata models pull {name}), or name a model's folder: \
                 --embedder DIR"
            );
        }
        _ => {}
    }
    let ours = || match error {
        ingest::Error::UnknownFormat { .. } => "leave --format out and each file decides".to_owned(),
        ingest::Error::ModelUnknown { .. } => "strata models list says which there are".to_owned(),
        ingest::Error::Io { source, .. } => of_io(source).to_owned(),
        ingest::Error::Cancelled => "the same command goes on from there".to_owned(),
        _ => bounds(),
    };
    error.hint().unwrap_or_else(ours)
}

fn of_kernels(error: &kernels::Error) -> &'static str {
    match error {
        kernels::Error::Read { .. } | kernels::Error::Model { .. } => MODEL_FILES,
        kernels::Error::Missing { .. } => {
            "strata devices says what is there and why the rest is not; --device cpu works everywhere"
        }
        kernels::Error::OutOfMemory { .. } => {
            "close what else uses the card (nvidia-smi lists it), name another one, or take --device cpu"
        }
        kernels::Error::TooLong { .. } => "shorten the text",
        kernels::Error::Invalid { .. } | kernels::Error::Compute { .. } => {
            "try --device cpu and check the model (strata models verify); if both are sound, please report it"
        }
    }
}

/// What helps against a machine that refused, whatever was being done.
pub fn of_io(error: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded | Kind::WriteZero => {
            "make room on that disk, then run the same command again; what was finished before is kept"
        }
        Kind::ReadOnlyFilesystem => "nothing can be written there; name a folder of another disk with --store DIR",
        Kind::PermissionDenied => "change the permissions of that place, or name another one with --store DIR",
        Kind::NotFound => "check that the path exists and is spelled right",
        Kind::NotADirectory | Kind::AlreadyExists => "a file stands where a folder is needed; name another path",
        Kind::IsADirectory => "a folder stands where a file is needed; name another path",
        Kind::AddrInUse => "another program listens there; --listen 127.0.0.1:0 takes any free port",
        _ => "check the disk and who may write there, then run the same command again",
    }
}

fn of_status(status: &tonic::Status) -> String {
    let info = status.get_details_error_info();
    let known = info.and_then(|info| {
        let about = info.metadata.get(code::ABOUT).map_or("", String::as_str);
        of_reason(&info.reason, about)
    });
    known.unwrap_or_else(|| of_code(status.code()))
}

/// What helps where the server's own reason says nothing: it is not ours, or did not get that far.
fn of_code(code: Code) -> String {
    match code {
        Code::Unauthenticated => TOKEN.to_owned(),
        Code::DataLoss | Code::Internal | Code::Unknown => OPERATOR.to_owned(),
        Code::Unimplemented => "no strata answers there, or an older one; check the address".to_owned(),
        Code::DeadlineExceeded | Code::Cancelled => "the server took too long: ask for less, or try again".to_owned(),
        Code::OutOfRange => "the answer is too large: ask for less, with a smaller -k".to_owned(),
        Code::InvalidArgument => bounds(),
        _ => TRY_AGAIN.to_owned(),
    }
}

const TOKEN: &str = "pass the token with --token or STRATA_TOKEN";

/// What helps against a reason of the contract; `about` is the field, noun or verb that it concerns.
fn of_reason(reason: &str, about: &str) -> Option<String> {
    let hint = match (reason, about) {
        ("NOT_FOUND", "source") => "strata sources lists what is there; --scope says whose",
        ("NOT_FOUND" | "INVALID", "chunk") => CHUNK,
        ("INVALID", "source") => "strata sources lists the keys and ids that are there",
        ("INVALID", "scope") => "a scope is a path like acme/ana",
        ("INVALID", "question") => {
            "a question is a few words or sentences in quotes, 16 KiB at most: strata search \"where does Ana live?\""
        }
        ("INVALID", "time") => "write it like 2024-03-01T12:00:00Z",
        ("INVALID", _) => return Some(bounds()),
        ("VERB_DENIED", verb) => {
            return Some(format!(
                "ask who runs the server for a token that may: strata tokens new --principal NAME --verb {verb}"
            ));
        }
        ("TOKEN_REQUIRED", _) => TOKEN,
        ("SCOPE_REQUIRED", _) => "say which with --scope",
        ("SCOPE_DENIED", _) => "leave --scope out to ask your own",
        ("PLAN_STALE" | "CONFLICT", _) => "plan again, then commit",
        ("PAGE_TOKEN_INVALID", _) => "start the listing again from its first page",
        ("VERSION_NOT_REACHED" | "BUSY" | "STORE_UNAVAILABLE", _) => TRY_AGAIN,
        ("REQUEST_ID_REUSED", _) => "use a new request_id for a new request",
        ("SOURCE_DELETED", _) => "take it in again with undelete",
        ("MODEL_MISSING", _) => "who runs the server fetches the model there: strata models pull",
        ("EMBEDDER_MISMATCH", _) => "who runs the server starts it with the store's own model: no --embedder",
        ("CORRUPT" | "INTERNAL" | "EMBEDDER_FAILED" | "STOPPED", _) => OPERATOR,
        _ => return None,
    };
    Some(hint.to_owned())
}

fn bounds() -> String {
    "strata COMMAND --help says what each flag takes".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: io::ErrorKind) -> String {
        let source = io::Error::from(kind);
        of(&anyhow::Error::new(index::Error::Io { action: "lock", path: "x".into(), source }))
    }

    #[test]
    fn a_machine_that_refuses_is_told_apart() {
        assert!(told(io::ErrorKind::StorageFull).contains("make room"));
        assert!(told(io::ErrorKind::ReadOnlyFilesystem).contains("another disk"));
        assert!(told(io::ErrorKind::PermissionDenied).contains("permissions"));
        assert!(!told(io::ErrorKind::Other).is_empty());
    }

    #[test]
    fn a_damaged_model_says_how_to_get_it_again() {
        let digest = |text: &str| text.to_owned();
        let error =
            ingest::Error::ModelDigest { path: "model.safetensors".into(), found: digest("a"), expected: digest("b") };
        assert!(of(&anyhow::Error::new(Error::Ingest(error))).contains("strata models pull"));
    }

    #[test]
    fn a_server_hints_as_a_store_does() {
        let errors = [
            Error::Index(index::Error::NotFound { noun: "source", given: "x".to_owned() }),
            Error::Index(index::Error::NotFound { noun: "chunk", given: "x".to_owned() }),
            Error::from(index::model::Error::Id { noun: "chunk", given: "zz".to_owned() }),
            Error::from(index::model::Error::Scope { given: "../x".to_owned(), rule: "no" }),
            Error::argument("question", "is empty"),
            Error::argument("k", "is out of range"),
            Error::ScopeMissing { granted: "a, b".to_owned() },
            Error::Scope { given: "a".to_owned() },
            Error::Stale { base: 1, newest: 2 },
            Error::Busy,
        ];
        for error in errors {
            assert_eq!(of_status(&code::status(&error)), of_ours(&error), "{error}");
        }
        let denied = Error::Verb { principal: "ana".to_owned(), verb: crate::identity::Verb::Delete };
        assert!(of_status(&code::status(&denied)).contains("--verb delete"));
    }
}
