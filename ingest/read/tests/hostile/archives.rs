//! ZIP archives.

use super::build::{Entry, Zip, deflated, gzip, stored, tar, tar_entry, zip, zip_end, zip_parts, zip64_end};
use super::{Both, Case, Few, Line, Read, case, lazy};

const DAMAGED: &str = "damaged ZIP archive";
const DENSE: &str = "more than 200 times";
const EMPTY: &str = "without entries";
const OUTSIDE: &str = "names lead out of the archive";

/// `zip` with an entry to be read behind the hostile one.
fn beside(hostile: Entry) -> Vec<u8> {
    zip(&[hostile, stored("b.txt", "two")])
}

pub fn cases() -> Vec<Case> {
    let mut cases = bombs();
    cases.extend(crowds());
    cases.extend(names());
    cases.extend(lies());
    cases.extend(lengths());
    cases.extend(structures());
    cases.extend(cuts());
    cases
}

fn spaces(n_mib: usize) -> Vec<u8> {
    vec![b' '; n_mib << 20]
}

/// `n` copies of `inner` in an archive.
fn copies(inner: &[u8], n: usize) -> Vec<u8> {
    let entries: Vec<Entry> = (0..n).map(|idx| deflated(format!("{idx}.zip"), inner)).collect();
    zip(&entries)
}

fn deep(n: usize) -> Vec<u8> {
    (0..n).fold(zip(&[stored("a.txt", "one")]), |inner, _| zip(&[stored("in.zip", inner)]))
}

fn bombs() -> Vec<Case> {
    vec![
        lazy("a flat bomb", "x.zip", || beside(deflated("a.txt", spaces(64))), Both(1, DENSE)),
        lazy("a flat bomb of JSON", "x.zip", || beside(deflated("a.json", spaces(64))), Both(1, DENSE)),
        lazy(
            "a bomb that lies about its size",
            "x.zip",
            || beside(Entry { n_bytes: 100, ..deflated("a.txt", spaces(64)) }),
            Both(1, DENSE),
        ),
        lazy(
            "a bomb of many small bombs",
            "x.zip",
            || {
                let entries: Vec<Entry> =
                    (0..300).map(|idx| deflated(format!("{idx}.txt"), [b"x", &spaces(1)[1..]].concat())).collect();
                zip(&entries)
            },
            Few(100, DENSE),
        ),
        lazy(
            "a bomb of bombs",
            "x.zip",
            || {
                let inner: Vec<Entry> =
                    (0..16).map(|idx| deflated(format!("{idx}.txt"), [b"x", &spaces(1)[1..]].concat())).collect();
                copies(&zip(&inner), 16)
            },
            Few(4, DENSE),
        ),
        lazy(
            "a bomb of bombs of bombs",
            "x.zip",
            || {
                let inner: Vec<Entry> =
                    (0..16).map(|idx| deflated(format!("{idx}.txt"), [b"x", &spaces(1)[1..]].concat())).collect();
                copies(&copies(&zip(&inner), 16), 16)
            },
            Few(4, DENSE),
        ),
        lazy("a packed file in an archive", "x.zip", || beside(stored("a.txt.gz", gzip(&spaces(64)))), Both(1, DENSE)),
        lazy(
            "a packed file in a packed archive",
            "x.zip.gz",
            || gzip(&zip(&[stored("a.txt.gz", gzip(&spaces(64)))])),
            Line(DENSE),
        ),
        case("three archives deep", "x.zip", deep(2), Read(1)),
        case("four archives deep", "x.zip", deep(3), Line("lie in more than 2 others")),
        case("twenty archives deep", "x.zip", deep(20), Line("lie in more than 2 others")),
        case(
            "a tar in a gzip in a zip",
            "x.zip",
            zip(&[stored("a.tgz", gzip(&tar(&[tar_entry(b"a.txt", b'0', b"one")])))]),
            Read(1),
        ),
    ]
}

