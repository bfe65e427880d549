//! Reported faults that show in a store: texts that no sentence could hold, and imports that were not idempotent.

#![allow(clippy::unwrap_used)]

use std::fs;

use index::model::SourceEntry;
use serde_json::{Value, json};
use world::{World, data};

mod world;

/// Checks that every sentence fits the model's window and that every letter and digit is in exactly one.
fn check_sentences(entry: &SourceEntry, window: u32) {
    let mut end = 0;
    for sentence in &entry.sentences {
        assert!(sentence.n_tokens <= window, "{} of {window} in {}", sentence.n_tokens, entry.source.key);
        let (start, stop) = (sentence.span.start as usize, sentence.span.end as usize);
        assert!(start >= end, "sentences overlap in {}", entry.source.key);
        let between = &entry.text[end..start];
        assert!(!between.chars().any(char::is_alphanumeric), "{between:?} is lost in {}", entry.source.key);
        end = stop;
    }
    assert!(!entry.text[end..].chars().any(char::is_alphanumeric), "the end is lost in {}", entry.source.key);
}

#[test]
fn r21_no_text_is_too_dense_for_the_model() {
    let world = World::new();
    if let Some(reported) = data("reports/21_cjk_no_punct") {
        for file in fs::read_dir(reported).unwrap().map(|file| file.unwrap()) {
            world.put(&format!("{}.txt", file.file_name().to_string_lossy()), fs::read(file.path()).unwrap());
        }
    }
    let siblings = [
        ("zh", "春眠不觉晓处处闻啼鸟".to_owned()),
        ("ja", "潮の満ち引きは月の引力によって起こるものである".to_owned()),
        ("th", "เรือจะออกจากท่าเมื่อน้ำขึ้นสูงสุดในตอนเช้า ".to_owned()),
        ("ar", "تغادر السفينة الميناء عند ارتفاع المد ".to_owned()),
        ("he", "הספינה עוזבת את הנמל עם הגאות ".to_owned()),
        ("hi", "नाव ज्वार के साथ बंदरगाह छोड़ती है ".to_owned()),
        ("ko", "배는밀물때항구를떠난다".to_owned()),
        ("hex", "00ff17ab".to_owned()),
        ("url", "https://example.org/a/b?c=d&e=f#g%20h ".to_owned()),
        ("json", "{\"k\":[0,1,{\"x\":null}]},".to_owned()),
        ("emoji", "👩‍👩‍👧a🇵🇹".to_owned()),
        ("word", "a".to_owned()),
    ];
    let n_siblings = siblings.len();
    for (name, text) in siblings {
        world.put(&format!("{name}.txt"), text.repeat(3000 / text.chars().count() + 1));
        world.put(&format!("{name}.md"), format!("# {name}\n\n- {}\n", text.repeat(2000 / text.chars().count() + 1)));
    }
    let report = world.import(|_| {});
    assert!(report.imported.len() >= 2 * n_siblings && report.skipped.is_empty(), "{:?}", report.skipped);
    let snapshot = world.store.snapshot().unwrap();
    let window = world.embedder.id().window;
    for source in &report.imported {
        let entry = snapshot.entry(snapshot.newest(&source.source.parse().unwrap()).unwrap()).unwrap();
        assert!(!entry.sentences.is_empty(), "{}", source.key);
        check_sentences(&entry, window);
    }
}

#[test]
fn sentences_end_where_their_script_ends_them() {
    let world = World::new();
    let texts = [
        ("zh", "潮水来了。船要走吗？快走！", 3),
        ("ja", "潮が満ちた。船は出るのか？急げ！", 3),
        ("ar", "جاء المد. هل تغادر السفينة؟ أسرعوا!", 3),
        ("he", "הגאות באה. האם הספינה עוזבת? מהרו!", 3),
        ("hi", "ज्वार आया। क्या नाव जाएगी? जल्दी करो!", 3),
    ];
    for (name, text, _) in texts {
        world.put(&format!("{name}.txt"), text);
    }
    let report = world.import(|_| {});
    for (name, text, n) in texts {
        let found = report.imported.iter().find(|source| source.key == format!("c/{name}.txt")).unwrap();
        assert_eq!(found.sentences, n, "{text}");
    }
}

fn talk(id: &str, n: usize) -> Value {
    let nodes = (0..n).map(|idx| {
        let parent = idx.checked_sub(1).map(|before| format!("{id}-{before}"));
        let message = json!({"id": format!("{id}-{idx}"), "author": {"role": "user"}, "create_time": 1.7e9 + idx as f64,
            "content": {"content_type": "text", "parts": [format!("Word {idx} of {id}.")]}});
        (format!("{id}-{idx}"), json!({"id": format!("{id}-{idx}"), "message": message, "parent": parent}))
    });
    json!({"title": id, "conversation_id": id, "create_time": 1.7e9, "update_time": 1.7e9 + n as f64,
        "current_node": format!("{id}-{}", n - 1), "mapping": nodes.collect::<serde_json::Map<_, _>>()})
}

#[test]
fn r22_importing_again_adds_what_is_new_and_nothing_else() {
    let world = World::new();
    let put = |talks: &[Value]| world.put("conversations.json", Value::from(talks.to_vec()).to_string());
    let counts = |report: &ingest::Report| (report.imported.len(), report.unchanged.len());
    put(&[talk("a", 3), talk("b", 4)]);
    assert_eq!(counts(&world.import(|_| {})), (2, 0));
    assert_eq!(counts(&world.import(|_| {})), (0, 2));
    put(&[talk("a", 3), talk("b", 4), talk("c", 2)]);
    assert_eq!(counts(&world.import(|_| {})), (1, 2));
    // The export grew inside a conversation: one new version, the words that were there are not embedded again.
    put(&[talk("a", 3), talk("b", 6), talk("c", 2)]);
    let grown = world.import(|_| {});
    assert_eq!((counts(&grown), grown.totals.embedded, grown.imported[0].version), ((1, 2), 2, 2));
    // An older export, under another name, adds nothing and hides nothing.
    world.put("old/conversations.json", Value::from(vec![talk("a", 3), talk("b", 4)]).to_string());
    assert_eq!(counts(&world.import(|_| {})).0, 0);
    let snapshot = world.store.snapshot().unwrap();
    let turns: Vec<usize> = snapshot.segments().iter().map(|segment| segment.turns().len()).collect();
    assert!(turns.iter().sum::<usize>() >= 11, "{turns:?}");
}
