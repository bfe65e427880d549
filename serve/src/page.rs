//! Page tokens: where a listing goes on, sealed so that only this server run can have made them.
//!
//! A token never authorises: the caller is checked anew with every page.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::error::{Error, Result};
use crate::identity::hex;

/// Bytes of a token before it is written in hexadecimal: version, row, seal.
const TOKEN_BYTES: usize = 8 + 8 + 16;

/// Seals and opens page tokens.
pub struct PageSeal {
    secret: [u8; 32],
}

/// Where a listing goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The manifest version the listing is read from.
    pub version: u64,
    /// The first row of the page.
    pub row: u64,
}

impl PageSeal {
    /// A seal for one server run.
    pub fn new() -> Self {
        let mut hasher = Sha256::new();
        hasher.update(uuid::Uuid::new_v4().as_bytes());
        hasher.update(uuid::Uuid::new_v4().as_bytes());
        Self { secret: hasher.finalize().into() }
    }

    /// Writes `page` as a token good for `request` alone: everything that must not change between pages.
    pub fn seal(&self, page: Page, request: &str) -> String {
        let mut bytes = [0; TOKEN_BYTES];
        bytes[..8].copy_from_slice(&page.version.to_be_bytes());
        bytes[8..16].copy_from_slice(&page.row.to_be_bytes());
        bytes[16..].copy_from_slice(&self.mark(page, request));
        hex(&bytes)
    }

    /// Reads a token back.
    ///
    /// # Errors
    /// [`Error::Page`] where it was not sealed here for `request`.
    pub fn open(&self, token: &str, request: &str) -> Result<Page> {
        let refused = Error::Page { reason: "not from the page before of this same request; start again without it" };
        let number = |range: std::ops::Range<usize>| {
            let digits = token.get(range)?;
            u64::from_str_radix(digits, 16).ok()
        };
        if token.len() != TOKEN_BYTES * 2 {
            return Err(refused);
        }
        let (Some(version), Some(row)) = (number(0..16), number(16..32)) else {
            return Err(refused);
        };
        let page = Page { version, row };
        let expected = self.seal(page, request);
        if bool::from(expected.as_bytes().ct_eq(token.as_bytes())) { Ok(page) } else { Err(refused) }
    }

    // The prefix has one length for each request and the hash is cut to half, so that a longer
    // message cannot be marked from a shorter one.
    fn mark(&self, page: Page, request: &str) -> [u8; 16] {
        let mut hasher = Sha256::new();
        hasher.update(self.secret);
        hasher.update(page.version.to_be_bytes());
        hasher.update(page.row.to_be_bytes());
        hasher.update(request.as_bytes());
        let mut mark = [0; 16];
        mark.copy_from_slice(&hasher.finalize()[..16]);
        mark
    }
}

impl Default for PageSeal {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_request_alone() {
        let seal = PageSeal::new();
        let page = Page { version: 7, row: 100 };
        let token = seal.seal(page, "ana|a/b");
        assert_eq!(seal.open(&token, "ana|a/b").unwrap(), page);
        assert!(seal.open(&token, "ana|a").is_err());
        assert!(PageSeal::new().open(&token, "ana|a/b").is_err());
        for bad in ["", "ä", &token[1..], &token.replace('6', "7"), &"é".repeat(32)] {
            let _ = seal.open(bad, "ana|a/b");
        }
    }
}
