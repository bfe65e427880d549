//! How an import is done: plain data, and the components that do it as arguments beside it.

use std::path::PathBuf;

use index::model::{Scope, Timestamp};
use kernels::{Backend, Embedder};
use read::{Mapping, Secrets};

use crate::error::{Error, Result};

/// The reader that a mapping is for.
pub(crate) const MAPPED: &str = "mapped";

/// The components an import works with. Arguments, never fields of the settings.
#[derive(Clone, Copy)]
pub struct Tools<'a> {
    /// Turns sentences into vectors.
    pub embedder: &'a dyn Embedder,
    /// Compares vectors and finds communities.
    pub backend: &'a dyn Backend,
    /// The clock; only `main` reads a real one.
    pub now: &'a (dyn Fn() -> Timestamp + Sync),
}

/// How sentences become chunks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkSettings {
    /// A chunk's budget in wordpieces; a single longer sentence stands alone.
    pub tokens_max: u32,
    /// A community smaller than this joins its neighbour where the budget allows.
    pub tokens_min: u32,
    /// Texts with fewer sentences are cut by order, not by community.
    pub sentences_min: u32,
    /// Resolution of the communities: higher makes smaller ones.
    pub resolution: f32,
    /// Seed of the communities: equal seeds give equal chunks.
    pub seed: u64,
}

impl ChunkSettings {
    /// 256 wordpieces a chunk, communities from 8 sentences on.
    pub const STANDARD: Self = Self { tokens_max: 256, tokens_min: 16, sentences_min: 8, resolution: 1.0, seed: 42 };
}

/// What is imported, where to, and within which bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportSettings {
    /// The one exact scope that is written to.
    pub scope: Scope,
    /// The collection's label; `None` takes the import argument's canonical path.
    pub collection: Option<String>,
    /// Forces a reader by name; `None` lets each file choose.
    pub format: Option<String>,
    /// Reads JSON as this says; it is then the only reader (docs/mapping.md).
    pub mapping: Option<Mapping>,
    /// Reads and compares, writes nothing.
    pub dry_run: bool,
    /// This import is the whole truth of its collection: what is missing in it goes.
    ///
    /// It is taken as one: the union of its files replaces what is stored of a conversation (the newest
    /// export decides), and importing the same again changes nothing. What it could not see is no
    /// reason to remove: a file with skipped lines only adds to its conversations; while an argument
    /// or a file cannot be read, no conversation with a key of its own loses turns; an argument that
    /// does not exist or holds no file removes nothing of its collection. Reads the archives twice.
    pub mirror: bool,
    /// Takes deleted sources in again.
    pub undelete: bool,
    /// What is done with secrets in what is read, before anything else sees it.
    pub secrets: Secrets,
    /// Who "I" is: names, ids or mail addresses by which the archives know the person.
    pub me: Vec<String>,
    /// The documents are the person's own: what they say is said by them.
    pub mine: bool,
    /// A file to which a line of JSON is added for every source and everything left out.
    pub ledger: Option<PathBuf>,
    /// Who imports, for the ledger.
    pub actor: String,
    /// How sentences become chunks.
    pub chunk: ChunkSettings,
    /// A segment is written once this many sentences are gathered.
    pub segment_sentences_max: u32,
    /// A source with more bytes is skipped.
    pub source_bytes_max: u64,
    /// A file, or an entry of an archive, with more bytes is skipped; where that shows only while it is read, what
    /// came before goes in. `None` sets no bound: files are streamed.
    pub file_bytes_max: Option<u64>,
}

impl ImportSettings {
    /// The settings of a person who chose only where to.
    pub fn standard(scope: Scope) -> Self {
        Self {
            scope,
            collection: None,
            format: None,
            mapping: None,
            dry_run: false,
            mirror: false,
            undelete: false,
            secrets: Secrets::Allow,
            me: Vec::new(),
            mine: false,
            ledger: None,
            actor: "local".to_owned(),
            chunk: ChunkSettings::STANDARD,
            segment_sentences_max: 20_000,
            source_bytes_max: 64 << 20,
            file_bytes_max: None,
        }
    }

    /// Checks what a type cannot.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some(format) = &self.format
            && read::reader(format).is_none()
        {
            return Err(Error::UnknownFormat { given: format.clone(), known: read::names().join(", ") });
        }
        if self.mapping.is_some() && self.format.as_ref().is_some_and(|format| format != MAPPED) {
            let reason = "a mapping is for JSON, another format cannot be forced beside it".to_owned();
            return Err(Error::Invalid { what: "mapping", reason });
        }
        if self.mapping.is_none() && self.format.as_deref() == Some(MAPPED) {
            return Err(Error::Invalid { what: "format", reason: format!("{MAPPED} needs a mapping") });
        }
        if self.chunk.tokens_max == 0 || self.segment_sentences_max == 0 || self.source_bytes_max == 0 {
            return Err(Error::Invalid {
                what: "import settings",
                reason: "a bound of 0 leaves nothing to import".to_owned(),
            });
        }
        Ok(())
    }
}
