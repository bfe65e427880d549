//! The flags that say where a store or a server is and whose memory is meant, shared by commands.

use std::path::PathBuf;

use anyhow::Context as _;
use index::Store;
use index::model::Scope;

use crate::desk::{Desk, connect};
use crate::device::{self, Device};
use crate::hint::advised;
use crate::identity::Caller;
use crate::settings::store_default;
use crate::shared::{Memory, Model};

/// Where the store is.
#[derive(Clone, Debug, clap::Args)]
pub struct StoreArgs {
    /// The store's folder [default: STRATA_STORE, else strata/store in your data folder]
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

impl StoreArgs {
    /// The store's folder.
    ///
    /// # Errors
    /// When none is named and the machine says no data folder.
    pub fn folder(&self) -> anyhow::Result<PathBuf> {
        // Not by clap: there, a variable would count as a flag and clash with --server.
        let named = self.store.clone().or_else(store_default);
        let hint = "name a store with --store DIR or STRATA_STORE";
        named.ok_or_else(|| advised("this machine says no data folder", hint))
    }
}

/// Whose memory is meant.
#[derive(Clone, Debug, clap::Args)]
pub struct ScopeArgs {
    /// Whose memory: a path like acme/ana
    #[arg(long, value_name = "PATH", default_value = "local")]
    pub scope: String,
}

impl ScopeArgs {
    /// The scope, checked.
    ///
    /// # Errors
    /// A malformed path.
    pub fn parse(&self) -> anyhow::Result<Scope> {
        Ok(Scope::parse(&self.scope)?)
    }
}

/// How vectors are made.
#[derive(Clone, Debug, clap::Args)]
pub struct ModelArgs {
    /// minilm, hashed, or the folder of a model [default: the store's own, else minilm]
    #[arg(long, value_name = "NAME|DIR")]
    pub embedder: Option<String>,
}

/// Where vectors and graphs are made.
#[derive(Clone, Debug, clap::Args)]
pub struct DeviceArgs {
    /// Where to compute: auto, cpu, cuda:N, metal:N (strata devices) [default: STRATA_DEVICE, else auto]
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
}

impl DeviceArgs {
    /// The device, not opened yet: the best one where nothing names one.
    pub fn device(&self) -> Device {
        Device::new(self.device.as_deref(), device::BEST)
    }
}

/// Where questions go: a store or a server, and whose memory they ask.
#[derive(Clone, Debug, clap::Args)]
pub struct PlaceArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Ask the server at this address instead of a store
    #[arg(long, value_name = "URL", conflicts_with_all = ["store", "embedder", "device"])]
    server: Option<String>,
    /// The token that the server asks for
    #[arg(long, env = "STRATA_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Whose memory: a path like acme/ana [default: local, or what the token reaches]
    #[arg(long, value_name = "PATH")]
    scope: Option<String>,
    #[command(flatten)]
    model: ModelArgs,
    /// Where to embed the question: auto, cpu, cuda:N, metal:N [default: STRATA_DEVICE, else cpu]
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
}

impl PlaceArgs {
    /// The scope as a request says it; empty, where no flag names one, for the caller's own.
    ///
    /// # Errors
    /// A scope that is named and empty: on the wire it would mean the caller's own.
    pub fn scope(&self) -> anyhow::Result<String> {
        match self.scope.as_deref() {
            Some("") => Ok(Scope::parse("")?.to_string()),
            named => Ok(named.unwrap_or_default().to_owned()),
        }
    }

    /// Opens the store, or connects to the server.
    ///
    /// # Errors
    /// When there is no store, or nobody answers.
    pub fn desk(&self) -> anyhow::Result<Desk> {
        if let Some(url) = &self.server {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .context("starting the network's runtime")?;
            let client = runtime.block_on(connect(url, self.token.as_deref()))?;
            return Ok(Desk::There { runtime, client });
        }
        let folder = self.store.folder()?;
        let store = Store::open(&folder)?;
        // A card takes longer to wake up than the processor takes for one question.
        let device = Device::new(self.device.as_deref(), device::QUICKEST);
        let model = Model::new(self.model.embedder.clone()).on(device);
        Ok(Desk::Here { memory: Box::new(Memory::new(store, model)?), caller: Caller::local_human() })
    }
}

/// How results are printed.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct OutArgs {
    /// Print one JSON value a line
    #[arg(long)]
    pub json: bool,
}
