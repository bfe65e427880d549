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