fn crowds() -> Vec<Case> {
    vec![
        case(
            "entries that are all one",
            "x.zip",
            overlapping(1000, &"lorem ipsum 0123456789 ".repeat(9000)),
            Line("overlap"),
        ),
        case("entries that are all one tiny one", "x.zip", overlapping(1000, "one"), Read(1000)),
        case("entries that quote the next", "x.zip", quoting(), Line("overlap")),
        lazy("a million entries that no one sees", "x.zip", || crowd(1_000_000), Read(1)),
        lazy("more than a million entries", "x.zip", || crowd(1_000_001), Both(1, "more than 1000000 entries")),
        lazy(
            "a hundred thousand names that lead out",
            "x.zip",
            || {
                let entries: Vec<Entry> =
                    (0..100_000).map(|idx| Entry { offset: Some(0), ..stored(format!("../{idx}"), "") }).collect();
                let first = stored("a.txt", "one");
                zip(&[vec![first], entries].concat())
            },
            Both(1, OUTSIDE),
        ),
    ]
}

/// Entries that all lie at one place, as Fifield's do.
fn overlapping(n: usize, text: &str) -> Vec<u8> {
    let kernel = deflated("0.txt", text);
    let others = (1..n).map(|idx| Entry { name: format!("{idx}.txt").into_bytes(), offset: Some(0), ..kernel.clone() });
    let entries: Vec<Entry> = std::iter::once(kernel.clone()).chain(others).collect();
    zip(&entries)
}

/// Stored entries each of which holds the next ones' headers.
fn quoting() -> Vec<u8> {
    let plain: Vec<Entry> = (0..20).map(|idx| stored(format!("{idx:02}.txt"), "x".repeat(100))).collect();
    let Zip { entries, .. } = zip_parts(&plain);
    let each = entries.len() / 20;
    let quoting: Vec<Entry> = (0..20)
        .map(|idx| {
            let body = &entries[idx * each + 36..];
            Entry { offset: Some((idx * each) as u32), ..stored(format!("{idx:02}.txt"), body) }
        })
        .collect();
    let Zip { directory, .. } = zip_parts(&quoting);
    let end = zip_end(20, directory.len() as u64, entries.len() as u64, b"");
    [entries, directory, end].concat()
}

/// So many entries in the directory, of which one is no system's own.
fn crowd(n: usize) -> Vec<u8> {
    let first = stored("a.txt", "one");
    let more = (1..n).map(|idx| Entry { offset: Some(0), ..stored(format!("__MACOSX/{idx}"), "") });
    let Zip { entries, directory, .. } = zip_parts(&std::iter::once(first).chain(more).collect::<Vec<_>>());
    let at = entries.len() as u64;
    let end_at = at + directory.len() as u64;
    let end64 = zip64_end(n as u64, directory.len() as u64, at, end_at);
    let end = zip_end(0xffff, 0xffff_ffff, 0xffff_ffff, b"");
    [entries, directory, end64, end].concat()
}

fn names() -> Vec<Case> {
    let outside: &[(&str, &[u8])] = &[
        ("up", b"../x.txt"),
        ("far up", b"../../../../../../tmp/x.txt"),
        ("down and up", b"a/../../x.txt"),
        ("absolute", b"/tmp/x.txt"),
        ("of a drive", b"C:\\x.txt"),
        ("of a drive, relative", b"c:x.txt"),
        ("up with backslashes", b"..\\..\\x.txt"),
        ("both slashes", b"a\\../..\\x.txt"),
        ("of a share", b"\\\\server\\share\\x.txt"),
        ("of a device", b"\\\\.\\COM1"),
        ("only dots", b".."),
        ("only a dot", b"."),
        ("a slash and dots", b"a/.."),
        ("empty", b""),
    ];
    let inside: &[(&str, &[u8])] = &[
        ("with a dot", b"./x.txt"),
        ("with two slashes", b"a//x.txt"),
        ("with three dots", b".../x.txt"),
        ("with NUL", b"x\0.txt"),
        ("with a line end", b"x\ny.txt"),
        ("with an escape", b"x\x1b[31m.txt"),
        ("not UTF-8", b"caf\xe9.txt"),
        ("not UTF-8 at all", b"\xff\xfe\xfd.txt"),
        ("right to left", "x\u{202e}txt.exe.txt".as_bytes()),
        ("of a device without a path", b"NUL.txt"),
        ("percent", b"%2e%2e%2fx.txt"),
        ("a tilde", b"~/x.txt"),
        ("a variable", b"$HOME.txt"),
        ("a bang", b"x.zip!/y.txt"),
    ];
    let mut cases: Vec<Case> = Vec::new();
    for (what, name) in outside {
        cases.push(case(
            format!("a name in an archive: {what}"),
            "x.zip",
            beside(stored(name, "evil")),
            Both(1, OUTSIDE),
        ));
    }
    for (what, name) in inside {
        // What begins with a dot is hidden.
        let n = if name.starts_with(b"...") { 1 } else { 2 };
        cases.push(case(format!("a name in an archive: {what}"), "x.zip", beside(stored(name, "one")), Read(n)));
    }
    cases.extend(long_and_twin_names());
    cases
}

