//! Archives as people have them: packed, nested, damaged, hostile. Each names what it is, and the rest goes in.

#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Write};

use world::{World, message};

mod world;

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn what_is_packed_goes_in_with_its_whole_name() {
    let world = World::new();
    let chat = message("1", 0, "Packed.");
    let inner = zip(&[("deep/notes.md", b"# Deep\n\nA note in an archive in an archive.")]);
    world.put("a.zip", zip(&[("chat.jsonl", chat.as_bytes()), ("inner.zip", &inner), ("p.png", b"\x89PNG\r\n\x1a\n")]));
    world.put("b.txt.gz", gzip(b"A gzipped note."));
    let report = world.import(|_| {});
    assert_eq!(report.skipped, []);
    let files: Vec<&str> = report.imported.iter().map(|source| source.file.rsplit("/in/").next().unwrap()).collect();
    assert_eq!(files, ["a.zip!/chat.jsonl", "a.zip!/inner.zip!/deep/notes.md", "b.txt.gz!/b.txt"]);
    assert_eq!(report.totals.asides, 1);
    assert_eq!(world.texts("deck"), ["Packed."]);
    let again = world.import(|_| {});
    assert_eq!((again.imported.len(), again.unchanged.len()), (0, 3));
    let mirrored = world.import(|settings| settings.mirror = true);
    assert_eq!((mirrored.deleted.len(), mirrored.unchanged.len()), (0, 3));
}

#[test]
fn hostile_and_damaged_archives_are_one_line_each_and_their_neighbours_go_in() {
    let world = World::new();
    let note: &[u8] = b"A good note.";
    let mut nest = zip(&[("a.txt", note)]);
    for _ in 0..4 {
        nest = zip(&[("n.zip", &nest), ("b.txt", note)]);
    }
    world.put("bomb.zip", zip(&[("bomb.txt", &vec![b' '; 32 << 20]), ("good.txt", note)]));
    world.put("cut.zip", &zip(&[("a.txt", note)])[..40]);
    world.put("nest.zip", nest);
    world.put("out.zip", zip(&[("../../out.txt", note), ("good.txt", note)]));
    world.put("z.txt", note);
    let report = world.import(|_| {});
    let lines: Vec<String> = report
        .skipped
        .iter()
        .map(|skipped| format!("{}: {}", skipped.file.rsplit("/in/").next().unwrap(), skipped.reason))
        .collect();
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert!(lines[0].starts_with("bomb.zip!/bomb.txt: ") && lines[0].contains("more than 200 times"), "{lines:#?}");
    assert!(lines[1].starts_with("cut.zip: a damaged ZIP archive"), "{lines:#?}");
    assert_eq!(lines[2], "nest.zip!/n.zip!/n.zip: 1 archives that lie in more than 2 others");
    assert!(lines[3].starts_with("out.zip: 1 entries whose names lead out of the archive"), "{lines:#?}");
    // bomb, nest at three depths, out, z.
    assert_eq!(report.imported.len(), 6, "{:#?}", report.imported);
    assert!(!world.folder.path().join("out.txt").exists());
    assert_eq!(report.exit_code(), 3);
}

#[test]
fn a_chat_in_shards_and_its_zip_are_the_same_sources() {
    let world = World::new();
    let shard = |id: &str| {
        format!(
            "[{{\"title\":\"{id}\",\"conversation_id\":\"{id}\",\"current_node\":\"a\",\"mapping\":{{\"a\":{{\"id\":\"a\",\
             \"parent\":null,\"children\":[],\"message\":{{\"id\":\"a\",\"author\":{{\"role\":\"user\"}},\
             \"content\":{{\"parts\":[\"hello from {id}\"]}}}}}}}}}}]"
        )
    };
    let (one, two) = (shard("one"), shard("two"));
    world.put("conversations-000.json", &one);
    world.put("conversations-001.json", &two);
    world.put("user.json", "{\"id\":\"user-1\"}");
    let report = world.import(|_| {});
    assert_eq!((report.imported.len(), report.skipped.len()), (2, 0), "{report:#?}");
    let entries: &[(&str, &[u8])] =
        &[("conversations-000.json", one.as_bytes()), ("conversations-001.json", two.as_bytes())];
    world.put("export.zip", zip(entries));
    let again = world.import(|_| {});
    assert_eq!((again.imported.len(), again.unchanged.len()), (0, 4), "{again:#?}");
}

