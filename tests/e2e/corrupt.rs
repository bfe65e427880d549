//! Bytes that are not what was written: found, named, never answered from.

use strata_tests::World;

use crate::PROGRAM;
use crate::files::{below, copy, cut, flip};

/// A world of its own with a copy of a sound store.
fn copy_of(sound: &World) -> World {
    let world = World::new(PROGRAM);
    copy(&sound.store(), &world.store());
    world.on_store(&["verify"]).succeeds();
    world
}

#[test]
fn a_flipped_bit_in_any_file_is_found_and_named() {
    let sound = World::with_sample(PROGRAM);
    let all = below(&sound.store(), "");
    assert!(all.len() > 5, "{all:?}");
    let mut n_tried = 0;
    for file in all {
        let relative = file.strip_prefix(sound.store()).expect("it lies in the store").to_owned();
        let name = relative.file_name().expect("a file has a name").to_string_lossy().into_owned();
        if std::fs::metadata(&file).map_or(0, |data| data.len()) == 0 {
            continue;
        }
        let world = copy_of(&sound);
        flip(&world.store().join(&relative));
        let verified = world.on_store(&["verify"]).exits(2);
        let told = format!("{}{}", verified.stdout, verified.stderr);
        assert!(told.contains(&name), "{} is named in {told}", relative.display());
        n_tried += 1;
    }
    assert!(n_tried > 5, "{n_tried} files were tried");
}

#[test]
fn a_corrupt_store_is_not_answered_from() {
    let sound = World::with_sample(PROGRAM);
    for (suffix, spoil) in
        [("texts.parquet", flip as fn(&std::path::Path)), ("chunks.parquet", cut), ("vectors.parquet", cut)]
    {
        let world = copy_of(&sound);
        let file = below(&world.store(), suffix).remove(0);
        spoil(&file);
        let done = world.on_store(&["search", "--json", "greenhouse"]).exits(2);
        assert_eq!(done.stdout, "", "{suffix}: nothing is answered");
        assert!(done.stderr.contains(suffix) && done.stderr.contains("corrupt"), "{suffix}: {}", done.stderr);
        let verified = world.on_store(&["verify"]).exits(2);
        assert!(format!("{}{}", verified.stdout, verified.stderr).contains(suffix));
    }
    // The twin: the sound one still answers.
    sound.on_store(&["search", "greenhouse"]).succeeds();
}

#[test]
fn a_missing_file_is_named() {
    let sound = World::with_sample(PROGRAM);
    let world = copy_of(&sound);
    let file = below(&world.store(), "sentences.parquet").remove(0);
    std::fs::remove_file(&file).expect("it can be removed");
    let verified = world.on_store(&["verify"]).exits(2);
    assert!(format!("{}{}", verified.stdout, verified.stderr).contains("sentences.parquet"));
    world.on_store(&["search", "greenhouse"]).exits(2);
}

#[test]
fn a_store_that_was_copied_answers_the_same() {
    let sound = World::with_sample(PROGRAM);
    let copied = World::new(PROGRAM);
    copy(&sound.store(), &copied.store());
    let asked = ["search", "--json", "-k", "20", "greenhouse"];
    assert_eq!(copied.on_store(&asked).succeeds().stdout, sound.on_store(&asked).succeeds().stdout);
}
