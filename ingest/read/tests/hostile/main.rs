//! Hostile files, made here: each is read or is one clear line, and the file beside it goes in whole.
//!
//! A case is a file (or what a system makes of one) in a folder with a neighbour. Of each is asked that nothing
//! panics, that it takes less than ten seconds, that exactly the expected comes out, that every line says why and what
//! to do, and that nothing is written beside it.

#![allow(clippy::unwrap_used)]

mod archives;
mod build;
mod disk;
mod json;
mod packed;
mod records;
mod tars;
mod texts;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use read::{Draft, DraftBody, Event, Input, Met, Trouble};

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// So many sources and nothing to say.
    Read(usize),
    /// Nothing but one line with these words.
    Line(&'static str),
    /// So many sources, and one line with these words.
    Both(usize, &'static str),
    /// At most so many sources, and one line with these words.
    Few(usize, &'static str),
    /// So many sources, and so many lines, one for each of several hostile files or places, with these words.
    Lines(usize, usize, &'static str),
}

pub use Expected::{Both, Few, Line, Lines, Read};

/// How a case comes to be in its folder.
pub enum Make {
    /// A file of this name with these bytes.
    File(String, Box<dyn FnOnce() -> Vec<u8>>),
    /// Anything.
    Folder(fn(&Path)),
}

/// One hostile file.
pub struct Case {
    name: String,
    make: Make,
    expected: Expected,
}

/// A case of a file `file` with `bytes`.
pub fn case(name: impl Into<String>, file: &str, bytes: impl Into<Vec<u8>>, expected: Expected) -> Case {
    let bytes = bytes.into();
    Case { name: name.into(), make: Make::File(file.to_owned(), Box::new(move || bytes)), expected }
}

/// A case of a file that is made when its turn comes.
pub fn lazy(name: &str, file: &str, make: fn() -> Vec<u8>, expected: Expected) -> Case {
    Case { name: name.to_owned(), make: Make::File(file.to_owned(), Box::new(make)), expected }
}

/// A case that is no mere file.
pub fn folder(name: &str, make: fn(&Path), expected: Expected) -> Case {
    Case { name: name.to_owned(), make: Make::Folder(make), expected }
}

const NEIGHBOUR: &str = "zz-neighbour.txt";
const WORDS: &str = "A note that is whole.\n";
/// The bound on a source, as the program has it.
const SOURCE_BYTES_MAX: u64 = 64 << 20;

/// What came out of a folder.
#[derive(Default)]
struct Out {
    n_sources: usize,
    troubles: Vec<Trouble>,
    is_neighbour_whole: bool,
}

impl Out {
    fn draft(&mut self, item: &str, draft: &Draft) {
        match &draft.body {
            DraftBody::Text(text) if item == NEIGHBOUR => self.is_neighbour_whole = text == WORDS,
            _ => self.n_sources += 1,
        }
    }
}

fn read_all(folder: &Path) -> Out {
    let mut out = Out::default();
    let listing = read::list(&[folder.to_owned()], Some("c"), Path::new("/no/store"));
    out.troubles.extend(listing.troubles.into_iter().map(|(_, _, trouble)| trouble));
    read::meet(&listing.files, None, &mut |met| {
        match met {
            Met::Item(item) => {
                let input = Input::new(&item.parts, &item.relative, SOURCE_BYTES_MAX);
                item.reader.read(&input, &mut |event| {
                    match event {
                        Event::Draft(draft) => out.draft(&item.relative, &draft),
                        Event::Trouble(trouble) => out.troubles.push(trouble),
                        Event::Aside => {}
                    }
                    Ok(())
                })?;
            }
            Met::Trouble { trouble, .. } => out.troubles.push(trouble),
            Met::Aside | Met::Done(..) => {}
        }
        Ok(())
    })
    .unwrap();
    out
}

/// Every path under `folder`, without following links.
fn paths(folder: &Path) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(path).unwrap().map(Result::unwrap) {
            paths.insert(entry.path().to_string_lossy().into_owned());
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    paths
}

/// What is wrong with what becomes of a case; `None` where nothing is.
fn tried(make: Make, expected: &Expected) -> Option<String> {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("a").join("in");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(NEIGHBOUR), WORDS).unwrap();
    match make {
        Make::File(name, bytes) => std::fs::write(folder.join(name), bytes()).unwrap(),
        Make::Folder(make) => make(&folder),
    }
    let before = paths(outer.path());
    let begun = Instant::now();
    let Ok(out) = catch_unwind(AssertUnwindSafe(|| read_all(&folder))) else { return Some("panics".to_owned()) };
    let took = begun.elapsed();
    let found = match (out.n_sources, out.troubles.as_slice()) {
        (n, []) => format!("Read({n})"),
        (0, [one]) => format!("Line({:?} {:?})", one.place, one.reason),
        (n, [one]) => format!("Both({n}, {:?} {:?})", one.place, one.reason),
        (n, more) => format!("{n} sources and {} lines, first {:?}", more.len(), &more[..2]),
    };
    let is_expected = match (expected, out.troubles.as_slice()) {
        (Read(n), []) => *n == out.n_sources,
        (Line(words), [one]) => out.n_sources == 0 && one.reason.contains(words),
        (Both(n, words), [one]) => *n == out.n_sources && one.reason.contains(words),
        (Few(n, words), [one]) => *n >= out.n_sources && one.reason.contains(words),
        (Lines(n, n_lines, words), all) => {
            *n == out.n_sources && all.len() == *n_lines && all.iter().all(|one| one.reason.contains(words))
        }
        _ => false,
    };
    let is_clear = out.troubles.iter().all(|trouble| !trouble.reason.is_empty() && !trouble.hint.is_empty());
    if !is_expected {
        Some(format!("expected {expected:?}, found {found}"))
    } else if !is_clear {
        Some(format!("a line without reason or way out: {:?}", out.troubles))
    } else if !out.is_neighbour_whole {
        Some("its neighbour is lost".to_owned())
    } else if paths(outer.path()) != before {
        Some("something was written".to_owned())
    } else if took > Duration::from_secs(10) {
        Some(format!("takes {took:?}"))
    } else {
        None
    }
}

/// Tries `cases`; says all that is wrong at once.
fn check(cases: Vec<Case>) {
    let mut names = BTreeSet::new();
    let mut wrong = Vec::new();
    let n_cases = cases.len();
    for Case { name, make, expected } in cases {
        assert!(names.insert(name.clone()), "{name} twice");
        let begun = Instant::now();
        wrong.extend(tried(make, &expected).map(|what| format!("{name}: {what}")));
        if begun.elapsed() > Duration::from_secs(2) {
            eprintln!("{name} took {:?}", begun.elapsed());
        }
    }
    eprintln!("{n_cases} hostile files");
    assert!(wrong.is_empty(), "{} of {n_cases}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn zip_archives() {
    check(archives::cases());
}

#[test]
fn tar_archives() {
    check(tars::cases());
}

#[test]
fn packed_files() {
    check(packed::cases());
}

#[test]
fn json_of_all_kinds() {
    check(json::cases());
}

#[test]
fn records_of_exports() {
    check(records::cases());
}

#[test]
fn texts_in_odd_encodings() {
    check(texts::cases());
}

#[cfg(unix)]
#[test]
fn what_a_disk_may_hold() {
    check(disk::cases());
}

#[test]
fn there_are_two_hundred_and_more() {
    let all = [archives::cases(), tars::cases(), packed::cases(), json::cases(), records::cases(), texts::cases()];
    let n_cases = all.iter().map(Vec::len).sum::<usize>() + disk::cases().len();
    assert!(n_cases >= 200, "{n_cases}");
}
