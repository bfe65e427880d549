//! Clients that are not ours, against a private server: what a stranger needs to talk to Strata.
//!
//! The one package whose tests may use the network, to fetch those clients. Where Python or its
//! package index does not answer, the test says `skipped: …` and passes.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use serve::identity::Identity;
use serve::settings::Limits;
use serve::shared::{Memory, Model};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// A server of this process on a free port, over an empty store without a real model.
pub struct PrivateServer {
    /// `HOST:PORT`.
    pub address: String,
    runtime: Option<Runtime>,
    _store: tempfile::TempDir,
}

impl PrivateServer {
    /// Starts it.
    ///
    /// # Errors
    /// When the machine gives no folder, thread or port.
    pub fn start() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let store = index::Store::open_or_create(folder.path())?;
        let memory = Memory::new(store, Model::new(Some("hashed".to_owned())))?;
        let runtime = Runtime::new()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?.to_string();
        let identity = Arc::new(Identity::LocalHuman);
        let forever = std::future::pending();
        runtime.spawn(serve::server::run(listener, Arc::new(memory), identity, Limits::STANDARD, forever));
        Ok(Self { address, runtime: Some(runtime), _store: folder })
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A Python of its own in `cache` with the packages of `requirements`; made once, used again.
///
/// # Errors
/// Why there is none, in words for a `skipped:` line.
pub fn python_with(cache: &Path, requirements: &Path) -> Result<PathBuf, String> {
    let folder = cache.join("strata-python-client");
    let python = folder.join("bin").join("python");
    if !python.exists() {
        said(Command::new("python3").arg("-m").arg("venv").arg(&folder), "making a virtual environment")?;
    }
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    said(install.arg(requirements), "installing the client's packages")?;
    Ok(python)
}

fn said(command: &mut Command, what: &str) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{what}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last = stderr.lines().last().unwrap_or("no reason given");
    Err(format!("{what}: {last}"))
}
