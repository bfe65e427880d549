//! Changes that outlive their callers: each runs on its own, and a retry joins it.
//!
//! tonic drops a call's future when its caller goes away or its deadline passes; a commit must not be
//! cut there. So the work runs detached, and the call only waits for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prost::Message;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tonic::Status;

use crate::code::status;
use crate::error::{Error, Result};

/// How long the answer to a request id is kept.
const KEPT_FOR: Duration = Duration::from_secs(15 * 60);
/// How many answers are kept; the oldest finished ones go first.
const KEPT_MAX: usize = 4_096;
/// The longest request id.
pub const REQUEST_ID_CHARS_MAX: usize = 128;

/// What came of a change: its encoded answer, or why not.
type Outcome = std::result::Result<Vec<u8>, Status>;

struct Entry {
    content: [u8; 32],
    started: Instant,
    outcome: watch::Receiver<Option<Outcome>>,
}

/// The changes under way and those done a while ago, by request id.
#[derive(Clone, Default)]
pub struct Mutations {
    known: Arc<Mutex<HashMap<Key, Entry>>>,
}

/// A request id belongs to a principal and a method.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Who asked.
    pub principal: String,
    /// The call, for example `AddSource`.
    pub method: &'static str,
    /// As the caller chose it; empty for a change that cannot be retried.
    pub request_id: String,
}

impl Mutations {
    /// Runs `work` detached and waits for it, or joins the run that `key` already has.
    ///
    /// `content` is the request without anything that may differ between tries. A failed run is
    /// forgotten, so that a retry tries again.
    ///
    /// # Errors
    /// What `work` failed with; [`Error::Reused`] for a known id with another content.
    pub async fn run<R, W>(&self, key: Key, content: &[u8], work: W) -> std::result::Result<R, Status>
    where
        R: Message + Default,
        W: FnOnce() -> Result<R> + Send + 'static,
    {
        let content: [u8; 32] = Sha256::digest(content).into();
        let mut outcome = self.start(key, content, work).map_err(|error| status(&error))?;
        let gone = |_| status(&Error::Stopped { what: "the change's task" });
        let done = outcome.wait_for(Option::is_some).await.map_err(gone)?.clone();
        let bytes = done.ok_or_else(|| Status::internal("no outcome"))??;
        R::decode(bytes.as_slice()).map_err(|error| Status::internal(error.to_string()))
    }

    fn start<R, W>(&self, key: Key, content: [u8; 32], work: W) -> Result<watch::Receiver<Option<Outcome>>>
    where
        R: Message + Default,
        W: FnOnce() -> Result<R> + Send + 'static,
    {
        check(&key)?;
        let (sender, outcome) = watch::channel(None);
        if !key.request_id.is_empty() {
            let mut known = self.lock();
            if let Some(entry) = known.get(&key).filter(|entry| !died(entry)) {
                if entry.content != content {
                    return Err(Error::Reused { request_id: key.request_id });
                }
                return Ok(entry.outcome.clone());
            }
            forget_old(&mut known);
            known.insert(key.clone(), Entry { content, started: Instant::now(), outcome: outcome.clone() });
        }
        let mutations = self.clone();
        // A blocking task cannot be cut short: dropping its handle leaves it running.
        tokio::task::spawn_blocking(move || {
            let done = work().map(|answer| answer.encode_to_vec()).map_err(|error| status(&error));
            if done.is_err() {
                mutations.lock().remove(&key);
            }
            let _ = sender.send(Some(done));
        });
        Ok(outcome)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        // The map is whole after every statement, so a panic elsewhere does not spoil it.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check(key: &Key) -> Result<()> {
    if key.request_id.chars().count() > REQUEST_ID_CHARS_MAX {
        return Err(Error::argument("request_id", "is longer than 128 characters"));
    }
    Ok(())
}

/// Whether the run ended without an outcome: it panicked.
fn died(entry: &Entry) -> bool {
    entry.outcome.has_changed().is_err() && entry.outcome.borrow().is_none()
}

fn forget_old(known: &mut HashMap<Key, Entry>) {
    let finished = |entry: &Entry| entry.outcome.has_changed().is_err();
    known.retain(|_, entry| !finished(entry) || entry.started.elapsed() < KEPT_FOR);
    while known.len() >= KEPT_MAX {
        let oldest = known
            .iter()
            .filter(|(_, entry)| finished(entry))
            .min_by_key(|(_, entry)| entry.started)
            .map(|(key, _)| key.clone());
        match oldest {
            Some(key) => known.remove(&key),
            None => return,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use proto::v1::StatsResponse;

    fn key(request_id: &str) -> Key {
        Key { principal: "ana".to_owned(), method: "Stats", request_id: request_id.to_owned() }
    }

    fn counted(runs: &Arc<AtomicU32>) -> impl FnOnce() -> Result<StatsResponse> + Send + 'static {
        let runs = Arc::clone(runs);
        move || {
            let n_sources = u64::from(runs.fetch_add(1, Ordering::SeqCst) + 1);
            Ok(StatsResponse { n_sources, ..Default::default() })
        }
    }

    #[tokio::test]
    async fn a_retry_joins_the_first_run() {
        let (mutations, runs) = (Mutations::default(), Arc::new(AtomicU32::new(0)));
        for _ in 0..3 {
            let answer: StatsResponse = mutations.run(key("one"), b"same", counted(&runs)).await.unwrap();
            assert_eq!(answer.n_sources, 1);
        }
        let reused: std::result::Result<StatsResponse, _> = mutations.run(key("one"), b"other", counted(&runs)).await;
        assert_eq!(reused.unwrap_err().code(), tonic::Code::InvalidArgument);
        let without: StatsResponse = mutations.run(key(""), b"same", counted(&runs)).await.unwrap();
        assert_eq!(without.n_sources, 2);
    }

    #[tokio::test]
    async fn a_failure_is_forgotten() {
        let (mutations, runs) = (Mutations::default(), Arc::new(AtomicU32::new(0)));
        let failed: std::result::Result<StatsResponse, _> =
            mutations.run(key("two"), b"same", || Err(Error::Busy)).await;
        assert_eq!(failed.unwrap_err().code(), tonic::Code::ResourceExhausted);
        let answer: StatsResponse = mutations.run(key("two"), b"same", counted(&runs)).await.unwrap();
        assert_eq!(answer.n_sources, 1);
    }

    #[tokio::test]
    async fn a_run_that_died_is_tried_again() {
        let (mutations, runs) = (Mutations::default(), Arc::new(AtomicU32::new(0)));
        let died: std::result::Result<StatsResponse, _> =
            mutations.run(key("four"), b"same", || -> Result<StatsResponse> { panic!("on purpose") }).await;
        assert_eq!(died.unwrap_err().code(), tonic::Code::Internal);
        let answer: StatsResponse = mutations.run(key("four"), b"same", counted(&runs)).await.unwrap();
        assert_eq!(answer.n_sources, 1);
    }

    #[tokio::test]
    async fn the_work_outlives_its_caller() {
        let mutations = Mutations::default();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let (done, finished) = tokio::sync::oneshot::channel();
        let work = move || {
            held.recv().map_err(|_| Error::Busy)?;
            let _ = done.send(());
            Ok(StatsResponse::default())
        };
        let call = tokio::spawn({
            let mutations = mutations.clone();
            async move { mutations.run::<StatsResponse, _>(key("three"), b"x", work).await }
        });
        tokio::task::yield_now().await;
        call.abort();
        let _ = call.await;
        release.send(()).unwrap();
        finished.await.unwrap();
    }
}
