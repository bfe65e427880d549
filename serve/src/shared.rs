//! The open memory that calls and commands share: the current snapshot, swapped whole, and its model.
//!
//! A reader takes one snapshot and holds it from first to last. Own commits are seen at once, those of
//! other processes at the next poll.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use index::model::Timestamp;
use index::{EmbedderIdentity, Snapshot, Store};
use kernels::{Backend, Embedder};

use crate::device::{self, Device, Opened};
use crate::error::{Error, Result};
use crate::page::PageSeal;
use crate::question::Questions;
use crate::settings::EMBEDDER_DEFAULT;

/// How many older snapshots are kept for listings under way.
const RECENT_MAX: usize = 8;

/// The clock. The only place of this crate that reads it; everywhere else time is an argument.
pub fn now() -> Timestamp {
    Timestamp::from(chrono::Utc::now())
}

/// Which model a store is asked with, and on which device: what a command said, else what the manifest says.
#[derive(Clone)]
pub struct Model {
    asked: Option<String>,
    device: Device,
}

impl Model {
    /// `asked` is a model's name or folder as a command said it. It answers single questions where they are
    /// answered quickest.
    pub fn new(asked: Option<String>) -> Self {
        Self { asked, device: Device::new(None, device::QUICKEST) }
    }

    /// The same model on `device`.
    pub fn on(self, device: Device) -> Self {
        Self { device, ..self }
    }

    /// The device that it runs on, opened.
    ///
    /// # Errors
    /// When the device is not there.
    pub fn device(&self) -> Result<Opened> {
        self.device.open()
    }

    /// Opens the model for a store whose vectors were made by `found`.
    ///
    /// # Errors
    /// [`Error::Embedder`] where it is another model than the store's; what `ingest::models` or the device says.
    pub fn open(&self, found: Option<&EmbedderIdentity>) -> Result<Box<dyn Embedder>> {
        let embedder = ingest::models::open(self.name(found), &self.device()?.name)?;
        check(embedder.as_ref(), found)?;
        Ok(embedder)
    }

    /// As [`Model::open`], and fetches a model that is not on this machine, telling so on stderr.
    ///
    /// # Errors
    /// As [`Model::open`], or where nothing that has the model answers.
    pub fn open_or_pull(&self, found: Option<&EmbedderIdentity>) -> Result<Box<dyn Embedder>> {
        match self.open(found) {
            Err(Error::Ingest(ingest::Error::ModelAbsent { name, .. })) => {
                crate::note!("model {name} is not on this machine yet; fetching it, once");
                ingest::models::pull(&name, &|line| crate::note!("{line}"))?;
                self.open(found)
            }
            opened => opened,
        }
    }

    fn name<'a>(&'a self, found: Option<&'a EmbedderIdentity>) -> &'a str {
        match (&self.asked, found) {
            (Some(asked), _) => asked,
            (None, Some(found)) => &found.name,
            (None, None) => EMBEDDER_DEFAULT,
        }
    }
}

fn check(embedder: &dyn Embedder, found: Option<&EmbedderIdentity>) -> Result<()> {
    let Some(found) = found else { return Ok(()) };
    let id = embedder.id();
    let same = id.digest == found.digest
        && id.dim == found.dim
        && id.pooling == found.pooling
        && id.query_prompt == found.query_prompt
        && id.passage_prompt == found.passage_prompt;
    if same {
        return Ok(());
    }
    let short: String = id.digest.chars().take(12).collect();
    Err(Error::Embedder { found: found.to_string(), asked: format!("{} ({}, {short})", id.name, id.dim) })
}

/// Counts the tokens of a text.
pub type Counter = Box<dyn Fn(&str) -> u32>;

/// An open model with the thread that embeds questions.
#[derive(Clone)]
struct Mind {
    embedder: Arc<dyn Embedder>,
    questions: Questions,
}

/// One open store with its model.
pub struct Memory {
    store: Store,
    current: ArcSwap<Snapshot>,
    recent: Mutex<VecDeque<Arc<Snapshot>>>,
    model: Model,
    mind: Mutex<Option<Mind>>,
    seal: PageSeal,
}

