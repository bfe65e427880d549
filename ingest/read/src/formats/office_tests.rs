//! Documents of office programs, written here entry by entry and read through the doors of an import.

use std::io::Write;
use std::path::Path;

use zip::write::{SimpleFileOptions, ZipWriter};

use super::{Draft, DraftBody, Event, Input, reader};
use crate::decode::Trouble;
use crate::files;
use crate::intake::{self, Met};

/// A ZIP archive of `entries`.
pub(super) fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Reads `files` as one import: its drafts, and its troubles as `file: place: reason`.
pub(super) fn import(files: &[(&str, &[u8])], format: Option<&str>) -> (Vec<Draft>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let listing = files::list(&[folder.path().to_owned()], Some("c"), Path::new("/no/store"));
    let (mut drafts, mut troubles) = (Vec::new(), Vec::new());
    let told = |file: &str, trouble: &Trouble| format!("{file}: {}: {}", trouble.place, trouble.reason);
    intake::meet(&listing.files, format.and_then(reader), &mut |met| {
        match met {
            Met::Item(item) => {
                let input = Input::new(&item.parts, &item.relative, 4 << 20);
                item.reader.read(&input, &mut |event| {
                    match event {
                        Event::Draft(draft) => drafts.push(draft),
                        Event::Trouble(trouble) => troubles.push(told(&item.relative, &trouble)),
                        Event::Aside => {}
                    }
                    Ok(())
                })?;
            }
            Met::Trouble { relative, trouble, .. } => troubles.push(told(&relative, &trouble)),
            Met::Aside | Met::Done(..) => {}
        }
        Ok(())
    })
    .unwrap();
    (drafts, troubles)
}

/// The text of a document.
pub(super) fn text(draft: &Draft) -> &str {
    match &draft.body {
        DraftBody::Text(text) => text,
        DraftBody::Turns(_) => panic!("a document has no turns"),
    }
}

/// Reads one file that must go in whole; its text.
pub(super) fn read_whole(name: &str, bytes: &[u8]) -> String {
    let (drafts, troubles) = import(&[(name, bytes)], None);
    assert_eq!((drafts.len(), troubles.as_slice()), (1, [].as_slice()));
    text(&drafts[0]).to_owned()
}

/// A hostile file beside a neighbour: the neighbour goes in and the file has one line, which holds `reason`.
pub(super) fn refused(name: &str, bytes: &[u8], reason: &str) {
    let (drafts, troubles) = import(&[(name, bytes), ("zz.txt", b"A note that is whole.")], None);
    assert_eq!(drafts.iter().map(text).collect::<Vec<_>>(), ["A note that is whole."], "{name}");
    assert!(troubles.len() == 1 && troubles[0].contains(reason), "{name}: {troubles:?} should say {reason:?}");
}
