//! A world for tests: a folder, a corpus, a store, the program, a server on a free port and its clients.
//!
//! Knows the doors a user has (command line and gRPC) and what they say. Does not know how they work.

#![forbid(unsafe_code)]

mod client;
mod done;
mod server;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub use client::Client;
pub use done::Done;
pub use server::{Server, Token};

/// A folder of its own with a store in it, and the program that works on it.
pub struct World {
    folder: TempDir,
    program: PathBuf,
}

impl World {
    /// An empty world for `program`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        Self { folder, program: program.into() }
    }

    /// A world whose store holds the sample archive, embedded by hashing.
    pub fn with_sample(program: impl Into<PathBuf>) -> Self {
        let world = Self::new(program);
        world.import(&sample_paths()).succeeds();
        world
    }

    /// A path inside this world.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where the store is.
    pub fn store(&self) -> PathBuf {
        self.path("store")
    }

    /// Writes a file of this world, with the folders it needs, and says where it is.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        let parent = path.parent().expect("the path lies in the world");
        fs::create_dir_all(parent).expect("the folder can be made");
        fs::write(&path, bytes).expect("the file can be written");
        path
    }

    /// The program with these arguments, in this world's folder, with nothing of the user's settings.
    pub fn command<A: AsRef<std::ffi::OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("STRATA_") && name != "STRATA_MODELS" {
                command.env_remove(name);
            }
        }
        command.env("RUST_BACKTRACE", "0");
        command
    }

    /// Runs the program with these arguments to its end.
    pub fn run<A: AsRef<std::ffi::OsStr>>(&self, arguments: &[A]) -> Done {
        Done::of(&mut self.command(arguments))
    }

    /// Runs a command on this world's store: `--store` is put after the command's name.
    pub fn on_store(&self, arguments: &[&str]) -> Done {
        let store = self.store();
        let store = store.to_string_lossy();
        let mut all = vec![arguments[0], "--store", &store];
        all.extend(&arguments[1..]);
        self.run(&all)
    }

    /// Imports `arguments` (paths and flags) with the hashed embedder.
    pub fn import<A: AsRef<str>>(&self, arguments: &[A]) -> Done {
        let mut all = vec!["import", "--embedder", "hashed"];
        all.extend(arguments.iter().map(AsRef::as_ref));
        self.on_store(&all)
    }

    /// Writes one note and imports it: the smallest write there is.
    pub fn import_note(&self, scope: &str, name: &str, text: &str) -> Done {
        let path = self.write(&format!("notes/{scope}/{name}"), text);
        self.import(&["--scope", scope, "--collection", "notes", &path.to_string_lossy()])
    }

    /// Starts a server of this world's store on a free port of this machine.
    pub fn serve(&self, tokens: &[Token]) -> Server {
        Server::start(self, tokens)
    }
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace")
}

/// The sample archive.
pub fn sample() -> PathBuf {
    root().join("tests/data/sample")
}

/// The two folders of the sample archive that are imported.
pub fn sample_paths() -> [String; 2] {
    ["notes", "chats"].map(|folder| sample().join(folder).to_string_lossy().into_owned())
}

/// A folder or file of the real data, or `None` with a line that says that `test` was skipped.
pub fn data(test: &str, name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("STRATA_DATA").map(|root| PathBuf::from(root).join(name));
    let found = path.filter(|path| path.exists());
    if found.is_none() {
        say(&format!("skipped: {test}: no data (STRATA_DATA has no {name})"));
    }
    found
}

/// Prints a line of a test's report, past the capture of the test runner.
pub fn say(line: &str) {
    // One write a line: tests run side by side.
    let _ = std::io::stdout().lock().write_all(format!("{line}\n").as_bytes());
}
