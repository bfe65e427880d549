//! `strata serve`: answer over gRPC.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use index::Store;
use serde_json::json;

use super::DONE;
use super::place::{DeviceArgs, ModelArgs, OutArgs, StoreArgs};
use crate::hint::advised;
use crate::identity::Identity;
use crate::print::Out;
use crate::server;
use crate::settings::{LISTEN_DEFAULT, Limits, check_listen};
use crate::shared::{Memory, Model};

const EXAMPLES: &str = "\
Examples:
  strata serve                                      on 127.0.0.1:7077, for this machine alone
  strata serve --listen 127.0.0.1:0 --json          any free port, told on stdout
  strata serve --tokens tokens.toml                 callers show a token (strata tokens new)

Without tokens everyone who reaches the server may do everything, so it listens on loopback only";

/// Answer questions over gRPC
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    device: DeviceArgs,
    /// Where to listen; port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = LISTEN_DEFAULT)]
    listen: String,
    /// The token file: who may do what (strata tokens new)
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// With --tokens: listen where others can reach it although nothing is encrypted
    #[arg(long, requires = "tokens")]
    insecure_plaintext: bool,
    #[command(flatten)]
    out: OutArgs,
}

/// Serves until SIGINT or SIGTERM.
///
/// # Errors
/// When the address is unsafe or taken, or the store or its model is not there.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let identity = match &args.tokens {
        Some(path) => Identity::from_file(path)?,
        None => Identity::LocalHuman,
    };
    let addresses = check_listen(&args.listen, &identity, args.insecure_plaintext)?;
    let store = open_or_create(&args.store.folder()?)?;
    let memory = Memory::new(store, Model::new(args.model.embedder).on(args.device.device()))?;
    let device = memory.device()?.name;
    memory.warm()?;
    let limits = Limits::STANDARD;
    tracing::info!(?limits, device, tokens = identity.needs_token(), "starting");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting the network's runtime")?;
    let served = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(addresses.as_slice())
            .await
            .map_err(|error| cannot_listen(&args.listen, &error))?;
        tell(args.out.json, listener.local_addr().context("asking for the bound address")?, &device)?;
        let shutdown = server::asked_to_stop()?;
        server::run(listener, Arc::new(memory), Arc::new(identity), limits, shutdown).await.context("serving")
    });
    runtime.shutdown_timeout(Limits::STANDARD.drain_timeout);
    served?;
    crate::note!("stopped");
    Ok(DONE)
}

/// The store in `folder`; where there is none an empty one is made, told on stderr: a caller may add the
/// first source.
fn open_or_create(folder: &Path) -> anyhow::Result<Store> {
    match Store::open(folder) {
        Err(index::Error::NoStore { .. }) => {
            let store = Store::open_or_create(folder)?;
            crate::note!("made an empty store at {}", folder.display());
            Ok(store)
        }
        opened => Ok(opened?),
    }
}

fn cannot_listen(given: &str, error: &io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there; --listen 127.0.0.1:0 takes any free port",
        io::ErrorKind::PermissionDenied => "ports below 1024 are the administrator's; take a higher one with --listen",
        _ => "this machine has no such address; leave --listen out for 127.0.0.1:7077",
    };
    advised(format!("cannot listen on {given}: {error}"), hint)
}

fn tell(json: bool, address: std::net::SocketAddr, device: &str) -> anyhow::Result<()> {
    crate::note!("listening on http://{address} (device {device})");
    if json {
        let url = format!("http://{address}");
        Out::new(true).value(&json!({"address": address.to_string(), "url": url, "device": device}))?;
    }
    Ok(())
}
