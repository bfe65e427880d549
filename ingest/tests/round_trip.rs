//! What is stored is what the archives say: real exports read, imported, and read back from the store.
//!
//! Skipped where the data is not there.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use index::model::{Scope, SourceId};
use read::{Draft, DraftBody, Event, Input, Met};
use world::{World, data};

mod world;

/// Every draft of a folder, with its identity and the files it was read from.
fn drafts(folder: &Path, take: &mut dyn FnMut(SourceId, &'static str, Vec<read::Part>, Draft)) {
    let listing = read::list(&[folder.to_owned()], Some("c"), Path::new("/no/store"));
    read::meet(&listing.files, None, &mut |met| {
        let Met::Item(item) = met else { return Ok(()) };
        let input = Input::new(&item.parts, &item.relative, 64 << 20);
        item.reader.read(&input, &mut |event| {
            if let Event::Draft(draft) = event {
                let below = |part: &String| format!("{}/{part}", item.key);
                let own = || draft.part.as_ref().map_or_else(|| item.key.clone(), below);
                let key = draft.key.clone().unwrap_or_else(own);
                let id = SourceId::of(Scope::local().as_str(), item.reader.name(), &key);
                take(id, item.reader.name(), item.parts.clone(), draft);
            }
            Ok(())
        })
    })
    .unwrap();
}

#[test]
fn every_text_comes_back_from_the_store_as_it_was_read() {
    let folders = ["exports", "reports", "docs/docx", "docs/ipynb", "docs/subtitles", "docs/html_trafilatura"];
    let mut n_sources = 0;
    for name in folders {
        let Some(folder) = data(name) else { return };
        let mut texts: BTreeMap<SourceId, Vec<String>> = BTreeMap::new();
        let mut turns: BTreeMap<SourceId, BTreeMap<String, Vec<String>>> = BTreeMap::new();
        drafts(&folder, &mut |id, _, _, draft| match draft.body {
            DraftBody::Text(text) => texts.entry(id).or_default().push(text),
            DraftBody::Turns(said) => {
                let own = turns.entry(id).or_default();
                said.into_iter().for_each(|turn| own.entry(turn.id).or_default().push(turn.text));
            }
        });
        let world = World::new();
        world.import_paths(&[folder], |_| {});
        let snapshot = world.store.snapshot().unwrap();
        for id in texts.keys().chain(turns.keys()) {
            let entry = snapshot.entry(snapshot.newest(id).unwrap()).unwrap();
            match texts.get(id) {
                Some(given) => assert!(given.contains(&entry.text), "{}", entry.source.key),
                None => {
                    let given = &turns[id];
                    assert_eq!(entry.turns.len(), given.len(), "{}", entry.source.key);
                    for turn in &entry.turns {
                        let text = turn.span.slice(&entry.text).unwrap().to_owned();
                        assert!(given[&turn.id].contains(&text), "{} {}", entry.source.key, turn.id);
                    }
                }
            }
            n_sources += 1;
        }
    }
    assert!(n_sources > 100, "{n_sources} sources");
}

/// Adds every string of a JSON value, and every name in it.
fn strings(value: &serde_json::Value, words: &mut HashSet<String>) {
    match value {
        serde_json::Value::String(text) => words.extend(text.split_whitespace().map(str::to_owned)),
        serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, words)),
        serde_json::Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            words.insert(name.clone());
            strings(value, words);
        }),
        other => {
            words.insert(other.to_string());
        }
    }
}

/// The readers that change no word of a JSON archive, by docs/readers.md.
const VERBATIM: &[&str] = &["chatgpt", "claude", "claude-code", "codex", "discord", "telegram", "messages", "locomo"];

#[test]
fn no_word_is_said_that_the_archive_does_not_say() {
    let Some(folder) = data("exports") else { return };
    let mut n_words = 0;
    drafts(&folder, &mut |_, reader, parts, draft| {
        let DraftBody::Turns(turns) = &draft.body else { return };
        if !VERBATIM.contains(&reader) {
            return;
        }
        let mut words = HashSet::new();
        for part in &parts {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut part.open().unwrap(), &mut bytes).unwrap();
            for value in serde_json::Deserializer::from_slice(&bytes).into_iter::<serde_json::Value>().flatten() {
                strings(&value, &mut words);
            }
        }
        for word in turns.iter().flat_map(|turn| turn.text.split_whitespace()) {
            let is_said = words.contains(word) || words.iter().any(|said| said.contains(word) || word.contains(said));
            assert!(is_said, "{reader} {}: {word:?}", parts[0].name);
            n_words += 1;
        }
    });
    assert!(n_words > 10_000, "{n_words} words");
}
