//! Archives made here, read back through the door.

use std::io::{Cursor, Write};

use super::*;

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn tar(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        // The crate refuses to write what leads out of an archive; a hostile one is written by hand.
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

/// What is listed of an archive and what each entry reads to, a line each.
fn show(name: &str, bytes: &[u8]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive");
    std::fs::write(&path, bytes).unwrap();
    let part = Part::file(name, path, bytes.len() as u64);
    let Some(listed) = list(&part, &part.head(512).unwrap()) else { return vec!["no archive".to_owned()] };
    let mut lines: Vec<String> = listed.parts.iter().map(|part| format!("{}: {}", part.name, read(part))).collect();
    lines.extend(listed.troubles.iter().map(|(name, trouble)| format!("{name}! {}", trouble.reason)));
    lines
}

fn read(part: &Part) -> String {
    let mut text = String::new();
    let mut again = String::new();
    match part.open().and_then(|mut reader| reader.read_to_string(&mut text)) {
        Ok(_) => {
            part.open().unwrap().read_to_string(&mut again).unwrap();
            assert_eq!(text, again, "an entry opens as often as asked");
            text
        }
        Err(error) => format!("({error})"),
    }
}

const TWO: &[(&str, &[u8])] = &[("a.txt", b"one"), ("b/c.txt", b"two")];

#[test]
fn every_kind_of_archive_gives_its_entries() {
    let two = ["a.txt: one", "b/c.txt: two"];
    assert_eq!(show("x.zip", &zip(TWO)), two);
    assert_eq!(show("x.tar", &tar(TWO)), two);
    assert_eq!(show("x.tgz", &gzip(&tar(TWO))), two);
    assert_eq!(show("x.tar.zst", &zstd(&tar(TWO))), two);
    assert_eq!(show("d/x.txt.gz", &gzip(b"one")), ["x.txt: one"]);
    assert_eq!(show("x.txt.zst", &zstd(b"one")), ["x.txt: one"]);
    assert_eq!(show("x.txt", b"one"), ["no archive"]);
}

#[test]
fn names_that_lead_out_are_one_line_and_the_others_are_read() {
    let hostile: &[(&str, &[u8])] =
        &[("../../evil.txt", b"x"), ("/etc/passwd", b"x"), ("C:\\x.txt", b"x"), ("..\\y", b"x"), ("./a.txt", b"one")];
    let line =
        "! 4 entries whose names lead out of the archive: \"../../evil.txt\", \"/etc/passwd\", \"C:\\\\x.txt\", …";
    assert_eq!(show("x.tar", &tar(hostile)), ["a.txt: one", line]);
    assert_eq!(show("x.zip", &zip(hostile)), ["a.txt: one", line]);
}

#[test]
fn what_becomes_far_more_than_it_is_stops_and_its_neighbour_is_read() {
    let zeros = vec![b' '; 8 << 20];
    let lines = show("x.zip", &zip(&[("bomb.txt", &zeros), ("a.txt", b"one")]));
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], "a.txt: one");
    assert!(
        lines[1].starts_with("bomb.txt! ") && lines[1].ends_with("become more than 200 times as many"),
        "{lines:?}"
    );
    let lines = show("x.txt.gz", &gzip(&zeros));
    assert!(lines[0].contains("become more than 200 times as many"), "{lines:?}");
    let small = vec![b' '; 1 << 20];
    assert_eq!(show("x.txt.gz", &gzip(&small))[0].len(), "x.txt: ".len() + (1 << 20));
}

#[test]
fn a_zip_that_lies_about_its_sizes_is_found_out() {
    let mut bytes = zip(&[("a.txt", b"one and some more")]);
    let at = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    // The length in the directory, at 24 in its header.
    bytes[at + 24] -= 1;
    let lines = show("x.zip", &bytes);
    assert_eq!(lines, ["a.txt: (its check sum or length is not what the archive says)"]);
}

#[test]
fn entries_that_share_their_bytes_are_refused() {
    let mut bytes = zip(&[("a.txt", &[b'x'; 10]), ("b.txt", b"two")]);
    let at = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    // The packed length in the directory, at 20 in its header: more than the whole file has.
    bytes[at + 22] = 1;
    assert_eq!(show("x.zip", &bytes), ["! a ZIP archive whose entries overlap: it is made to fill disks"]);
}

#[test]
fn damage_is_one_line_and_what_stands_before_it_is_read() {
    let whole = tar(&[("a.txt", b"one"), ("b.txt", &[b'x'; 2000])]);
    let lines = show("x.tar", &whole[..1600]);
    assert_eq!(lines[0], "a.txt: one");
    assert_eq!(lines.len(), 2, "{lines:?}");
    let whole = zip(TWO);
    assert!(show("x.zip", &whole[..whole.len() - 4])[0].starts_with("! a damaged ZIP archive"));
    let whole = gzip(&tar(TWO));
    assert!(show("x.tgz", &whole[..whole.len() / 2])[0].starts_with("! cannot be read"));
}

#[test]
fn a_name_is_a_path_below_the_archive_or_nothing() {
    for (name, expected) in [
        ("a/b.txt", Some("a/b.txt")),
        ("./a//b", Some("a/b")),
        ("a\\b", Some("a/b")),
        ("a/../b", None),
        ("/a", None),
        ("\\\\server\\a", None),
        ("", None),
        ("a..b/..c", Some("a..b/..c")),
        ("a\0.txt", Some("a\u{fffd}.txt")),
    ] {
        assert_eq!(inner_name(name).as_deref(), expected, "{name}");
    }
    assert!(is_hidden("a/.DS_Store") && is_hidden("__MACOSX/a") && !is_hidden("a.b/c"));
}
