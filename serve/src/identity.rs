//! Who is asking and what they may: tokens become callers, callers become scope sets.
//!
//! The only place that calls [`ScopeSet::grant`]. Default deny: a caller has the verbs and scopes that
//! its token names and no others. Without a token file everyone is the local human, and the server
//! then listens on loopback only (`settings`).

mod token;

use std::fmt;
use std::path::Path;

use index::model::{Scope, ScopeSet};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use crate::error::{Error, Result};
use token::unhex;
pub use token::{TokenEntry, TokenFile, TokenFileError, hex, new_token};

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Ask questions and list.
    Read,
    /// Add sources and turns.
    Write,
    /// Plan and commit deletions, and take deleted sources in again.
    Delete,
    /// All of the above.
    Admin,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Admin => "admin",
        })
    }
}

/// What kind of actor a principal is. The write path assigns it; a payload cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    /// A person.
    Human,
    /// A model acting for someone.
    Agent,
    /// A program without a model.
    System,
}

impl fmt::Display for ActorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::System => "system",
        })
    }
}

/// How callers are told apart.
#[derive(Clone, Debug)]
pub enum Identity {
    /// Everyone is the local human, over whatever scope they name.
    LocalHuman,
    /// A bearer token says who it is.
    Tokens(Vec<Holder>),
}

/// A principal with the digest of its token.
#[derive(Clone, Debug)]
pub struct Holder {
    digest: [u8; 32],
    caller: Caller,
}

/// Who is asking, with what they may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    principal: String,
    kind: ActorKind,
    reach: Reach,
    verbs: Vec<Verb>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reach {
    /// Any one scope that the request names; `local` where it names none.
    Any,
    /// These, each with all below it. Never empty.
    Scopes(Vec<Scope>),
}

impl Identity {
    /// Reads a token file and checks every entry.
    ///
    /// # Errors
    /// [`TokenFileError`] with the entry and what is wrong with it.
    pub fn from_file(path: &Path) -> std::result::Result<Self, TokenFileError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| TokenFileError::Read { path: path.to_owned(), source })?;
        let file: TokenFile = toml::from_str(&text)
            .map_err(|source| TokenFileError::Parse { path: path.to_owned(), source: Box::new(source) })?;
        if file.token.is_empty() {
            return Err(TokenFileError::Empty { path: path.to_owned() });
        }
        let holders = file.token.into_iter().enumerate().map(|(idx, entry)| {
            holder(entry).map_err(|reason| TokenFileError::Entry { path: path.to_owned(), number: idx + 1, reason })
        });
        Ok(Self::Tokens(holders.collect::<std::result::Result<_, _>>()?))
    }

    /// Whether callers must show a token.
    pub fn needs_token(&self) -> bool {
        matches!(self, Self::Tokens(_))
    }

    /// The caller that an `authorization` header names.
    ///
    /// Every known digest is compared in constant time, so that how long it takes says nothing.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`] where a token is needed and none or an unknown one is shown.
    pub fn caller(&self, authorization: Option<&str>) -> Result<Caller> {
        let holders = match self {
            Self::LocalHuman => return Ok(Caller::local_human()),
            Self::Tokens(holders) => holders,
        };
        let shown =
            authorization.ok_or(Error::Unauthenticated { reason: "a token is needed: authorization: Bearer TOKEN" })?;
        let token =
            bearer(shown).ok_or(Error::Unauthenticated { reason: "the authorization header is not a bearer token" })?;
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let mut found = None;
        for holder in holders {
            let same: Choice = holder.digest.ct_eq(&digest);
            if bool::from(same) {
                found = Some(&holder.caller);
            }
        }
        found.cloned().ok_or(Error::Unauthenticated { reason: "the token is not known" })
    }
}

impl Caller {
    /// The person at this machine: every verb, over whichever one scope a request names.
    pub fn local_human() -> Self {
        Self { principal: "local".to_owned(), kind: ActorKind::Human, reach: Reach::Any, verbs: vec![Verb::Admin] }
    }

    /// `kind:principal`, as the ledger names the actor.
    pub fn actor(&self) -> String {
        format!("{}:{}", self.kind, self.principal)
    }

    /// Who it is.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// Checks that the caller may `verb` at all.
    ///
    /// # Errors
    /// [`Error::Verb`].
    pub fn require(&self, verb: Verb) -> Result<()> {
        if self.verbs.iter().any(|&held| held == verb || held == Verb::Admin) {
            return Ok(());
        }
        Err(Error::Verb { principal: self.principal.clone(), verb })
    }

    /// The scopes that a request reads, for a caller that may `verb`. `asked` narrows, never widens.
    ///
    /// # Errors
    /// [`Error::Verb`], a malformed scope, [`Error::Scope`] for one that is not the caller's, or
    /// [`Error::ScopeMissing`] where several are granted and none is named.
    pub fn reads(&self, verb: Verb, asked: &str) -> Result<ScopeSet> {
        self.require(verb)?;
        let asked = parse(asked)?;
        let (granted, asked) = match (&self.reach, asked) {
            (Reach::Any, asked) => return Ok(ScopeSet::grant(asked.unwrap_or_else(Scope::local))),
            (Reach::Scopes(granted), None) => return only(granted).map(ScopeSet::grant),
            (Reach::Scopes(granted), Some(asked)) => (granted, asked),
        };
        let mut narrowed = granted.iter().filter_map(|scope| ScopeSet::grant(scope.clone()).narrow(&asked));
        let Some(set) = narrowed.next() else {
            return Err(Error::Scope { given: asked.to_string() });
        };
        // A parent of two granted scopes would need both; one answer must not hide half of it.
        match narrowed.next() {
            None => Ok(set),
            Some(_) => Err(Error::ScopeMissing { granted: join(granted) }),
        }
    }

