//! What a disk may hold beside files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use super::{Both, Case, Line, Lines, Read, folder};

const LOOP: &str = "a link that leads back";

pub fn cases() -> Vec<Case> {
    let mut cases = links();
    cases.extend(names());
    cases.extend(sizes());
    cases
}

fn links() -> Vec<Case> {
    vec![
        folder("a link to its own folder", |at| symlink(".", at.join("loop")).unwrap(), Line(LOOP)),
        folder("a link to the folder above", |at| symlink("..", at.join("loop")).unwrap(), Line(LOOP)),
        folder("a link to itself", |at| symlink("loop", at.join("loop")).unwrap(), Line("cannot be read")),
        folder(
            "links to each other",
            |at| {
                symlink("b", at.join("a")).unwrap();
                symlink("a", at.join("b")).unwrap();
            },
            Lines(0, 2, "cannot be read"),
        ),
        folder(
            "a folder that links to the one above",
            |at| {
                fs::create_dir(at.join("a")).unwrap();
                fs::write(at.join("a/x.txt"), "one").unwrap();
                symlink("..", at.join("a/loop")).unwrap();
            },
            Both(1, LOOP),
        ),
        folder("a link to nothing", |at| symlink("gone.txt", at.join("x.txt")).unwrap(), Line("cannot be read")),
        folder("a link to a device", |at| symlink("/dev/zero", at.join("x.txt")).unwrap(), Line("neither")),
        folder("a link to what never ends", |at| symlink("/dev/random", at.join("x.txt")).unwrap(), Line("neither")),
        folder("a link to a folder of the system", |at| symlink("/dev/null", at.join("x")).unwrap(), Line("neither")),
        folder("a link to the neighbour", |at| symlink("zz-neighbour.txt", at.join("x.txt")).unwrap(), Read(1)),
        folder("a socket", |at| drop(UnixListener::bind(at.join("x.txt")).unwrap()), Line("neither")),
        folder("a pipe", pipe, Line("neither")),
    ]
}

fn names() -> Vec<Case> {
    vec![
        folder(
            "a file no one may read",
            |at| {
                fs::write(at.join("x.txt"), "one").unwrap();
                fs::set_permissions(at.join("x.txt"), fs::Permissions::from_mode(0o000)).unwrap();
            },
            if is_root() { Read(1) } else { Line("cannot be read") },
        ),
        folder("a name that is not UTF-8", |at| fs::write(at.join(odd(b"caf\xe9.txt")), "one").unwrap(), Read(1)),
        folder(
            "two names that are not UTF-8 and look alike",
            |at| {
                fs::write(at.join(odd(b"caf\xe9.txt")), "one").unwrap();
                fs::write(at.join(odd(b"caf\xe8.txt")), "two").unwrap();
            },
            Read(2),
        ),
        folder("a name with a line end", |at| fs::write(at.join("x\ny.txt"), "one").unwrap(), Read(1)),
        folder("a name of spaces", |at| fs::write(at.join("  "), "one").unwrap(), Read(1)),
        folder("a name of dots", |at| fs::write(at.join("a..."), "one").unwrap(), Read(1)),
        folder("a name of 255 bytes", |at| fs::write(at.join("n".repeat(251) + ".txt"), "one").unwrap(), Read(1)),
        folder(
            "a path of 400 folders",
            |at| {
                let deep = (0..400).fold(at.to_owned(), |path, _| path.join("a"));
                fs::create_dir_all(&deep).unwrap();
                fs::write(deep.join("x.txt"), "one").unwrap();
            },
            Read(1),
        ),
        folder("a folder called as a file", |at| fs::create_dir(at.join("x.json")).unwrap(), Read(0)),
        folder(
            "a folder called as an archive",
            |at| {
                fs::create_dir(at.join("x.zip")).unwrap();
                fs::write(at.join("x.zip/a.txt"), "one").unwrap();
            },
            Read(1),
        ),
    ]
}

fn sizes() -> Vec<Case> {
    vec![
        folder("a hidden file", |at| fs::write(at.join(".x.txt"), "one").unwrap(), Read(0)),
        folder(
            "ten thousand tiny files",
            |at| {
                (0..10_000).for_each(|n| fs::write(at.join(format!("{n}.txt")), "one").unwrap());
            },
            Read(10_000),
        ),
        folder(
            "a sparse file of a terabyte",
            |at| {
                fs::File::create(at.join("x.txt")).unwrap().set_len(1 << 40).unwrap();
            },
            Line("binary"),
        ),
        folder(
            "a sparse file of words and a terabyte",
            |at| {
                fs::write(at.join("x.txt"), "one ".repeat(30_000)).unwrap();
                fs::File::options().write(true).open(at.join("x.txt")).unwrap().set_len(1 << 40).unwrap();
            },
            Line("at most 67108864"),
        ),
        folder(
            "a folder of Slack without days",
            |at| {
                fs::write(at.join("channels.json"), "[]").unwrap();
                fs::write(at.join("users.json"), "[]").unwrap();
            },
            Line("without messages"),
        ),
    ]
}

fn odd(name: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(name)
}

fn pipe(at: &Path) {
    let status = std::process::Command::new("mkfifo").arg(at.join("x.txt")).status().unwrap();
    assert!(status.success());
}

/// Whether permissions hold no one back.
fn is_root() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    fs::write(&path, "x").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    fs::read(&path).is_ok()
}
