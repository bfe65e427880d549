//! Tar archives.

use super::build::{gzip, pax, tar, tar_entry, tar_header};
use super::{Both, Case, Line, Read, case, lazy};

const DAMAGED: &str = "damaged tar archive";
const OUTSIDE: &str = "names lead out of the archive";

/// An archive with an entry to be read before and behind the hostile ones.
fn between(hostile: &[Vec<u8>]) -> Vec<u8> {
    let mut entries = vec![tar_entry(b"a.txt", b'0', b"one")];
    entries.extend_from_slice(hostile);
    entries.push(tar_entry(b"b.txt", b'0', b"two"));
    tar(&entries)
}

pub fn cases() -> Vec<Case> {
    let mut cases = kinds();
    cases.extend(names());
    cases.extend(sizes());
    cases.extend(cuts());
    cases
}

fn kinds() -> Vec<Case> {
    let kinds: &[(&str, u8, &str)] = &[
        ("a symbolic link", b'2', "a link"),
        ("a hard link", b'1', "a link"),
        ("a character device", b'3', "neither file nor folder"),
        ("a block device", b'4', "neither file nor folder"),
        ("a pipe", b'6', "neither file nor folder"),
        ("a volume's label", b'V', "neither file nor folder"),
        ("a continued file", b'M', "neither file nor folder"),
        ("a kind of no one", b'Z', "neither file nor folder"),
    ];
    let mut cases: Vec<Case> = kinds
        .iter()
        .map(|(what, kind, words)| {
            case(format!("{what} in a tar"), "x.tar", between(&[tar_entry(b"x.txt", *kind, b"")]), Both(2, words))
        })
        .collect();
    cases.push(case("a folder in a tar", "x.tar", between(&[tar_entry(b"x/", b'5', b"")]), Read(2)));
    cases.push(case("a contiguous file", "x.tar", between(&[tar_entry(b"x.txt", b'7', b"one")]), Read(3)));
    cases.push(case("a file of the oldest kind", "x.tar", between(&[tar_entry(b"x.txt", 0, b"one")]), Read(3)));
    cases
}

fn names() -> Vec<Case> {
    let outside: &[(&str, &[u8])] = &[
        ("up", b"../x.txt"),
        ("absolute", b"/tmp/x.txt"),
        ("down and up", b"a/../../x.txt"),
        ("of a drive", b"C:\\x.txt"),
        ("empty", b""),
    ];
    let inside: &[(&str, &[u8])] =
        &[("not UTF-8", b"caf\xe9.txt"), ("with a line end", b"x\ny.txt"), ("of 100 bytes", &[b'n'; 100])];
    let mut cases = Vec::new();
    for (what, name) in outside {
        let bytes = between(&[tar_entry(name, b'0', b"evil")]);
        cases.push(case(format!("a name in a tar: {what}"), "x.tar", bytes, Both(2, OUTSIDE)));
    }
    for (what, name) in inside {
        let bytes = between(&[tar_entry(name, b'0', b"one")]);
        cases.push(case(format!("a name in a tar: {what}"), "x.tar", bytes, Read(3)));
    }
    let long = |name: &[u8]| between(&[tar_entry(b"././@LongLink", b'L', name), tar_entry(b"x", b'0', b"one")]);
    cases.push(case("GNU's long name", "x.tar", long(&[&b"n".repeat(300)[..], b".txt\0"].concat()), Read(3)));
    cases.push(case("GNU's long name that leads out", "x.tar", long(b"../../x.txt\0"), Both(2, OUTSIDE)));
    cases.push(case("GNU's long name with NUL", "x.tar", long(b"x\0y.txt\0"), Read(3)));
    cases.push(lazy(
        "GNU's long name of 40 MiB",
        "x.tar",
        || {
            let name = b"n".repeat(40 << 20);
            between(&[tar_entry(b"././@LongLink", b'L', &name), tar_entry(b"x", b'0', b"one")])
        },
        Both(1, "over 1 MiB"),
    ));
    let pax_of = |records: &[u8]| between(&[tar_entry(b"p", b'x', records), tar_entry(b"x.txt", b'0', b"one")]);
    cases.push(case("a pax name that leads out", "x.tar", pax_of(&pax("path", b"../../x")), Both(2, OUTSIDE)));
    cases.push(case("a pax name that is not UTF-8", "x.tar", pax_of(&pax("path", b"caf\xe9.txt")), Read(3)));
    cases.push(case("a pax record without length", "x.tar", pax_of(b"path=x\n"), Read(3)));
    cases.push(case("a pax record that is too long", "x.tar", pax_of(b"999 path=x\n"), Read(3)));
    cases.push(case("a pax link", "x.tar", pax_of(&pax("linkpath", b"/etc/passwd")), Read(3)));
    let global = between(&[tar_entry(b"g", b'g', &pax("comment", b"x"))]);
    cases.push(case("a global pax header", "x.tar", global, Read(2)));
    let twice = between(&[tar_entry(b"a.txt", b'0', b"again")]);
    cases.push(case("two entries of one name in a tar", "x.tar", twice, Both(2, "two entries of one name")));
    cases
}

