//! From the files of an import to what a reader reads: opens archives, joins what belongs together.
//!
//! A folder may be one archive of many files (a Slack export); its reader claims it by the names in it
//! and reads it as one. Every other file is opened by itself; an archive's entries are looked at in the
//! same way, archive by archive, to a fixed depth. Decision: docs/decisions/0009-archives.md.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use crate::archive::{self, Listed, Part, Room};
use crate::decode::{self, Trouble};
use crate::files::{Found, unreadable};
use crate::formats::{self, READERS};
use crate::seam::Result;
use crate::seam::{Head, Reader};

/// Troubles of one kind in one archive are named one by one up to so many.
const NAMED_MAX: usize = 20;

/// One thing to read: a file, or a folder that its reader claimed.
pub struct Item {
    /// Where it is, for the report: `export.zip!/conversations.json` for an entry of an archive.
    pub shown: String,
    /// The same within the import.
    pub relative: String,
    /// The key of a source that has no id of its own.
    pub key: String,
    /// The collection's label.
    pub label: String,
    /// Its files: one, or all of a claimed folder, named within it.
    pub parts: Vec<Part>,
    /// Who reads it.
    pub reader: &'static dyn Reader,
}

/// What is met in an import.
pub enum Met {
    /// Something to read.
    Item(Item),
    /// Something that is left out.
    Trouble {
        /// Where it is, for the report.
        shown: String,
        /// The same within the import.
        relative: String,
        /// It could not be looked at, or it is an archive: what it holds is not known.
        is_unknown: bool,
        /// Why.
        trouble: Trouble,
    },
    /// An attachment in an archive: nothing to read and nothing wrong.
    Aside,
    /// A file on disk and all that is in it was met.
    Done(PathBuf, u64),
}

/// Takes what is met; an error from it ends the import.
pub type Take<'a> = dyn FnMut(Met) -> Result<()> + 'a;

/// A file among those it is listed with, by its path within the argument or archive (`part.name`).
#[derive(Clone)]
struct Named {
    part: Part,
    whence: Whence,
}

/// Where a file is: an archive may have a million, which share what stands before their names.
#[derive(Clone)]
enum Whence {
    /// On disk.
    Disk(Box<Names>),
    /// In this archive.
    Archive(Rc<Names>),
}

/// What a file is called.
#[derive(Clone)]
struct Names {
    shown: String,
    relative: String,
    key: String,
}

impl Named {
    fn names(&self) -> Names {
        match &self.whence {
            Whence::Disk(names) => (**names).clone(),
            Whence::Archive(archive) => within(archive, &self.part.name),
        }
    }
}

/// The names of an entry of an archive.
fn within(archive: &Names, name: &str) -> Names {
    let below = |outer: &str| format!("{outer}!/{name}");
    Names { shown: below(&archive.shown), relative: below(&archive.relative), key: below(&archive.key) }
}

/// Meets everything in `files`, in their order; `format` forces a reader.
///
/// # Errors
/// Only what `take` returns.
pub fn meet(files: &[Found], format: Option<&'static dyn Reader>, take: &mut Take<'_>) -> Result<()> {
    let mut rest = files;
    while let Some(first) = rest.first() {
        let n = rest.iter().take_while(|file| file.argument == first.argument).count();
        let (group, others) = rest.split_at(n);
        rest = others;
        let named = group.iter().map(|file| Named {
            part: Part::file(file.relative.clone(), &file.path, file.n_bytes),
            whence: Whence::Disk(Box::new(Names {
                shown: file.path.display().to_string(),
                relative: file.relative.clone(),
                key: file.key.clone(),
            })),
        });
        let mut walk = Walk { format, label: &first.label, room: Room::of(0), n_dense: 0, take };
        walk.group(named.collect(), 0)?;
    }
    Ok(())
}

struct Walk<'a, 't> {
    format: Option<&'static dyn Reader>,
    label: &'a str,
    /// What the entries of the file on disk that is being met may still become.
    room: Room,
    /// Entries that have none.
    n_dense: u64,
    take: &'a mut Take<'t>,
}