    /// The one scope that a request writes to, for a caller that may `verb`.
    ///
    /// # Errors
    /// As [`Caller::reads`]; a parent of what is granted is not the caller's to write.
    pub fn writes(&self, verb: Verb, asked: &str) -> Result<Scope> {
        self.require(verb)?;
        let asked = parse(asked)?;
        match (&self.reach, asked) {
            (Reach::Any, asked) => Ok(asked.unwrap_or_else(Scope::local)),
            (Reach::Scopes(granted), None) => only(granted),
            (Reach::Scopes(granted), Some(asked)) if granted.iter().any(|scope| scope.covers(&asked)) => Ok(asked),
            (Reach::Scopes(_), Some(asked)) => Err(Error::Scope { given: asked.to_string() }),
        }
    }
}

fn holder(entry: TokenEntry) -> std::result::Result<Holder, String> {
    if entry.principal.is_empty() {
        return Err("principal is empty".to_owned());
    }
    if entry.verbs.is_empty() {
        return Err("verbs is empty: it could do nothing".to_owned());
    }
    let digest = unhex(&entry.sha256).ok_or("sha256 is not 64 hexadecimal digits")?;
    let mut scopes = Vec::new();
    for given in &entry.scopes {
        scopes.push(Scope::parse(given).map_err(|error| error.to_string())?);
    }
    if scopes.is_empty() {
        return Err("scopes is empty: it could reach nothing".to_owned());
    }
    Ok(Holder {
        digest,
        caller: Caller {
            principal: entry.principal,
            kind: entry.kind,
            reach: Reach::Scopes(outermost(scopes)),
            verbs: entry.verbs,
        },
    })
}

/// Drops the scopes that another one of them covers.
fn outermost(mut scopes: Vec<Scope>) -> Vec<Scope> {
    scopes.sort();
    let mut kept: Vec<Scope> = Vec::new();
    for scope in scopes {
        if !kept.iter().any(|outer| outer.covers(&scope)) {
            kept.push(scope);
        }
    }
    kept
}

fn parse(asked: &str) -> Result<Option<Scope>> {
    if asked.is_empty() {
        return Ok(None);
    }
    Ok(Some(Scope::parse(asked)?))
}

fn only(granted: &[Scope]) -> Result<Scope> {
    match granted {
        [one] => Ok(one.clone()),
        several => Err(Error::ScopeMissing { granted: join(several) }),
    }
}

fn join(scopes: &[Scope]) -> String {
    scopes.iter().map(Scope::as_str).collect::<Vec<_>>().join(", ")
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(scopes: &[&str], verbs: &[Verb]) -> Caller {
        let scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
        let (token, entry) = new_token("ana", ActorKind::Human, scopes, verbs.to_vec());
        let identity = Identity::Tokens(vec![holder(entry).unwrap()]);
        identity.caller(Some(&format!("Bearer {token}"))).unwrap()
    }

    #[test]
    fn only_the_whole_token_is_taken() {
        let (token, entry) = new_token("ana", ActorKind::Human, vec!["a".to_owned()], vec![Verb::Read]);
        let identity = Identity::Tokens(vec![holder(entry).unwrap()]);
        assert!(identity.caller(Some(&format!("bearer {token}"))).is_ok());
        for shown in [None, Some(token.as_str()), Some("Bearer "), Some("Bearer strata_"), Some("Basic x")] {
            assert!(identity.caller(shown).is_err(), "{shown:?} was taken");
        }
    }

    #[test]
    fn a_request_narrows_and_never_widens() {
        let ana = caller(&["a/b"], &[Verb::Read, Verb::Write]);
        let reads = |asked: &str| ana.reads(Verb::Read, asked).map(|set| set.scopes()[0].to_string());
        assert_eq!(reads("").unwrap(), "a/b");
        assert_eq!(reads("a/b/c").unwrap(), "a/b/c");
        assert_eq!(reads("a").unwrap(), "a/b");
        for foreign in ["c", "a/c", "a/bc", "a/B", "a/b/..", "*", "a/*"] {
            assert!(reads(foreign).is_err(), "{foreign} was read");
            assert!(ana.writes(Verb::Write, foreign).is_err(), "{foreign} was written");
        }
        assert!(ana.writes(Verb::Write, "a").is_err());
        assert_eq!(ana.writes(Verb::Write, "a/b/c").unwrap().as_str(), "a/b/c");
    }

    #[test]
    fn a_missing_verb_is_denied_before_anything_else() {
        let reader = caller(&["a"], &[Verb::Read]);
        assert!(matches!(reader.writes(Verb::Write, "NOT A SCOPE"), Err(Error::Verb { .. })));
        assert!(caller(&["a"], &[Verb::Admin]).writes(Verb::Delete, "a").is_ok());
    }

    #[test]
    fn several_scopes_must_be_told_apart() {
        let both = caller(&["a/x", "a/y", "a/x/z"], &[Verb::Read]);
        assert!(matches!(both.reads(Verb::Read, ""), Err(Error::ScopeMissing { .. })));
        assert!(matches!(both.reads(Verb::Read, "a"), Err(Error::ScopeMissing { .. })));
        assert!(both.reads(Verb::Read, "a/x").is_ok());
    }
}