fn sizes() -> Vec<Case> {
    let sized = |size: &[u8]| {
        let entry = [tar_header(b"x.txt", b'0', size, b""), vec![b'x'; 512]].concat();
        [tar_entry(b"a.txt", b'0', b"one"), entry].concat()
    };
    let mut broken = between(&[]);
    broken[1024 + 148] ^= 1;
    let mut early = between(&[]);
    early.splice(1024..1024, vec![0; 1024]);
    let pax_size =
        |size: &[u8]| between(&[tar_entry(b"p", b'x', &pax("size", size)), tar_entry(b"x.txt", b'0', b"one")]);
    vec![
        case("a size beyond the archive", "x.tar", sized(b"77777777777\0"), Both(1, "ends inside it")),
        case("a size of 2^95", "x.tar", sized(b"\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), Both(1, "")),
        case("a size below nothing", "x.tar", sized(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), Both(1, "")),
        case("a size that is no number", "x.tar", sized(b"many bytes\0\0"), Both(1, DAMAGED)),
        case("a wrong check sum in a tar", "x.tar", broken, Both(1, DAMAGED)),
        case("an end and more behind it", "x.tar", early, Read(1)),
        case("no end in a tar", "x.tar", tar_entry(b"a.txt", b'0', b"one"), Read(1)),
        case("one zero block at the end", "x.tar", [tar_entry(b"a.txt", b'0', b"one"), vec![0; 512]].concat(), Read(1)),
        case("rubbish behind a tar", "x.tar", [between(&[]), vec![7; 700]].concat(), Read(2)),
        case("a tar of nothing", "x.tar", vec![0; 10_240], Line("binary")),
        case("a pax size beyond the archive", "x.tar", pax_size(b"99999999"), Both(1, "ends inside it")),
        case("a pax size of 2^64", "x.tar", pax_size(b"18446744073709551615"), Both(1, "")),
        case("a pax size below nothing", "x.tar", pax_size(b"-1"), Read(3)),
        sparse(),
        lazy(
            "a sparse file of an exabyte",
            "x.tar",
            || {
                let mut header = tar_header(b"x.txt", b'S', b"00000000000\0", b"");
                header[386..398].copy_from_slice(b"77777777777\0");
                header[483..495].copy_from_slice(b"\x80\0\0\0\x0f\xff\xff\xff\xff\xff\xff\xff");
                between(&[header])
            },
            Both(1, DAMAGED),
        ),
    ]
}

/// A sparse file of one block that is a hole, as GNU's tar writes it.
fn sparse() -> Case {
    let mut header = tar_header(b"x.txt", b'S', b"00000000000\0", b"");
    header[386..398].copy_from_slice(b"00000001000\0");
    header[398..410].copy_from_slice(b"00000000000\0");
    header[483..495].copy_from_slice(b"00000001000\0");
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    case("a sparse file in a tar", "x.tar", between(&[header]), Both(2, "neither file nor folder"))
}

fn cuts() -> Vec<Case> {
    let whole = between(&[]);
    let packed = gzip(&whole);
    vec![
        case("a tar that ends in its first header", "x.tar", &whole[..300], Line(DAMAGED)),
        case("a tar that ends in its first bytes", "x.tar", &whole[..514], Line("ends inside it")),
        case("a tar that ends in padding", "x.tar", &whole[..600], Read(1)),
        case("a tar that ends in its second header", "x.tar", &whole[..1200], Both(1, DAMAGED)),
        case("a tar that ends in its second bytes", "x.tar", &whole[..1537], Both(1, "ends inside it")),
        case("a packed tar that ends early", "x.tgz", &packed[..packed.len() / 2], Line("cannot be read")),
        case("a packed tar without its check sum", "x.tgz", &packed[..packed.len() - 8], Line("cannot be read")),
    ]
}
