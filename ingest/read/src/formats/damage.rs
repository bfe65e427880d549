//! Every example, damaged at random: readers say what is wrong and never stop the import.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{Event, Input};
use crate::files;
use crate::intake::{self, Met};

/// What is done to a file.
#[derive(Clone, Debug)]
enum Damage {
    /// It ends here.
    Cut(usize),
    /// One byte is another.
    Byte(usize, u8),
    /// A stretch comes twice.
    Twice(usize, usize),
    /// A stretch is gone.
    Gone(usize, usize),
}

fn damaged(bytes: &[u8], damage: &Damage) -> Vec<u8> {
    let at = |place: usize| place % (bytes.len() + 1);
    let stretch = |from: usize, n: usize| at(from)..(at(from) + n).min(bytes.len());
    match damage {
        Damage::Cut(place) => bytes[..at(*place)].to_vec(),
        Damage::Byte(place, byte) => {
            let mut bytes = bytes.to_vec();
            if let Some(place) = bytes.get_mut(at(*place)) {
                *place = *byte;
            }
            bytes
        }
        Damage::Twice(from, n) => {
            let stretch = stretch(*from, *n);
            [&bytes[..stretch.end], &bytes[stretch.clone()], &bytes[stretch.end..]].concat()
        }
        Damage::Gone(from, n) => {
            let stretch = stretch(*from, *n);
            [&bytes[..stretch.start], &bytes[stretch.end..]].concat()
        }
    }
}

/// The files of all examples, in one fixed order.
fn examples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let files = files::list(&[root], Some("c"), Path::new("/no/store")).files;
    files
        .into_iter()
        .map(|file| file.path)
        .filter(|path| path.extension().is_none_or(|end| end != "expected"))
        .collect()
}

/// Reads all under `folder`, with a bound that some examples are over; how many sources and troubles.
fn read(folder: &Path) -> (usize, usize) {
    let (mut n_sources, mut n_troubles) = (0, 0);
    let listing = files::list(&[folder.to_owned()], Some("c"), Path::new("/no/store"));
    intake::meet(&listing.files, None, &mut |met| {
        match met {
            Met::Item(item) => {
                let input = Input::new(&item.parts, &item.relative, 1000);
                item.reader.read(&input, &mut |event| {
                    match event {
                        Event::Draft(_) => n_sources += 1,
                        Event::Trouble(_) => n_troubles += 1,
                        Event::Aside => {}
                    }
                    Ok(())
                })?;
            }
            Met::Trouble { .. } => n_troubles += 1,
            Met::Aside | Met::Done(..) => {}
        }
        Ok(())
    })
    .expect("nothing here ends a reading");
    (n_sources, n_troubles)
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<usize>().prop_map(Damage::Cut),
        (any::<usize>(), any::<u8>()).prop_map(|(place, byte)| Damage::Byte(place, byte)),
        (any::<usize>(), 1..80_usize).prop_map(|(from, n)| Damage::Twice(from, n)),
        (any::<usize>(), 1..80_usize).prop_map(|(from, n)| Damage::Gone(from, n)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_damaged_file_stops_nothing_and_its_neighbour_goes_in(
        which in any::<prop::sample::Index>(),
        damages in proptest::collection::vec(damage(), 1..4),
    ) {
        let examples = examples();
        let example = which.get(&examples);
        let bytes = damages.iter().fold(std::fs::read(example).unwrap(), |bytes, damage| damaged(&bytes, damage));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(example.file_name().unwrap()), bytes).unwrap();
        std::fs::write(folder.path().join("zz-neighbour.txt"), "A note that is whole.").unwrap();
        let (n_sources, _) = read(folder.path());
        prop_assert!(n_sources >= 1);
    }
}

#[test]
fn examples_over_the_bound_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("{{\"conversation\":\"a\",\"text\":\"{}\"}}\n", "x".repeat(2000));
    std::fs::write(folder.path().join("a.jsonl"), line).unwrap();
    assert_eq!(read(folder.path()), (0, 1));
    assert!(examples().len() > 20);
}
