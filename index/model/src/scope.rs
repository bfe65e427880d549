//! Scopes: paths that say whose data a thing is, and the set of them that a caller may read.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// How many components a scope may have.
const COMPONENTS_MAX: usize = 8;
/// How many bytes a component may have.
const COMPONENT_BYTES_MAX: usize = 64;

/// A path `tenant/…` of 1–8 components of `[a-z0-9._-]{1,64}`, none of them `.` or `..`.
///
/// Anything else is refused, never folded: `Local` is an error, not `local`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(String);

impl Scope {
    /// The scope of a person who never named one.
    pub fn local() -> Self {
        Self("local".to_owned())
    }

    /// Checks `path` and takes it as a scope.
    ///
    /// # Errors
    /// [`Error::Scope`] with the rule that was broken.
    pub fn parse(path: &str) -> Result<Self> {
        match broken_rule(path) {
            None => Ok(Self(path.to_owned())),
            Some(rule) => Err(Error::Scope { given: path.to_owned(), rule }),
        }
    }

    /// The whole path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first component: no segment holds data of two tenants.
    pub fn tenant(&self) -> &str {
        self.0.split('/').next().unwrap_or(&self.0)
    }

    /// Whether `other` is this scope or lies below it.
    pub fn covers(&self, other: &Scope) -> bool {
        match other.0.strip_prefix(&self.0) {
            Some(rest) => rest.is_empty() || rest.starts_with('/'),
            None => false,
        }
    }
}

fn broken_rule(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("a scope is not empty");
    }
    if path.split('/').count() > COMPONENTS_MAX {
        return Some("a scope has at most 8 components");
    }
    for component in path.split('/') {
        if component.is_empty() || component.len() > COMPONENT_BYTES_MAX {
            return Some("a component has 1 to 64 characters");
        }
        if component == "." || component == ".." {
            return Some("a component is not . or ..");
        }
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
        if !component.bytes().all(allowed) {
            return Some("a component holds only a-z, 0-9, '.', '_' and '-'");
        }
    }
    None
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(path: &str) -> Result<Self> {
        Self::parse(path)
    }
}

/// The scopes a caller may read: each with all that lies below it.
///
/// Every read path takes one, so an unscoped read does not compile. Only the identity layer calls
/// [`ScopeSet::grant`] (the tidy test checks that); everyone else can only narrow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeSet {
    /// Invariant: never empty, all of one tenant.
    scopes: Vec<Scope>,
}

impl ScopeSet {
    /// Grants reading `scope` and all below it. For the identity layer alone.
    pub fn grant(scope: Scope) -> Self {
        Self { scopes: vec![scope] }
    }

    /// The part of this set that `scope` covers, or `None` where it covers nothing of it.
    ///
    /// Narrowing never widens: asking for a parent of what was granted yields what was granted.
    #[must_use]
    pub fn narrow(&self, scope: &Scope) -> Option<Self> {
        let mut scopes: Vec<Scope> = Vec::new();
        for granted in &self.scopes {
            if granted.covers(scope) {
                scopes.push(scope.clone());
            } else if scope.covers(granted) {
                scopes.push(granted.clone());
            }
        }
        scopes.sort();
        scopes.dedup();
        (!scopes.is_empty()).then_some(Self { scopes })
    }

    /// Whether something of `scope` may be read.
    pub fn allows(&self, scope: &Scope) -> bool {
        self.scopes.iter().any(|granted| granted.covers(scope))
    }

    /// The one tenant whose data this set reaches.
    pub fn tenant(&self) -> &str {
        self.scopes.first().map_or("", Scope::tenant)
    }

    /// The granted paths, for messages to the caller they belong to.
    pub fn scopes(&self) -> &[Scope] {
        &self.scopes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(path: &str) -> Scope {
        Scope::parse(path).unwrap()
    }

    #[test]
    fn look_alikes_are_refused_not_folded() {
        let long = "a".repeat(65);
        for bad in ["", "A", "a//b", "a/..", ".", "ä", "a b", "a/", "/a", "a/b/c/d/e/f/g/h/i", &long] {
            assert!(Scope::parse(bad).is_err(), "{bad:?} was taken");
        }
        for good in ["a", "acme/eng/2024", "x.y_z-1", "a/b/c/d/e/f/g/h"] {
            assert!(Scope::parse(good).is_ok(), "{good:?} was refused");
        }
    }

    #[test]
    fn a_scope_covers_itself_and_below_only() {
        assert!(scope("a/b").covers(&scope("a/b")));
        assert!(scope("a/b").covers(&scope("a/b/c")));
        assert!(!scope("a/b").covers(&scope("a/bc")));
        assert!(!scope("a/b").covers(&scope("a")));
    }

    #[test]
    fn narrowing_never_widens() {
        let granted = ScopeSet::grant(scope("a/b"));
        assert_eq!(granted.narrow(&scope("a")), Some(granted.clone()));
        assert_eq!(granted.narrow(&scope("c")), None);
        let narrowed = granted.narrow(&scope("a/b/c")).unwrap();
        assert!(narrowed.allows(&scope("a/b/c/d")));
        assert!(!narrowed.allows(&scope("a/b")));
    }
}
