//! One version of a store, held open: immutable, shared, and true from its first byte to its last.
//!
//! The highest version of a source in any segment is the current one, in whatever order the segments
//! stand, so segments can be merged in any order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::manifest::{EmbedderIdentity, Manifest, Published, SegmentEntry};
use crate::model::{ChunkId, Scope, ScopeSet, Source, SourceEntry, SourceId, SourceState, TextDigest, Turn};
use crate::segment::{Place, Segment};

/// A row within one snapshot: here and now, never given to the outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// Which of the snapshot's segments.
    pub segment: u32,
    /// Which row of the table at hand.
    pub row: u32,
}

/// One version of a store.
pub struct Snapshot {
    manifest: Option<Published>,
    segments: Vec<Arc<Segment>>,
    /// For each segment, for each source row: whether it is the newest version, and live.
    current: Vec<Arc<Vec<bool>>>,
}

impl Snapshot {
    /// Opens a version, with the segments that `opened` already holds and the others read now.
    ///
    /// # Errors
    /// [`Error::Corrupt`]; [`Error::Io`] with `NotFound` where a newer version has removed a segment.
    pub(crate) fn open(
        place: &Place,
        manifest: Option<Published>,
        opened: &HashMap<String, Arc<Segment>>,
        before: Option<&Snapshot>,
    ) -> Result<Self> {
        let entries = manifest.as_ref().map_or(&[][..], |published| &published.manifest.segments);
        let open = |entry: &SegmentEntry| match opened.get(&entry.name) {
            Some(segment) if segment.listed() == entry => Ok(Arc::clone(segment)),
            _ => Segment::open(place, entry).map(Arc::new),
        };
        let segments: Vec<Arc<Segment>> = entries.par_iter().map(open).collect::<Result<_>>()?;
        let current = before.and_then(|before| extend_current(before, &segments));
        let current = current.unwrap_or_else(|| current_rows(&segments));
        Ok(Self { manifest, segments, current })
    }

    /// The version before the first commit.
    pub(crate) fn empty() -> Self {
        Self { manifest: None, segments: Vec::new(), current: Vec::new() }
    }

    /// Its number; 0 before the first commit.
    pub fn version(&self) -> u64 {
        self.manifest().map_or(0, |manifest| manifest.number)
    }

    /// What made its vectors; `None` before the first commit.
    pub fn embedder(&self) -> Option<&EmbedderIdentity> {
        self.manifest()?.embedder.as_ref()
    }