impl Memory {
    /// Opens the newest version of `store`. The model is opened when it is first needed.
    ///
    /// # Errors
    /// What the store says.
    pub fn new(store: Store, model: Model) -> Result<Self> {
        let snapshot = store.snapshot()?;
        Ok(Self {
            store,
            recent: Mutex::new(VecDeque::from([Arc::clone(&snapshot)])),
            current: ArcSwap::new(snapshot),
            model,
            mind: Mutex::new(None),
            seal: PageSeal::new(),
        })
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The seal of this run's page tokens.
    pub fn seal(&self) -> &PageSeal {
        &self.seal
    }

    /// The current snapshot.
    pub fn current(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// A snapshot of at least version `version`; looks for a newer one where the current is older.
    ///
    /// # Errors
    /// [`Error::Behind`] where the store has not got there.
    pub fn at_least(&self, version: u64) -> Result<Arc<Snapshot>> {
        let current = self.current();
        if current.version() >= version {
            return Ok(current);
        }
        let newest = self.refresh()?;
        if newest.version() >= version {
            return Ok(newest);
        }
        Err(Error::Behind { asked: version, newest: newest.version() })
    }

    /// The snapshot of exactly `version`, where it was current a short while ago.
    pub fn recent(&self, version: u64) -> Option<Arc<Snapshot>> {
        let recent = lock(&self.recent);
        recent.iter().find(|snapshot| snapshot.version() == version).cloned()
    }

    /// Looks for a newer version and makes it current; versions never go back.
    ///
    /// # Errors
    /// What the store says.
    pub fn refresh(&self) -> Result<Arc<Snapshot>> {
        let newest = self.store.snapshot()?;
        let mut recent = lock(&self.recent);
        if newest.version() <= self.current().version() {
            return Ok(self.current());
        }
        self.current.store(Arc::clone(&newest));
        recent.push_back(Arc::clone(&newest));
        while recent.len() > RECENT_MAX {
            recent.pop_front();
        }
        Ok(newest)
    }

    /// The device that vectors and graphs are made on, opened.
    ///
    /// # Errors
    /// When the device is not there.
    pub fn device(&self) -> Result<Opened> {
        self.model.device()
    }

    /// Opens the model now, fetching it where it is not on this machine.
    ///
    /// # Errors
    /// As [`Model::open_or_pull`].
    pub fn warm(&self) -> Result<()> {
        self.mind(self.current().embedder()).map(drop)
    }

    /// The vector of a question for `snapshot`; empty where the store has no vectors.
    ///
    /// # Errors
    /// What the model says, or [`Error::Busy`].
    pub fn question_vector(&self, snapshot: &Snapshot, question: &str) -> Result<Vec<f32>> {
        let Some(found) = snapshot.embedder() else {
            return Ok(Vec::new());
        };
        self.mind(Some(found))?.questions.vector(question)
    }

    /// Counts tokens as a context's budget does: wordpieces, or a quarter of the bytes where that is more.
    ///
    /// # Errors
    /// What the model says.
    pub fn token_counter(&self, snapshot: &Snapshot) -> Result<Counter> {
        let Some(found) = snapshot.embedder() else {
            return Ok(Box::new(quarter_bytes));
        };
        let embedder = self.mind(Some(found))?.embedder;
        Ok(Box::new(move |text| embedder.count(text).n_tokens.max(quarter_bytes(text))))
    }

    /// The model for writing, and the device that cuts graphs.
    ///
    /// # Errors
    /// What the model or the device says.
    pub fn writing_tools(&self) -> Result<(Arc<dyn Embedder>, Arc<dyn Backend>)> {
        let snapshot = self.refresh()?;
        let embedder = self.mind(snapshot.embedder())?.embedder;
        Ok((embedder, self.model.device()?.backend))
    }

    fn mind(&self, found: Option<&EmbedderIdentity>) -> Result<Mind> {
        let mut mind = lock(&self.mind);
        if let Some(mind) = mind.as_ref() {
            // Another process may have given an empty store its first vectors meanwhile.
            check(mind.embedder.as_ref(), found)?;
            return Ok(mind.clone());
        }
        let embedder: Arc<dyn Embedder> = Arc::from(self.model.open_or_pull(found)?);
        let questions = Questions::start(Arc::clone(&embedder))?;
        Ok(mind.insert(Mind { embedder, questions }).clone())
    }
}

fn quarter_bytes(text: &str) -> u32 {
    u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each value is whole after every statement, so a panic elsewhere does not spoil it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
