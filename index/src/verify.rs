//! Tries every invariant of docs/format.md on a real store, and names what does not hold.
//!
//! Reads every byte. Never panics on damaged ones: digests are checked before any loader sees them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::commit::broken_rule;
use crate::error::{Error, Result};
use crate::files::{Files, Folder, TEMP_PREFIX};
use crate::manifest::{self, Manifest, SegmentEntry};
use crate::merge;
use crate::model::{ChunkId, SourceEntry, SourceId, TextDigest};
use crate::segment::{self, Field, Place, Segment, Terms};

/// How far a vector's squared length may be from 1.
const UNIT_TOLERANCE: f32 = 1e-3;
/// Problems kept; one more says that there were others.
const PROBLEMS_MAX: usize = 1_000;

/// Something in a store that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub path: PathBuf,
    /// What does not hold.
    pub reason: String,
}

/// What was checked and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The newest version; 0 for an empty store.
    pub version: u64,
    /// Files whose digests were checked.
    pub n_files: u64,
    /// Their bytes.
    pub n_bytes: u64,
    /// What does not hold, at most 1,000 of it. None: the store is whole.
    pub problems: Vec<Problem>,
    /// Files and folders that no version refers to, left by writers that ended early. They do no harm.
    pub orphans: Vec<PathBuf>,
}

/// Checks a whole store: the chain of manifests, every digest, every invariant of the rows.
///
/// # Errors
/// [`Error::NoStore`], and [`Error::Io`] where folders cannot be listed. What is damaged is in the report.
pub fn verify(store_path: &Path) -> Result<Report> {
    if !store_path.join(manifest::FOLDER).is_dir() {
        return Err(Error::NoStore { path: store_path.to_owned() });
    }
    let files: Arc<dyn Files> = Arc::new(Folder::new(store_path));
    verify_place(&Place { files, root: store_path.to_owned() })
}

/// The same, for a store on any place for files.
pub(crate) fn verify_place(place: &Place) -> Result<Report> {
    let mut check = Check { place, report: Report::default(), seen: HashMap::new() };
    let newest = check.chain()?;
    let entries = newest.as_ref().map_or(&[][..], |manifest| &manifest.segments);
    for entry in entries {
        check.segment(entry);
    }
    check.orphans(entries)?;
    Ok(check.report)
}

struct Check<'a> {
    place: &'a Place,
    report: Report,
    /// In which segment each source version was met.
    seen: HashMap<(SourceId, u32), String>,
}

impl Check<'_> {
    fn problem(&mut self, path: PathBuf, reason: String) {
        let problems = &mut self.report.problems;
        if problems.len() < PROBLEMS_MAX {
            problems.push(Problem { path, reason });
        }
    }

    fn error(&mut self, path: &str, error: &Error) {
        let full = self.place.path(path);
        match error {
            Error::Corrupt { path, reason } => self.problem(self.place.in_full(path), reason.clone()),
            Error::Io { path, source, .. } => self.problem(self.place.in_full(path), source.to_string()),
            other => self.problem(full, other.to_string()),
        }
    }

    /// Checks that the manifests are 1, 2, 3, … each naming the digest of the one before; returns the last.
    fn chain(&mut self) -> Result<Option<Manifest>> {
        let mut parent: Option<String> = None;
        let mut newest = None;
        for number in manifest::numbers(&*self.place.files)? {
            let path = manifest::path(number);
            if number != self.report.version + 1 {
                self.problem(self.place.path(&path), format!("manifest {} is gone", number - 1));
                parent = None;
            }
            self.report.version = number;
            newest = None;
            let read = self.place.files.read(&path).and_then(|bytes| {
                self.report.n_files += 1;
                self.report.n_bytes += bytes.len() as u64;
                Ok((Manifest::decode(&bytes, number)?, Manifest::digest_of(&bytes)))
            });
            match read {
                Ok((manifest, digest)) => {
                    let is_first = number == 1;
                    if (is_first || parent.is_some()) && manifest.parent != parent {
                        let reason = "it does not name the digest of the manifest before it".to_owned();
                        self.problem(self.place.path(&path), reason);
                    }
                    parent = Some(digest);
                    newest = Some(manifest);
                }
                Err(error) => {
                    self.error(&path, &error);
                    parent = None;
                }
            }
        }
        Ok(newest)
    }

    fn segment(&mut self, entry: &SegmentEntry) {
        self.report.n_files += entry.files.len() as u64;
        self.report.n_bytes += entry.files.values().map(|file| file.bytes).sum::<u64>();
        // Each damaged file is named, not only the first.
        let n_before = self.report.problems.len();
        for (name, digest) in &entry.files {
            let path = format!("{}/{}/{name}", segment::FOLDER, entry.name);
            if let Err(error) = self.place.read_checked(&path, digest) {
                self.error(&path, &error);
            }
        }
        if self.report.problems.len() > n_before {
            return;
        }
        let folder = format!("{}/{}", segment::FOLDER, entry.name);
        match Segment::open(self.place, entry).and_then(|opened| opened.load().map(|()| opened)) {
            Ok(opened) => self.rows(&opened, &folder),
            Err(error) => self.error(&folder, &error),
        }
    }

    fn rows(&mut self, opened: &Segment, folder: &str) {
        self.versions(opened, folder);
        let order = |i: usize| {
            let source = &opened.sources()[i];
            (source.scope.as_str(), source.key.as_str(), source.id, source.version)
        };
        if (1..opened.sources().len()).any(|i| order(i - 1) >= order(i)) {
            self.problem(self.place.path(folder), "its sources are not in order".to_owned());
        }
        for row in (0..).take(opened.sources().len()) {
            match opened.entry(row) {
                Ok(entry) => {
                    for reason in entry_problems(opened, &entry, row) {
                        let key = &entry.source.key;
                        self.problem(self.place.path(folder), format!("source {key}: {reason}"));
                    }
                }
                Err(error) => self.error(folder, &error),
            }
        }
    }

    /// Checks that no version of a source stands in two places.
    fn versions(&mut self, opened: &Segment, folder: &str) {
        for source in opened.sources() {
            let key = (source.id, source.version);
            if let Some(other) = self.seen.insert(key, opened.name().to_owned()) {
                let (version, key) = (source.version, &source.key);
                let reason = format!("version {version} of {key} is in {other} too");
                self.problem(self.place.path(folder), reason);
            }
        }
    }

    fn orphans(&mut self, entries: &[SegmentEntry]) -> Result<()> {
        for segment in merge::bereft(self.place)? {
            let reason = format!("it is empty, yet segment {segment} was published");
            self.problem(self.place.path(manifest::FOLDER), reason);
        }
        let known: BTreeSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        for name in self.place.files.list(segment::FOLDER)? {
            let name = name.trim_end_matches('/');
            if !known.contains(name) {
                self.report.orphans.push(self.place.path(&format!("{}/{name}", segment::FOLDER)));
            }
        }
        for name in self.place.files.list(manifest::FOLDER)? {
            if name.starts_with(TEMP_PREFIX) {
                self.report.orphans.push(self.place.path(&format!("{}/{name}", manifest::FOLDER)));
            }
        }
        Ok(())
    }
}