impl Walk<'_, '_> {
    /// Meets files that are listed together: claimed folders where their first file stands.
    fn group(&mut self, files: Vec<Named>, depth: u32) -> Result<()> {
        let claims = self.claims(&files);
        if claims.is_empty() {
            return files.iter().try_for_each(|file| self.file(file, depth));
        }
        let claim_of = |file: &Named| {
            claims
                .iter()
                .position(|(folder, reader)| below(folder, &file.part.name).is_some_and(|name| reader.takes(name)))
        };
        let mut claimed: BTreeMap<usize, Vec<Named>> = BTreeMap::new();
        for file in &files {
            if let Some(claim) = claim_of(file) {
                claimed.entry(claim).or_default().push(file.clone());
            }
        }
        for file in &files {
            match claim_of(file) {
                None => self.file(file, depth)?,
                Some(claim) => {
                    let Some(members) = claimed.remove(&claim) else { continue };
                    let (folder, reader) = &claims[claim];
                    self.folder(folder, *reader, &members)?;
                }
            }
        }
        Ok(())
    }

    /// The folders that readers claim, inner ones first: a file goes to the nearest that takes it. Of one
    /// reader's claims an outer one holds the inner ones.
    fn claims(&self, files: &[Named]) -> Vec<(String, &'static dyn Reader)> {
        let names: Vec<&str> = files.iter().map(|file| file.part.name.as_str()).collect();
        let mut claims: Vec<(String, &'static dyn Reader)> = Vec::new();
        for reader in READERS.iter().filter(|reader| self.format.is_none_or(|format| format.name() == reader.name())) {
            let mut folders = reader.claims(&names);
            folders.sort_by_key(String::len);
            let mut outer: Vec<String> = Vec::new();
            for folder in folders {
                if !outer.iter().any(|outer| *outer == folder || below(outer, &folder).is_some()) {
                    outer.push(folder);
                }
            }
            claims.extend(outer.into_iter().map(|folder| (folder, *reader)));
        }
        claims.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
        claims
    }

    /// Meets a claimed folder as one.
    fn folder(&mut self, folder: &str, reader: &'static dyn Reader, members: &[Named]) -> Result<()> {
        let Some(first) = members.first() else { return Ok(()) };
        let parts = members.iter().filter_map(|file| {
            let name = below(folder, &file.part.name)?.to_owned();
            Some(Part { name, ..file.part.clone() })
        });
        let n_cut = first.part.name.len() - folder.len();
        let names = first.names();
        (self.take)(Met::Item(Item {
            shown: cut(&names.shown, n_cut),
            relative: cut(&names.relative, n_cut),
            key: cut(&names.key, n_cut),
            label: self.label.to_owned(),
            parts: parts.collect(),
            reader,
        }))?;
        members.iter().try_for_each(|file| self.done(file))
    }

    fn file(&mut self, file: &Named, depth: u32) -> Result<()> {
        if depth == 0 {
            self.room = Room::of(file.part.n_bytes.unwrap_or(0));
        }
        self.look(file, depth)?;
        if depth == 0 && self.n_dense > 0 {
            let n_dense = std::mem::take(&mut self.n_dense);
            let reason = format!("{n_dense} entries: all together become more than 200 times what it is");
            self.trouble(file, true, Trouble::new("", reason, archive::DENSE_HINT))?;
        }
        self.done(file)
    }

    fn done(&mut self, file: &Named) -> Result<()> {
        match &file.part.place {
            archive::Place::File(path) => (self.take)(Met::Done(path.clone(), file.part.n_bytes.unwrap_or(0))),
            _ => Ok(()),
        }
    }

    /// Opens a file: an archive is gone through, anything else is for a reader.
    fn look(&mut self, file: &Named, depth: u32) -> Result<()> {
        let head = match file.part.head(decode::HEAD_BYTES) {
            Ok(head) => head,
            Err(error) => return self.trouble(file, true, unreadable(&error)),
        };
        if archive::pack_of(&head).is_some() {
            if depth == archive::DEPTH_MAX {
                return match self.document(&file.part, &head) {
                    Some(reader) => self.item(file, reader),
                    None => self.trouble(file, true, too_deep(1)),
                };
            }
            if let Some(listed) = archive::list(&file.part, &head) {
                return self.archive(file, listed, depth + 1);
            }
        }
        if depth > 0 && archive::media(&head) {
            return (self.take)(Met::Aside);
        }
        let reader = match self.format {
            Some(reader) => Ok(reader),
            None => formats::choose(&Head::new(&head, &file.part.name)),
        };
        let reader = match reader {
            Ok(reader) => reader,
            Err(trouble) => return self.trouble(file, false, trouble),
        };
        self.item(file, reader)
    }

    fn item(&mut self, file: &Named, reader: &'static dyn Reader) -> Result<()> {
        let Names { shown, relative, key } = file.names();
        (self.take)(Met::Item(Item {
            shown,
            relative,
            key,
            label: self.label.to_owned(),
            parts: vec![file.part.clone()],
            reader,
        }))
    }

    /// Goes through the archive `file`.
    fn archive(&mut self, file: &Named, listed: Listed, depth: u32) -> Result<()> {
        match formats::packed(&listed, self.format) {
            Some(Ok(reader)) => return self.item(file, reader),
            Some(Err(trouble)) => return self.trouble(file, false, trouble),
            None => {}
        }
        let names = Rc::new(file.names());
        let n_named = listed.troubles.len().min(NAMED_MAX);
        for (name, trouble) in &listed.troubles[..n_named] {
            let Names { shown, relative, .. } = if name.is_empty() { file.names() } else { within(&names, name) };
            (self.take)(Met::Trouble { shown, relative, is_unknown: true, trouble: trouble.clone() })?;
        }
        let n_more = listed.troubles.len() - n_named;
        if n_more > 0 {
            let trouble =
                Trouble::new("", format!("{n_more} more entries that cannot be read"), "unpack it by hand to see");
            self.trouble(file, true, trouble)?;
        }
        let mut parts: Vec<Named> = Vec::with_capacity(listed.parts.len());
        let mut n_deep = 0;
        for part in listed.parts {
            let is_deep = depth == archive::DEPTH_MAX
                && part
                    .head(512)
                    .is_ok_and(|head| archive::pack_of(&head).is_some() && self.document(&part, &head).is_none());
            if is_deep {
                n_deep += 1;
            } else if !self.room.take(part.n_bytes.unwrap_or(0)) {
                self.n_dense += 1;
            } else {
                parts.push(Named { part, whence: Whence::Archive(Rc::clone(&names)) });
            }
        }
        if n_deep > 0 {
            self.trouble(file, true, too_deep(n_deep))?;
        }
        // One fixed order, whatever the archive's.
        parts.sort_by(|a, b| a.part.name.cmp(&b.part.name));
        self.group(parts, depth)
    }

    /// Who reads `part`, which is packed and begins with `head`, where it is a document rather than an archive.
    fn document(&self, part: &Part, head: &[u8]) -> Option<&'static dyn Reader> {
        let is_zip = archive::pack_of(head) == Some(archive::Pack::Zip);
        let listed = is_zip.then(|| archive::list(part, head)).flatten()?;
        formats::packed(&listed, self.format)?.ok()
    }

    fn trouble(&mut self, file: &Named, is_unknown: bool, trouble: Trouble) -> Result<()> {
        let Names { shown, relative, .. } = file.names();
        (self.take)(Met::Trouble { shown, relative, is_unknown, trouble })
    }
}

fn too_deep(n: usize) -> Trouble {
    let reason = format!("{n} archives that lie in more than {} others", archive::DEPTH_MAX - 1);
    Trouble::new("", reason, "unpack the outer ones and import the folder")
}

/// `name` as seen from `folder`; `None` where it does not lie below it.
fn below<'n>(folder: &str, name: &'n str) -> Option<&'n str> {
    if folder.is_empty() { Some(name) } else { name.strip_prefix(folder)?.strip_prefix('/') }
}

/// A path without its last `n` bytes, which are a path below it.
fn cut(path: &str, n: usize) -> String {
    let kept = path.len().checked_sub(n).and_then(|n| path.get(..n)).unwrap_or(path);
    let kept = kept.strip_suffix('/').unwrap_or(kept);
    kept.strip_suffix('!').unwrap_or(kept).to_owned()
}