fn long_and_twin_names() -> Vec<Case> {
    let mut cases = Vec::new();
    let long = "n".repeat(65_000) + ".txt";
    cases.push(case(
        "a name of 65,000 bytes",
        "x.zip",
        beside(stored(&long, "one")),
        Both(1, "an entry whose name has 65004 bytes"),
    ));
    let deep = "a/".repeat(20_000) + "x.txt";
    cases.push(case(
        "a name of 20,000 folders",
        "x.zip",
        beside(stored(&deep, "one")),
        Both(1, "an entry whose name has"),
    ));
    cases.push(case("a folder that has bytes", "x.zip", beside(stored("a/", "one")), Both(1, "a folder with bytes")));
    cases.push(case("a folder", "x.zip", beside(stored("a/", "")), Read(1)));
    cases.push(case("a hidden entry", "x.zip", beside(stored(".a.txt", "one")), Read(1)));
    let twice = zip(&[stored("a.txt", "one"), stored("a.txt", "two")]);
    cases.push(case("two entries of one name", "x.zip", twice, Both(1, "two entries of one name")));
    let alike = zip(&[stored("a.txt", "one"), stored("./a.txt", "two")]);
    cases.push(case("two entries of names that become one", "x.zip", alike, Both(1, "two entries of one name")));
    let cases_differ = zip(&[stored("a.txt", "one"), stored("A.TXT", "two")]);
    cases.push(case("names that differ in case", "x.zip", cases_differ, Read(2)));
    let clash = zip(&[stored("a", "one"), stored("a/b.txt", "two")]);
    cases.push(case("a file that is a folder too", "x.zip", clash, Read(2)));
    cases
}

fn lies() -> Vec<Case> {
    let one = || stored("a.txt", "one and more");
    let link = Entry { external: 0o120_777 << 16, ..stored("a.txt", "/etc/passwd") };
    let method = |method| Entry { method, ..one() };
    vec![
        case("an encrypted entry", "x.zip", beside(Entry { flags: 1, ..one() }), Both(1, "encrypted")),
        case("a strongly encrypted entry", "x.zip", beside(Entry { flags: 0x41, ..one() }), Both(1, "encrypted")),
        case("an entry of AES", "x.zip", beside(Entry { flags: 1, ..method(99) }), Both(1, "encrypted")),
        case("a link in an archive", "x.zip", beside(link), Both(1, "a link")),
        case("imploded", "x.zip", beside(method(6)), Both(1, "method")),
        case("deflate64", "x.zip", beside(method(9)), Both(1, "method")),
        case("bzip2", "x.zip", beside(method(12)), Both(1, "method")),
        case("lzma", "x.zip", beside(method(14)), Both(1, "method")),
        case("a method of no one", "x.zip", beside(method(7777)), Both(1, "method")),
        case("stored, said to be deflated", "x.zip", beside(method(8)), Both(1, "cannot be read")),
        case("stored, said to be zstd", "x.zip", beside(method(93)), Both(1, "cannot be read")),
    ]
}

