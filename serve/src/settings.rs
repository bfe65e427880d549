//! How a server runs: its bounds, where it may listen, where a store is when nobody says.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use crate::identity::Identity;

/// Where `strata serve` listens unless told otherwise.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:7077";
/// The model of a store that has none yet.
pub const EMBEDDER_DEFAULT: &str = "minilm";

/// The bounds of a server. Data only; printed at start.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Limits {
    /// Bytes of one request message.
    pub request_bytes_max: usize,
    /// Bytes of one answer message.
    pub answer_bytes_max: usize,
    /// Calls at once on one connection; the rest is shed.
    pub calls_per_connection_max: usize,
    /// Calls at once over all connections; the rest is RESOURCE_EXHAUSTED.
    pub calls_max: usize,
    /// HTTP/2 streams at once on one connection.
    pub streams_max: u32,
    /// Bytes of one request's headers.
    pub header_bytes_max: u32,
    /// Reset streams not yet seen by us, on one connection.
    pub reset_streams_max: usize,
    /// Longest that a caller waits.
    pub call_timeout: Duration,
    /// Longest that calls in flight are waited for at the end.
    pub drain_timeout: Duration,
    /// How often the store is asked for a newer manifest.
    pub refresh_interval: Duration,
}

impl Limits {
    /// The bounds of a server in use.
    pub const STANDARD: Self = Self {
        request_bytes_max: 4 << 20,
        answer_bytes_max: 8 << 20,
        calls_per_connection_max: 64,
        calls_max: 128,
        streams_max: 128,
        header_bytes_max: 16 << 10,
        reset_streams_max: 20,
        call_timeout: Duration::from_secs(30),
        drain_timeout: Duration::from_secs(25),
        refresh_interval: Duration::from_millis(500),
    };
}

/// Why a server does not start where it was asked to.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ListenError {
    /// The address is no address.
    #[error("{given:?} is no address to listen on: HOST:PORT, like 127.0.0.1:7077")]
    Address {
        /// As given.
        given: String,
    },
    /// Others could reach it and nobody is told apart.
    #[error("refused to listen on {given}: others can reach it, and without tokens everyone may do everything")]
    Open {
        /// As given.
        given: String,
    },
    /// Others could listen in.
    #[error(
        "refused to listen on {given}: others can reach it, and tokens and memories would cross the network in clear"
    )]
    Clear {
        /// As given.
        given: String,
    },
}

impl ListenError {
    /// The way out.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Address { .. } => "try --listen 127.0.0.1:7077, or port 0 for any free one",
            Self::Open { .. } => {
                "listen on 127.0.0.1, or make tokens (strata tokens new --principal NAME) and pass --tokens FILE"
            }
            Self::Clear { .. } => {
                "listen on 127.0.0.1 behind a proxy that speaks TLS, or accept it with --insecure-plaintext"
            }
        }
    }
}

/// The addresses of `given`, where it is safe to listen there.
///
/// # Errors
/// [`ListenError`] where others could reach it without tokens, or with tokens but in clear.
pub fn check_listen(
    given: &str,
    identity: &Identity,
    insecure_plaintext: bool,
) -> Result<Vec<SocketAddr>, ListenError> {
    let refused = || ListenError::Address { given: given.to_owned() };
    let addresses: Vec<SocketAddr> = given.to_socket_addrs().map_err(|_| refused())?.collect();
    if addresses.is_empty() {
        return Err(refused());
    }
    if addresses.iter().all(|address| address.ip().is_loopback()) {
        return Ok(addresses);
    }
    let given = given.to_owned();
    match (identity.needs_token(), insecure_plaintext) {
        (false, _) => Err(ListenError::Open { given }),
        (true, false) => Err(ListenError::Clear { given }),
        (true, true) => Ok(addresses),
    }
}

/// The store where no flag names one: `STRATA_STORE`, else `strata/store` in the user's data folder.
pub fn store_default() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("STRATA_STORE").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let folders = directories::BaseDirs::new()?;
    Some(folders.data_dir().join("strata").join("store"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_open_to_all() {
        let tokens = Identity::Tokens(Vec::new());
        let refused = |given: &str, identity: &Identity, plain| check_listen(given, identity, plain).is_err();
        for near in ["127.0.0.1:0", "[::1]:7077", "127.8.8.8:1"] {
            assert!(!refused(near, &Identity::LocalHuman, false), "{near} was refused");
        }
        for far in ["0.0.0.0:0", "[::]:0", "10.1.2.3:7077"] {
            assert!(refused(far, &Identity::LocalHuman, false), "{far} was taken");
            assert!(refused(far, &Identity::LocalHuman, true), "{far} was taken without tokens");
            assert!(refused(far, &tokens, false), "{far} was taken in clear");
            assert!(!refused(far, &tokens, true), "{far} was refused against a plain wish");
        }
        for bad in ["", "7077", "nowhere", "127.0.0.1:99999"] {
            assert!(refused(bad, &tokens, true), "{bad:?} was taken");
        }
    }
}
