//! `strata serve`: answer over gRPC.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use index::Store;
use serde_json::json;

use super::DONE;
use super::place::{ModelArgs, OutArgs, StoreArgs};
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
    let store = Store::open_or_create(&args.store.folder()?)?;
    let memory = Memory::new(store, Model::new(args.model.embedder))?;
    memory.warm()?;
    let limits = Limits::STANDARD;
    tracing::info!(?limits, tokens = identity.needs_token(), "starting");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting the network's runtime")?;
    let served = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(addresses.as_slice())
            .await
            .with_context(|| format!("listening on {}", args.listen))?;
        tell(args.out.json, listener.local_addr().context("asking for the bound address")?)?;
        let shutdown = server::asked_to_stop()?;
        server::run(listener, Arc::new(memory), Arc::new(identity), limits, shutdown).await.context("serving")
    });
    runtime.shutdown_timeout(Limits::STANDARD.drain_timeout);
    served?;
    crate::note!("stopped");
    Ok(DONE)
}

fn tell(json: bool, address: std::net::SocketAddr) -> anyhow::Result<()> {
    crate::note!("listening on http://{address}");
    if json {
        let url = format!("http://{address}");
        Out::new(true).value(&json!({"address": address.to_string(), "url": url}))?;
    }
    Ok(())
}