fn lengths() -> Vec<Case> {
    let one = || stored("a.txt", "one and more");
    let packed = || deflated("a.txt", "one one one one one one one");
    let wrong = "check sum or length";
    vec![
        case("a wrong check sum", "x.zip", beside(Entry { crc: 7, ..one() }), Both(1, wrong)),
        case("a length too long", "x.zip", beside(Entry { n_bytes: 13, ..one() }), Both(1, wrong)),
        case("a length too short", "x.zip", beside(Entry { n_bytes: 11, ..one() }), Both(1, wrong)),
        case(
            "a packed length too short",
            "x.zip",
            beside(Entry { n_packed: Some(3), ..packed() }),
            Both(1, "cannot be read"),
        ),
        case(
            "a packed length beyond the file",
            "x.zip",
            beside(Entry { n_packed: Some(1 << 30), ..packed() }),
            Line("overlap"),
        ),
        case("no length at all", "x.zip", beside(Entry { n_bytes: 0, n_packed: Some(0), ..one() }), Both(1, wrong)),
        case(
            "a length of four gigabytes",
            "x.zip",
            beside(Entry { n_bytes: u32::MAX - 1, ..packed() }),
            Both(1, DENSE),
        ),
        case(
            "an entry beyond the file",
            "x.zip",
            beside(Entry { offset: Some(1 << 30), ..one() }),
            Both(1, "cannot be read"),
        ),
        case(
            "an entry in the directory",
            "x.zip",
            beside(Entry { offset: Some(40), ..one() }),
            Both(1, "cannot be read"),
        ),
        case(
            "another name at the entry",
            "x.zip",
            beside(Entry { local_name: Some(b"../../x".to_vec()), ..one() }),
            Read(2),
        ),
        case("a broken extra field", "x.zip", beside(Entry { extra: vec![1, 0, 200, 0, 1], ..one() }), Read(2)),
        case("an extra field of nothing", "x.zip", beside(Entry { extra: vec![0; 40], ..one() }), Read(2)),
        case(
            "zip64 lengths without end",
            "x.zip",
            beside(Entry {
                n_bytes: u32::MAX,
                n_packed: Some(u32::MAX),
                extra: [vec![1, 0, 16, 0], vec![0xff; 16]].concat(),
                ..one()
            }),
            Line("overlap"),
        ),
        case(
            "zip64 lengths that are missing",
            "x.zip",
            beside(Entry { n_bytes: u32::MAX, n_packed: Some(u32::MAX), extra: vec![1, 0, 0, 0], ..one() }),
            Line(DAMAGED),
        ),
        case("a document of an office program", "x.zip", zip(&[stored("[Content_Types].xml", "x")]), Line("office")),
        case("an empty archive", "x.zip", zip(&[]), Line(EMPTY)),
        case("an archive of an empty file", "x.zip", beside(stored("a.txt", "")), Both(1, "empty")),
    ]
}