    /// Its segments, the oldest first.
    pub fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// The manifest that it is; `None` before the first commit.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref().map(|published| &published.manifest)
    }

    /// The manifest with its digest.
    pub(crate) fn published(&self) -> Option<&Published> {
        self.manifest.as_ref()
    }

    /// Whether a source row is its source's newest version and not deleted.
    pub fn is_current(&self, segment: u32, source_row: u32) -> bool {
        let rows = self.current.get(segment as usize);
        rows.and_then(|rows| rows.get(source_row as usize)).copied().unwrap_or(false)
    }

    /// The newest version of a source, whatever its state: for those who write.
    pub fn newest(&self, id: &SourceId) -> Option<Address> {
        let found = (0..).zip(&self.segments).filter_map(|(segment, opened)| {
            let row = opened.newest_of(id)?;
            Some((opened.sources()[row as usize].version, Address { segment, row }))
        });
        found.max_by_key(|(version, _)| *version).map(|(_, address)| address)
    }

    /// The source row at an address, which must be one of this snapshot.
    pub fn source_at(&self, address: Address) -> &Source {
        &self.segments[address.segment as usize].sources()[address.row as usize]
    }

    /// The current version of a source, if it is not deleted and may be read.
    pub fn source(&self, scopes: &ScopeSet, id: &SourceId) -> Option<Address> {
        let address = self.newest(id)?;
        let source = self.source_at(address);
        (source.state == SourceState::Live && scopes.allows(&source.scope)).then_some(address)
    }

    /// All current sources that may be read, in the order (scope, key, id). Work is O(n log n).
    pub fn sources(&self, scopes: &ScopeSet) -> Vec<Address> {
        self.current_where(|scope| scopes.allows(scope), scopes.tenant())
    }

    /// All current sources of all tenants, in the order (scope, key, id): for exports and checks.
    pub(crate) fn all_sources(&self) -> Vec<Address> {
        let mut found = self.collect_current(|_| true, |_| true);
        self.sort(&mut found);
        found
    }

    fn current_where(&self, allows: impl Fn(&Scope) -> bool, tenant: &str) -> Vec<Address> {
        let mut found = self.collect_current(|segment| segment.tenant() == tenant, |source| allows(&source.scope));
        self.sort(&mut found);
        found
    }

    fn collect_current(
        &self,
        segment_allowed: impl Fn(&Segment) -> bool,
        source_allowed: impl Fn(&Source) -> bool,
    ) -> Vec<Address> {
        let mut found = Vec::new();
        for (segment, opened) in (0..).zip(&self.segments) {
            if !segment_allowed(opened) {
                continue;
            }
            for (row, source) in (0..).zip(opened.sources()) {
                if self.is_current(segment, row) && source_allowed(source) {
                    found.push(Address { segment, row });
                }
            }
        }
        found
    }

    fn sort(&self, addresses: &mut [Address]) {
        addresses.sort_by(|&a, &b| {
            let (a, b) = (self.source_at(a), self.source_at(b));
            (&a.scope, &a.key, a.id).cmp(&(&b.scope, &b.key, b.id))
        });
    }

    /// A chunk of a current source that may be read; the address counts chunk rows.
    pub fn chunk(&self, scopes: &ScopeSet, id: &ChunkId) -> Option<Address> {
        for (segment, opened) in (0..).zip(&self.segments) {
            if opened.tenant() != scopes.tenant() {
                continue;
            }
            for &row in opened.chunks_with(id) {
                let source_row = opened.source_of_chunk(row);
                let scope = &opened.sources()[source_row as usize].scope;
                if self.is_current(segment, source_row) && scopes.allows(scope) {
                    return Some(Address { segment, row });
                }
            }
        }
        None
    }

    /// A whole source version read back: for merges, unions and exports.
    ///
    /// # Errors
    /// [`Error::Corrupt`]; [`Error::NotFound`] for an address of another snapshot.
    pub fn entry(&self, address: Address) -> Result<SourceEntry> {
        self.segment_of(address)?.entry(address.row)
    }

    /// What a source version says: its retained text and its turns, without what was derived from them.
    ///
    /// # Errors
    /// As [`Snapshot::entry`].
    pub fn said(&self, address: Address) -> Result<(Arc<str>, &[Turn])> {
        let segment = self.segment_of(address)?;
        let rows = segment.turns_of(address.row);
        Ok((segment.text(address.row)?, &segment.turns()[rows.start as usize..rows.end as usize]))
    }

    /// The segment that holds the source row at an address.
    fn segment_of(&self, address: Address) -> Result<&Segment> {
        let segment = self.segments.get(address.segment as usize);
        let found = segment.filter(|segment| (address.row as usize) < segment.sources().len());
        found.map(Arc::as_ref).ok_or_else(|| Error::NotFound {
            noun: "source row",
            given: format!("{}:{}", address.segment, address.row),
        })
    }

    /// The vectors of those of `digests` that are sentences somewhere in the store, so that they need not be
    /// embedded again. Decodes each segment that has one, and keeps none.
    ///
    /// # Errors
    /// As [`Segment::vectors`].
    pub fn vectors_of(&self, mut digests: HashSet<TextDigest>) -> Result<HashMap<TextDigest, Vec<f32>>> {
        let mut found = HashMap::new();
        for segment in &self.segments {
            let rows = segment.rows_with(&digests);
            if rows.is_empty() {
                continue;
            }
            let dim = segment.dim();
            segment.lend_vectors(|vectors| {
                for (digest, row) in rows {
                    let start = row as usize * dim;
                    if let Some(vector) = vectors.get(start..start + dim) {
                        digests.remove(&digest);
                        found.insert(digest, vector.to_vec());
                    }
                }
            })?;
        }
        Ok(found)
    }
}

/// Which source rows are current, from all segments. Work is linear in all source versions.
fn current_rows(segments: &[Arc<Segment>]) -> Vec<Arc<Vec<bool>>> {
    let mut newest: HashMap<SourceId, u32> = HashMap::new();
    for source in segments.iter().flat_map(|segment| segment.sources()) {
        let version = newest.entry(source.id).or_insert(source.version);
        *version = source.version.max(*version);
    }
    let is_current =
        |source: &Source| source.state == SourceState::Live && newest.get(&source.id) == Some(&source.version);
    let rows = |segment: &Arc<Segment>| Arc::new(segment.sources().iter().map(is_current).collect());
    segments.iter().map(rows).collect()
}

/// The same, from the version before: where segments were only added, only their sources are looked at.
fn extend_current(before: &Snapshot, segments: &[Arc<Segment>]) -> Option<Vec<Arc<Vec<bool>>>> {
    let kept = before.segments.len();
    let same = |(a, b): (&Arc<Segment>, &Arc<Segment>)| Arc::ptr_eq(a, b);
    if segments.len() < kept || !before.segments.iter().zip(segments).all(same) {
        return None;
    }
    let mut current = before.current.clone();
    current.extend(segments[kept..].iter().map(|segment| Arc::new(vec![false; segment.sources().len()])));
    for added in &segments[kept..] {
        for source in added.sources() {
            let rows = segments.iter().map(|segment| segment.newest_of(&source.id));
            let rows: Vec<Option<u32>> = rows.collect();
            let version = |(segment, row): (usize, &Option<u32>)| {
                row.map(|row| segments[segment].sources()[row as usize].version)
            };
            let newest = rows.iter().enumerate().filter_map(version).max();
            for (segment, row) in rows.iter().enumerate() {
                let Some(row) = row.map(|row| row as usize) else {
                    continue;
                };
                let source = &segments[segment].sources()[row];
                let now = source.state == SourceState::Live && Some(source.version) == newest;
                if current[segment][row] != now {
                    Arc::make_mut(&mut current[segment])[row] = now;
                }
            }
        }
    }
    Some(current)
}
