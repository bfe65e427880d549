//! The token file: which token is whose, by digest. The tokens themselves are nowhere kept.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{ActorKind, Verb};

/// One token of the token file. The token itself is nowhere kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    /// Who holds it.
    pub principal: String,
    /// What kind of actor holds it.
    pub kind: ActorKind,
    /// SHA-256 of the token, 64 hexadecimal digits.
    pub sha256: String,
    /// The scopes it reaches, each with all below it. At least one.
    pub scopes: Vec<String>,
    /// What it may do.
    pub verbs: Vec<Verb>,
}

/// The token file: `[[token]]` tables.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenFile {
    /// Its tokens.
    #[serde(default)]
    pub token: Vec<TokenEntry>,
}

/// Why a token file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not the TOML that is expected.
    #[error("{} is no token file", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// It holds no token.
    #[error("{} holds no token: nobody could enter", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// One of its tokens is not usable.
    #[error("token {number} of {}: {reason}", path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// Which token, from 1.
        number: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// Makes a new token: the token, shown once, and its entry for the token file.
pub fn new_token(principal: &str, kind: ActorKind, scopes: Vec<String>, verbs: Vec<Verb>) -> (String, TokenEntry) {
    // Two random UUIDs: 244 bits from the system's generator.
    let token = format!("strata_{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
    let entry = TokenEntry {
        principal: principal.to_owned(),
        kind,
        sha256: hex(&Sha256::digest(token.as_bytes())),
        scopes,
        verbs,
    };
    (token, entry)
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads 64 hexadecimal digits.
pub(super) fn unhex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut out = [0; 32];
    for (slot, pair) in out.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *slot = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(out)
}