fn structures() -> Vec<Case> {
    let parts = || zip_parts(&[stored("a.txt", "one"), stored("b.txt", "two")]);
    let with = |end: &dyn Fn(u64, u64) -> Vec<u8>| {
        let Zip { entries, directory, .. } = parts();
        let (n, at) = (directory.len() as u64, entries.len() as u64);
        [entries, directory, end(n, at)].concat()
    };
    let zip64 = |n: u64, n_directory: u64, at: u64, end_at: u64| {
        with(&|_, _| [zip64_end(n, n_directory, at, end_at), zip_end(0xffff, 0xffff_ffff, 0xffff_ffff, b"")].concat())
    };
    let Zip { entries, directory, .. } = parts();
    let (n_entries, n_directory) = (entries.len() as u64, directory.len() as u64);
    let end_at = n_entries + n_directory;
    let whole = zip(&[stored("a.txt", "one")]);
    vec![
        case("an end with more entries", "x.zip", with(&|n, at| zip_end(9, n, at, b"")), Line(DAMAGED)),
        case("an end with fewer entries", "x.zip", with(&|n, at| zip_end(1, n, at, b"")), Read(1)),
        case("an end with no entries", "x.zip", with(&|n, at| zip_end(0, n, at, b"")), Line(EMPTY)),
        case("an end with a directory beyond", "x.zip", with(&|n, at| zip_end(2, n, at + 9999, b"")), Line(DAMAGED)),
        case("an end with a longer directory", "x.zip", with(&|n, at| zip_end(2, n + 9999, at, b"")), Read(2)),
        case("an end with a comment", "x.zip", with(&|n, at| zip_end(2, n, at, b"bye")), Read(2)),
        case(
            "a comment that is an end",
            "x.zip",
            with(&|n, at| zip_end(2, n, at, &zip_end(0, 0, 0, b""))),
            Line(EMPTY),
        ),
        case("a comment of 65,535 bytes", "x.zip", with(&|n, at| zip_end(2, n, at, &[b'x'; 65_535])), Read(2)),
        case(
            "an end and another behind it",
            "x.zip",
            with(&|n, at| [zip_end(2, n, at, b""), zip_end(0, 0, 0, b"")].concat()),
            Line(EMPTY),
        ),
        case(
            "rubbish behind the end",
            "x.zip",
            with(&|n, at| [zip_end(2, n, at, b""), vec![7; 300]].concat()),
            Read(2),
        ),
        case("no end", "x.zip", with(&|_, _| Vec::new()), Line(DAMAGED)),
        case(
            "rubbish before the beginning",
            "x.zip",
            [b"MZ rubbish \0\0\0\0".to_vec(), whole.clone()].concat(),
            Line("binary"),
        ),
        case("a beginning and nothing else", "x.zip", &b"PK\x03\x04"[..], Line(DAMAGED)),
        case("an end and nothing else", "x.zip", zip_end(0, 0, 0, b""), Line(EMPTY)),
        case("an archive behind another", "x.zip", [whole.clone(), whole].concat(), Read(1)),
        case("zip64 that is true", "x.zip", zip64(2, n_directory, n_entries, end_at), Read(2)),
        case("zip64 with entries without end", "x.zip", zip64(u64::MAX, n_directory, n_entries, end_at), Line(DAMAGED)),
        case("zip64 with 2^40 entries", "x.zip", zip64(1 << 40, n_directory, n_entries, end_at), Line(DAMAGED)),
        case("zip64 with a directory without end", "x.zip", zip64(2, u64::MAX, n_entries, end_at), Read(2)),
        case("zip64 with a directory beyond", "x.zip", zip64(2, n_directory, 1 << 50, end_at), Line(DAMAGED)),
        case("zip64 whose end lies beyond", "x.zip", zip64(2, n_directory, n_entries, 1 << 50), Line(DAMAGED)),
        case("zip64 whose end lies at the beginning", "x.zip", zip64(2, n_directory, n_entries, 0), Line(DAMAGED)),
    ]
}

/// An archive that ends within each of its structures.
fn cuts() -> Vec<Case> {
    let Zip { entries, directory, .. } = zip_parts(&[deflated("a.txt", "one one one one"), stored("b.txt", "two")]);
    let end = zip_end(2, directory.len() as u64, entries.len() as u64, b"");
    let (at_directory, at_end) = (entries.len(), entries.len() + directory.len());
    let whole = [entries, directory, end].concat();
    let places = [
        ("the first header", 10),
        ("the first name", 32),
        ("the first bytes", 38),
        ("the second header", at_directory - 30),
        ("the second bytes", at_directory - 1),
        ("before the directory", at_directory),
        ("the directory's first header", at_directory + 20),
        ("the directory's first name", at_directory + 48),
        ("the directory's second header", at_end - 30),
        ("before the end", at_end),
        ("the end's mark", at_end + 2),
        ("the end", at_end + 12),
        ("the end's last byte", whole.len() - 1),
    ];
    places
        .into_iter()
        .map(|(what, at)| case(format!("an archive that ends in {what}"), "x.zip", &whole[..at], Line(DAMAGED)))
        .collect()
}