/// A Slack export with one channel, its messages by day.
fn slack(days: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut files = vec![
        ("users.json".to_owned(), r#"[{"id":"U1","name":"ana"}]"#.to_owned()),
        ("channels.json".to_owned(), r#"[{"id":"C1","name":"general"}]"#.to_owned()),
    ];
    files.extend(days.iter().map(|(day, messages)| (format!("general/{day}.json"), format!("[{messages}]"))));
    files
}

fn slack_message(ts: u64, text: &str) -> String {
    format!(r#"{{"type":"message","user":"U1","text":"{text}","ts":"{ts}.000000"}}"#)
}

fn texts(world: &World, reader: &str, key: &str) -> Vec<String> {
    let entry = world.newest(reader, key);
    entry.turns.iter().map(|turn| turn.span.slice(&entry.text).unwrap().to_owned()).collect()
}

#[test]
fn a_slack_folder_and_its_zip_are_one_and_the_newest_export_decides() {
    let world = World::new();
    let first = slack(&[("2024-05-01", &slack_message(1_714_557_600, "at four"))]);
    first.iter().for_each(|(name, text)| world.put(&format!("export/{name}"), text));
    world.put("export/general/attachments/a.png", b"\x89PNG\r\n\x1a\n");
    world.put("export/note.txt", "A note that someone laid beside it.");
    let report = world.import(|_| {});
    assert_eq!((report.imported.len(), report.skipped.len(), report.totals.asides), (2, 0, 1), "{report:#?}");
    let entries: Vec<(&str, &[u8])> = first.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    world.put("export.zip", zip(&entries));
    let again = world.import(|_| {});
    assert_eq!((again.imported.len(), again.unchanged.len(), again.skipped.len()), (0, 3, 0), "{again:#?}");
    let later = slack(&[
        ("2024-05-01", &slack_message(1_714_557_600, "at five")),
        ("2024-05-02", &slack_message(1_714_644_000, "and back")),
    ]);
    let newer = World { folder: tempfile::tempdir().unwrap(), ..world };
    std::fs::create_dir(newer.path()).unwrap();
    later.iter().for_each(|(name, text)| newer.put(name, text));
    assert_eq!(newer.import(|_| {}).imported.len(), 1);
    assert_eq!(texts(&newer, "slack", "C1"), ["at five", "and back"]);
    // The older export, met again, takes nothing back.
    newer.put("older/users.json", &first[0].1);
    first.iter().for_each(|(name, text)| newer.put(&format!("older/{name}"), text));
    newer.import_paths(&[newer.path().join("older")], |_| {});
    assert_eq!(texts(&newer, "slack", "C1"), ["at five", "and back"]);
}

#[test]
fn a_whatsapp_chat_that_grew_and_was_edited_is_the_same_source() {
    let world = World::new();
    let old = "[01.05.24, 10:00:00] Ana: where\n[01.05.24, 10:00:00] Ana: are you\n[13.05.24, 10:01:00] Bo: on board\n";
    world.put("_chat.txt", old);
    let first = world.import(|_| {});
    let key = first.imported[0].key.clone();
    world.put("_chat.txt", old.replace("on board", "This message was deleted.") + "[14.05.24, 9:00:00] Ana: ok\n");
    let second = world.import(|_| {});
    assert_eq!(
        (second.imported.len(), second.imported[0].key.clone(), second.imported[0].version),
        (1, key.clone(), 2)
    );
    assert_eq!(texts(&world, "whatsapp", &key), ["where", "are you", "", "ok"]);
    let third = world.import(|_| {});
    assert_eq!((third.imported.len(), third.unchanged.len()), (0, 1));
}

#[test]
fn pictures_beside_an_unpacked_export_are_counted_and_others_are_named() {
    let world = World::new();
    let picture: &[u8] = b"\x89PNG\r\n\x1a\n\0\0";
    world.put(
        "chat/_chat.txt",
        "[01.05.24, 10:00:00] Ana: see\n[01.05.24, 10:00:05] Ana: \u{200e}<attached: 1-PHOTO.png>\n",
    );
    world.put("chat/1-PHOTO.png", picture);
    slack(&[("2024-05-01", &slack_message(1_714_557_600, "inner"))])
        .iter()
        .for_each(|(name, text)| world.put(&format!("chat/slack/{name}"), text));
    world.put("other/alone.png", picture);
    let report = world.import(|_| {});
    assert_eq!((report.imported.len(), report.totals.asides), (2, 1), "{report:#?}");
    assert_eq!(report.skipped.len(), 1);
    assert!(report.skipped[0].file.ends_with("other/alone.png"));
}
