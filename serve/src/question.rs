//! One thread asks the embedder; questions that wait meanwhile are embedded together.
//!
//! A queue is cheaper than a lock around the device, and a batch of questions costs little more than
//! one. Knows no store and no scope.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread;

use kernels::{Embedder, Role};

use crate::error::{Error, Result};

/// How many questions may wait; the rest is told to come back.
const WAITING_MAX: usize = 256;
/// How many are embedded together.
const BATCH_MAX: usize = 32;

struct Job {
    text: String,
    answer: SyncSender<Result<Vec<f32>>>,
}

/// The way to the thread that embeds questions. The thread ends with the last of these.
#[derive(Clone)]
pub struct Questions {
    sender: SyncSender<Job>,
}

impl Questions {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`Error::Stopped`] where the machine gives no thread.
    pub fn start(embedder: Arc<dyn Embedder>) -> Result<Self> {
        let (sender, receiver) = sync_channel(WAITING_MAX);
        thread::Builder::new()
            .name("strata-question".to_owned())
            .spawn(move || answer_all(embedder.as_ref(), &receiver))
            .map_err(|_| Error::Stopped { what: "the question thread" })?;
        Ok(Self { sender })
    }

    /// The vector of a question, `[dim]`, unit length. Waits; not for async code.
    ///
    /// # Errors
    /// [`Error::Busy`] where too many wait, or what the embedder says.
    pub fn vector(&self, text: &str) -> Result<Vec<f32>> {
        let gone = Error::Stopped { what: "the question thread" };
        let (answer, receiver) = sync_channel(1);
        let job = Job { text: text.to_owned(), answer };
        match self.sender.try_send(job) {
            Ok(()) => receiver.recv().unwrap_or(Err(gone)),
            Err(TrySendError::Full(_)) => Err(Error::Busy),
            Err(TrySendError::Disconnected(_)) => Err(gone),
        }
    }
}

fn answer_all(embedder: &dyn Embedder, receiver: &Receiver<Job>) {
    while let Ok(first) = receiver.recv() {
        let mut batch = vec![first];
        while batch.len() < BATCH_MAX {
            match receiver.try_recv() {
                Ok(job) => batch.push(job),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        answer(embedder, batch);
    }
}

fn answer(embedder: &dyn Embedder, batch: Vec<Job>) {
    let texts: Vec<&str> = batch.iter().map(|job| job.text.as_str()).collect();
    // One question longer than the model's window spoils a batch; then each is embedded by itself,
    // which cuts long ones and averages.
    let together = (batch.len() > 1).then(|| embedder.embed(&texts, Role::Query).ok()).flatten();
    for (idx, job) in batch.iter().enumerate() {
        let vector = match &together {
            Some(vectors) => Ok(vectors.row(idx).to_vec()),
            None => kernels::embed_whole(embedder, &job.text, Role::Query).map_err(Error::from),
        };
        // A caller that went away needs no answer.
        let _ = job.answer.send(vector);
    }
}
