//! What an archive holds, and why something in it is left out.

use std::collections::HashMap;
use std::sync::Arc;

use super::codec::{Codec, Pack, pack_of};
use super::{ENTRIES_MAX, Part, Place, inner_name, is_hidden, tarred, zipped};
use crate::decode::Trouble;
use crate::files::unreadable;

/// What is advised of a file that becomes far more than it is.
pub(crate) const DENSE_HINT: &str = "if it is what you want, unpack it and import the folder";
/// Names that lead out of an archive and are quoted.
const QUOTED_MAX: usize = 3;
/// A longer name is no file's.
const NAME_BYTES_MAX: usize = 4096;

/// The entries of an archive, in its order, and the troubles by entry (empty for the archive itself).
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// Files to read; their names are paths within the archive.
    pub parts: Vec<Part>,
    /// What was left out.
    pub troubles: Vec<(String, Trouble)>,
    /// Entries that systems hide or add by themselves.
    pub n_hidden: u64,
    /// Entries of one name were met.
    pub has_twins: bool,
    outside: Vec<String>,
    n_outside: usize,
}

impl Listed {
    pub(super) fn trouble(&mut self, name: &str, trouble: Trouble) {
        self.troubles.push((name.to_owned(), trouble));
    }

    /// The path below the archive of an entry called `given`; `None`, having noted why, where it is not read.
    pub(super) fn admit(&mut self, given: &str) -> Option<String> {
        let Some(name) = inner_name(given) else {
            self.n_outside += 1;
            if self.outside.len() < QUOTED_MAX {
                self.outside.push(format!("{given:?}"));
            }
            return None;
        };
        if name.len() > NAME_BYTES_MAX {
            let reason = format!("an entry whose name has {} bytes", name.len());
            self.trouble("", Trouble::new("", reason, "unpack it by hand to see"));
            return None;
        }
        if is_hidden(&name) {
            self.n_hidden += 1;
            return None;
        }
        Some(name)
    }

    /// Notes that only the first of `n_entries` were listed.
    pub(super) fn crowded(&mut self, n_entries: usize) {
        if n_entries > ENTRIES_MAX {
            let reason = format!("more than {ENTRIES_MAX} entries: the first so many are read");
            self.trouble("", Trouble::new("", reason, "unpack it and import the folder"));
        }
    }

    /// Of entries of one name the last is kept.
    fn without_twins(&mut self) {
        let last: HashMap<&str, usize> =
            self.parts.iter().enumerate().map(|(idx, part)| (part.name.as_str(), idx)).collect();
        if last.len() < self.parts.len() {
            self.has_twins = true;
            let mut is_last = vec![false; self.parts.len()];
            last.into_values().for_each(|idx| is_last[idx] = true);
            let mut is_last = is_last.into_iter();
            self.parts.retain(|_| is_last.next().unwrap_or(true));
        }
        if self.has_twins {
            let reason = "two entries of one name: the later one is read";
            self.trouble("", Trouble::new("", reason, "unpack it and pack it again to have both"));
        }
    }

    fn finish(mut self) -> Self {
        self.without_twins();
        if self.n_outside > 0 {
            let more = if self.n_outside > self.outside.len() { ", …" } else { "" };
            let names = self.outside.join(", ");
            let reason = format!("{} entries whose names lead out of the archive: {names}{more}", self.n_outside);
            self.trouble("", Trouble::new("", reason, "leave them out; the others are read"));
        }
        self
    }
}

/// The entries of the archive `part` that begins with `head`; `None` where it is no archive.
///
/// A packed tar archive is one archive. A packed single file has one entry, named without its ending.
pub(crate) fn list(part: &Part, head: &[u8]) -> Option<Listed> {
    let listed = match pack_of(head)? {
        Pack::Zip => backed(part, zipped::entries),
        Pack::Tar => backed(part, |file| tarred::entries(&file)),
        Pack::Single(codec) => single(part, codec),
    };
    Some(listed.finish())
}

fn single(part: &Part, codec: Codec) -> Listed {
    let inner = Part {
        name: plain_name(&part.name),
        n_bytes: None,
        place: Place::Packed { part: Arc::new(part.clone()), codec },
    };
    match inner.head(512) {
        Ok(head) if pack_of(&head) == Some(Pack::Tar) => backed(&inner, |file| tarred::entries(&file)),
        Ok(_) => Listed { parts: vec![inner], ..Listed::default() },
        Err(error) => {
            let mut listed = Listed::default();
            listed.trouble("", unreadable(&error));
            listed
        }
    }
}

fn backed(part: &Part, entries: impl FnOnce(Arc<super::Backing>) -> Listed) -> Listed {
    match part.backing() {
        Ok(file) => entries(file),
        Err(error) => {
            let mut listed = Listed::default();
            listed.trouble("", unreadable(&error));
            listed
        }
    }
}

/// `conversations.json` of `a/conversations.json.gz`.
fn plain_name(name: &str) -> String {
    let name = name.rsplit(['/', '!']).next().unwrap_or(name);
    let endings = [".gz", ".zst", ".gzip", ".zstd"];
    let plain = endings.iter().find_map(|ending| name.strip_suffix(ending));
    plain.filter(|plain| !plain.is_empty()).unwrap_or(name).to_owned()
}
