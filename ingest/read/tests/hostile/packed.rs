//! Single files behind gzip and zstd.

use super::build::{gzip, tar, tar_entry, zstd};
use super::{Both, Case, Line, Read, case, lazy};

const DENSE: &str = "more than 200 times";
const BROKEN: &str = "cannot be read";

fn zeros(n_mib: usize) -> Vec<u8> {
    vec![b' '; n_mib << 20]
}

pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        lazy("a gzip bomb", "x.txt.gz", || gzip(&zeros(64)), Line(DENSE)),
        lazy(
            "a gzip bomb of JSON",
            "x.json.gz",
            || gzip(&[br#"[{"role":"user","content":"hi"},"#, &zeros(64)[..]].concat()),
            Both(1, DENSE),
        ),
        lazy("a zstd bomb", "x.txt.zst", || zstd(&zeros(64)), Line(DENSE)),
        lazy("a gzip bomb in a gzip", "x.txt.gz.gz", || gzip(&gzip(&zeros(256))), Line(DENSE)),
        lazy("a gzip bomb in two", "x.txt.gz.gz.gz", || gzip(&gzip(&gzip(&zeros(256)))), Line(DENSE)),
        lazy("a zstd bomb in a gzip", "x.txt.zst.gz", || gzip(&zstd(&zeros(256))), Line(DENSE)),
        lazy("a tar bomb in a gzip", "x.tgz", || gzip(&tar(&[tar_entry(b"a.txt", b'0', &zeros(64))])), Line(DENSE)),
        lazy("a tar bomb in a zstd", "x.tar.zst", || zstd(&tar(&[tar_entry(b"a.txt", b'0', &zeros(64))])), Line(DENSE)),
        lazy("ten thousand empty members", "x.txt.gz", || [gzip(b"").repeat(10_000), gzip(b"one")].concat(), Read(1)),
    ];
    cases.extend(gzips());
    cases.extend(zstds());
    cases
}

fn gzips() -> Vec<Case> {
    let whole = gzip(b"one and two and three");
    let changed = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] ^= byte;
        bytes
    };
    let n = whole.len();
    let with = |flags: u8, more: &[u8]| [&whole[..3], &[flags], &whole[4..10], more, &whole[10..]].concat();
    vec![
        case("two members", "x.txt.gz", [gzip(b"one "), gzip(b"two")].concat(), Read(1)),
        case("an empty member and another", "x.txt.gz", [gzip(b""), gzip(b"two")].concat(), Read(1)),
        case("an empty member", "x.txt.gz", gzip(b""), Line("empty")),
        case("rubbish behind a member", "x.txt.gz", [&whole[..], b"rubbish behind it"].concat(), Line(BROKEN)),
        case("zeros behind a member", "x.txt.gz", [&whole[..], &[0; 512]].concat(), Line(BROKEN)),
        case("half a member behind a member", "x.txt.gz", [&whole[..], &whole[..12]].concat(), Line(BROKEN)),
        case("a gzip of its first bytes", "x.txt.gz", &whole[..3], Line(BROKEN)),
        case("a gzip that ends in its header", "x.txt.gz", &whole[..7], Line(BROKEN)),
        case("a gzip without bytes", "x.txt.gz", &whole[..10], Line(BROKEN)),
        case("a gzip that ends in its bytes", "x.txt.gz", &whole[..n - 12], Line(BROKEN)),
        case("a gzip without its check sum", "x.txt.gz", &whole[..n - 8], Line(BROKEN)),
        case("a gzip with half its length", "x.txt.gz", &whole[..n - 2], Line(BROKEN)),
        case("a gzip of a wrong check sum", "x.txt.gz", changed(n - 6, 7), Line(BROKEN)),
        case("a gzip of a wrong length", "x.txt.gz", changed(n - 1, 7), Line(BROKEN)),
        case("a gzip of a method of no one", "x.txt.gz", changed(2, 0x0f), Line("binary")),
        case("a gzip of flags of no one", "x.txt.gz", changed(3, 0xe0), Line(BROKEN)),
        case("a gzip with a name that leads out", "x.txt.gz", with(8, b"../../evil.txt\0"), Read(1)),
        case(
            "a gzip with a name without end",
            "x.txt.gz",
            [&whole[..3], &[8], &whole[4..10], &[b'n'; 9000]].concat(),
            Line(BROKEN),
        ),
        case("a gzip with an extra field", "x.txt.gz", with(4, b"\x02\0ab"), Read(1)),
        case("a gzip with an extra field beyond it", "x.txt.gz", with(4, b"\xff\xff"), Line(BROKEN)),
        case("a gzip with a wrong header's check sum", "x.txt.gz", with(2, b"\0\0"), Line(BROKEN)),
        case("a gzip of a gzip that is none", "x.txt.gz.gz", gzip(b"\x1f\x8b\x08 is how it begins"), Line(BROKEN)),
        case("a gzip without an ending", "notes", whole.clone(), Read(1)),
        case("a gzip called as a text", "x.txt", whole.clone(), Read(1)),
    ]
}

fn zstds() -> Vec<Case> {
    let whole = zstd(b"one and two and three");
    let n = whole.len();
    // Frame header: window descriptor of 2^41 bytes; one raw block.
    let window = [&b"\x28\xb5\x2f\xfd\x00\xf8"[..], b"\x19\0\0one"].concat();
    // Frame header: single segment, 8 bytes of content size.
    let huge = [&b"\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\x7f"[..], b"\x19\0\0one"].concat();
    let dictionary = [&b"\x28\xb5\x2f\xfd\x21\x07\x03"[..], b"\x19\0\0one"].concat();
    let skippable = [&b"\x50\x2a\x4d\x18\x04\0\0\0skip"[..], &whole].concat();
    let behind = [&whole[..], b"\x50\x2a\x4d\x18\x04\0\0\0skip"].concat();
    let endless = [&whole[..], b"\x50\x2a\x4d\x18\xff\xff\xff\xff"].concat();
    vec![
        case("two frames", "x.txt.zst", [zstd(b"one "), zstd(b"two")].concat(), Read(1)),
        case("rubbish behind a frame", "x.txt.zst", [&whole[..], b"rubbish behind it"].concat(), Line(BROKEN)),
        case("a zstd of its first bytes", "x.txt.zst", &whole[..5], Line(BROKEN)),
        case("a zstd that ends in its block", "x.txt.zst", &whole[..n - 6], Line(BROKEN)),
        case("a window of two terabytes", "x.txt.zst", window, Line(BROKEN)),
        case("a content of exabytes", "x.txt.zst", huge, Line(BROKEN)),
        case("a dictionary that no one has", "x.txt.zst", dictionary, Line(BROKEN)),
        case("a frame to skip before it", "x.txt.zst", skippable, Line("binary")),
        case("a frame to skip behind it", "x.txt.zst", behind, Read(1)),
        case("a frame to skip without end", "x.txt.zst", endless, Line(BROKEN)),
        case(
            "a block of a kind of no one",
            "x.txt.zst",
            [&b"\x28\xb5\x2f\xfd\x20\x03"[..], b"\x1f\0\0one"].concat(),
            Line(BROKEN),
        ),
        case("an empty zstd", "x.txt.zst", zstd(b""), Line("empty")),
    ]
}
