//! Which reader a file gets, and what the readers share.

use std::fmt::Write;
use std::path::Path;

use expect_test::expect_file;

use super::*;
use crate::files;
use crate::intake::{self, Met};

/// What is met in a file or folder, and what its readers make of it, so that it can be compared.
fn print(path: &Path, readers: &mut Vec<&'static str>) -> String {
    let mut out = String::new();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let listing = files::list(&[path.to_owned()], Some(&name), Path::new("/no/store"));
    intake::meet(&listing.files, None, &mut |met| {
        match met {
            Met::Item(item) => {
                readers.push(item.reader.name());
                let input = Input::new(&item.parts, &item.relative, 1 << 20);
                item.reader.read(&input, &mut |event| {
                    match event {
                        Event::Trouble(t) => print_trouble(&item.relative, &t, &mut out),
                        Event::Draft(draft) => print_draft(&draft, &mut out),
                        Event::Aside => out += "aside\n",
                    }
                    Ok(())
                })?;
            }
            Met::Trouble { relative, trouble, .. } => print_trouble(&relative, &trouble, &mut out),
            Met::Aside | Met::Done(..) => {}
        }
        Ok(())
    })
    .unwrap();
    out
}

fn print_trouble(file: &str, Trouble { place, reason, hint }: &Trouble, out: &mut String) {
    writeln!(out, "trouble in {file} at {place:?}: {reason} ({hint})").unwrap();
}

fn print_draft(draft: &Draft, out: &mut String) {
    let exported = draft.exported_at.map_or("-".to_owned(), |at| at.to_string());
    writeln!(
        out,
        "{} key={:?} title={:?} exported={exported} replaced={} {:?}",
        draft.kind.as_str(),
        draft.key,
        draft.title,
        draft.n_replaced,
        draft.metadata
    )
    .unwrap();
    match &draft.body {
        DraftBody::Text(text) => writeln!(out, "  text of {} bytes", text.len()).unwrap(),
        DraftBody::Turns(turns) => {
            for turn in turns {
                let at = turn.said_at.map_or("-".to_owned(), |at| at.to_string());
                writeln!(
                    out,
                    "  {} {:?} {} {at} {} session={:?} reply={:?} {:?} {:?}",
                    turn.id,
                    turn.author,
                    turn.role.as_str(),
                    turn.origin.as_str(),
                    turn.session,
                    turn.reply_to,
                    turn.text,
                    turn.metadata
                )
                .unwrap();
            }
        }
    }
}

#[test]
fn every_example_reads_to_its_expected_twin() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut n_examples = 0;
    for reader in READERS {
        let folder = root.join(reader.name());
        assert!(folder.is_dir(), "{} has no example", reader.name());
        let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for path in files {
            if path.extension().is_some_and(|e| e == "expected") {
                continue;
            }
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let mut readers = Vec::new();
            let printed = print(&path, &mut readers);
            assert!(readers.iter().all(|name| *name == reader.name()), "{name} went to {readers:?}");
            expect_file![path.with_file_name(format!("{name}.expected"))].assert_eq(&printed);
            n_examples += 1;
        }
    }
    assert!(n_examples >= READERS.len());
}

#[test]
fn derived_ids_tell_repeats_apart_and_repeat_themselves() {
    let ids = || {
        let mut ids = DerivedIds::default();
        [
            ids.next("Ana", Role::User, None, "ok"),
            ids.next("Ana", Role::User, None, "ok"),
            ids.next("Bo", Role::User, None, "ok"),
        ]
    };
    let [a, b, c] = ids();
    assert!(a != b && b != c && a != c);
    assert_eq!(ids(), [a, b, c]);
}
