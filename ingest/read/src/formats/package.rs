//! Documents that are ZIP archives: their entries by name, each within the bounds of archives.

use std::collections::HashMap;

use super::xml::{Node, Tag, Xml};
use crate::archive::{self, Part};
use crate::decode::{Trouble, too_large};
use crate::files::unreadable;
use crate::seam::Input;

/// An entry of XML is at most so many times as long as a source may be: it is streamed, and most of it is markup.
const XML_TIMES_MAX: u64 = 16;
/// A small entry, such as styles or metadata, has at most so many elements.
const NODES_MAX: usize = 2_000_000;

/// The entries of a document.
pub(super) struct Package {
    parts: HashMap<String, Part>,
    troubles: HashMap<String, Trouble>,
    source_bytes_max: u64,
}

impl Package {
    /// The entries of the document in `input`.
    pub fn open(input: &Input<'_>) -> Result<Self, Trouble> {
        let part = input.part().map_err(|error| unreadable(&error))?;
        let head = part.head(512).map_err(|error| unreadable(&error))?;
        let listed = archive::list(part, &head).ok_or_else(|| {
            Trouble::new("", "not a document that is packed as a ZIP archive", "leave out --format, or name another")
        })?;
        let mut troubles: HashMap<String, Trouble> = HashMap::new();
        for (name, trouble) in listed.troubles {
            troubles.entry(name.to_lowercase()).or_insert(trouble);
        }
        let parts: HashMap<String, Part> =
            listed.parts.into_iter().map(|part| (part.name.to_lowercase(), part)).collect();
        if parts.is_empty()
            && let Some(trouble) = troubles.remove("")
        {
            return Err(trouble);
        }
        Ok(Self { parts, troubles, source_bytes_max: input.source_bytes_max })
    }

    /// Whether there is an entry `name`; neither case nor a leading slash counts.
    pub fn has(&self, name: &str) -> bool {
        let key = key(name);
        self.parts.contains_key(&key) || self.troubles.contains_key(&key)
    }

    /// The XML in the entry `name`, `None` where there is no such entry.
    pub fn xml(&self, name: &str) -> Result<Option<Xml>, Trouble> {
        let Some(part) = self.part(name)? else { return Ok(None) };
        let bytes_max = self.source_bytes_max.saturating_mul(XML_TIMES_MAX);
        if let Some(n_bytes) = part.n_bytes.filter(|n_bytes| *n_bytes > bytes_max) {
            return Err(too_large(name, n_bytes, bytes_max));
        }
        let xml = part.open().and_then(|bytes| Xml::new(bytes, self.source_bytes_max));
        xml.map(Some).map_err(|error| Trouble { place: name.to_owned(), ..unreadable(&error) })
    }

    fn part(&self, name: &str) -> Result<Option<&Part>, Trouble> {
        let key = key(name);
        match (self.parts.get(&key), self.troubles.get(&key)) {
            (Some(part), _) => Ok(Some(part)),
            (None, Some(trouble)) => Err(Trouble { place: name.to_owned(), ..trouble.clone() }),
            (None, None) => Ok(None),
        }
    }

    /// Calls `take` with each beginning of an element in the entry `name` and the names of those around it.
    pub fn each_tag(&self, name: &str, mut take: impl FnMut(&[String], &Tag)) -> Result<(), Trouble> {
        self.each(name, |path, node| {
            if let Node::Start(tag) = node {
                take(path, tag);
            }
        })
    }

    /// Calls `take` with each node in the entry `name` and the names of the open elements around it.
    pub fn each(&self, name: &str, mut take: impl FnMut(&[String], &Node)) -> Result<(), Trouble> {
        let Some(mut xml) = self.xml(name)? else { return Ok(()) };
        let mut path: Vec<String> = Vec::new();
        for _ in 0..NODES_MAX {
            let node = match xml.next() {
                Ok(Some(node)) => node,
                Ok(None) => return Ok(()),
                Err(trouble) => return Err(placed(name, trouble)),
            };
            if matches!(node, Node::End(_)) {
                path.pop();
            }
            take(&path, &node);
            if let Node::Start(tag) = node {
                path.push(tag.name);
            }
        }
        Err(Trouble::new(name, format!("more than {NODES_MAX} elements"), "leave it out"))
    }
}

/// A trouble in the entry `name`.
pub(super) fn placed(name: &str, trouble: Trouble) -> Trouble {
    let place = if trouble.place.is_empty() { name.to_owned() } else { format!("{name} {}", trouble.place) };
    Trouble { place, ..trouble }
}

/// The path that `target` names, as seen from the entry `from`: `a/b.xml` and `../c.xml` make `c.xml`.
pub(super) fn resolve(from: &str, target: &str) -> String {
    let target = target.split(['#', '?']).next().unwrap_or(target);
    let mut path: Vec<&str> = Vec::new();
    if !target.starts_with('/') {
        path.extend(from.rsplit_once('/').map_or("", |(folder, _)| folder).split('/').filter(|part| !part.is_empty()));
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path.join("/")
}

fn key(name: &str) -> String {
    name.trim_start_matches('/').to_lowercase()
}