/// What does not hold in one source version.
fn entry_problems(segment: &Segment, entry: &SourceEntry, row: u32) -> Vec<String> {
    let source = &entry.source;
    let mut problems: Vec<String> = broken_rule(entry, segment.dim()).into_iter().collect();
    if source.scope.tenant() != segment.tenant() {
        problems.push("it belongs to another tenant than its segment".to_owned());
    }
    if SourceId::of(source.scope.as_str(), &source.reader, &source.key) != source.id {
        problems.push("its id is not the hash of its scope, reader and key".to_owned());
    }
    for (i, sentence) in entry.sentences.iter().enumerate() {
        if sentence.span.slice(&entry.text).map(TextDigest::of) != Some(sentence.digest) {
            problems.push(format!("the digest of sentence {i} is not that of its text"));
        }
    }
    for (i, vector) in entry.vectors.chunks_exact(segment.dim()).enumerate() {
        let length: f32 = vector.iter().map(|number| number * number).sum();
        // A vector of zeros stands for a text without any token the model knows.
        let unit = (length - 1.0).abs() <= UNIT_TOLERANCE || length == 0.0;
        if !unit {
            problems.push(format!("vector {i} has the squared length {length}"));
        }
    }
    problems.extend(chunk_id_problems(entry));
    problems.extend(term_problems(segment, entry, row));
    problems
}

/// Ids of chunks of sentences are hashes of what they hold; cards have no sentences to hash.
fn chunk_id_problems(entry: &SourceEntry) -> Vec<String> {
    let mut problems = Vec::new();
    for (i, chunk) in entry.chunks.iter().enumerate().filter(|(_, chunk)| chunk.card.is_none()) {
        let digests: Option<Vec<TextDigest>> =
            chunk.sentences.iter().map(|&row| Some(entry.sentences.get(row as usize)?.digest)).collect();
        let n_alike = u32::try_from(entry.chunks.len()).unwrap_or(u32::MAX);
        let matches = digests.is_some_and(|digests| {
            (0..n_alike).any(|nth| ChunkId::of(entry.source.id, chunk.kind.as_str(), &digests, nth) == chunk.id)
        });
        if !matches {
            problems.push(format!("the id of chunk {i} is not the hash of its sentences"));
        }
    }
    problems
}

/// The stored numbers of terms are those of the text.
fn term_problems(segment: &Segment, entry: &SourceEntry, row: u32) -> Vec<String> {
    let terms = Terms::of_source(&entry.text, &entry.turns, &entry.sentences, &entry.chunks);
    let rows = |field, first: u32, terms: &[Vec<String>], noun: &str| {
        let differs = |(at, terms): &(u32, &Vec<String>)| segment.n_terms(field, *at) as usize != terms.len();
        let bad = (first..).zip(terms).find(differs)?;
        Some(format!("{noun} row {} does not have {} terms", bad.0, bad.1.len()))
    };
    let turns = rows(Field::Turn, segment.turns_of(row).start, &terms.turns, "turn");
    let chunks = rows(Field::Chunk, segment.chunks_of(row).start, &terms.chunks, "chunk");
    turns.into_iter().chain(chunks).collect()
}
