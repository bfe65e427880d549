//! `strata tokens`: tokens for callers of a server.

use index::model::Scope;
use serde_json::json;

use super::DONE;
use super::place::OutArgs;
use crate::hint::advised;
use crate::identity::{ActorKind, TokenFile, Verb, new_token};
use crate::print::Out;

const EXAMPLES: &str = "\
Examples:
  strata tokens new --principal ana --scope acme/ana
  strata tokens new --principal bot --kind agent --scope acme/ana --verb read --verb write

The token is printed once and kept nowhere; its digest goes into the file for strata serve --tokens";

/// Make tokens for callers of a server
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Print a new token and the block to add to the token file
    New {
        /// Who will hold it
        #[arg(long, value_name = "NAME")]
        principal: String,
        /// What kind of actor
        #[arg(long, value_enum, default_value_t = ActorKind::Agent)]
        kind: ActorKind,
        /// A scope it reaches, with all below; may be repeated
        #[arg(long = "scope", value_name = "PATH", default_value = "local")]
        scopes: Vec<String>,
        /// What it may do; may be repeated
        #[arg(long = "verb", value_enum, value_name = "VERB", default_value = "read")]
        verbs: Vec<Verb>,
        #[command(flatten)]
        out: OutArgs,
    },
}

/// Makes a token.
///
/// # Errors
/// A malformed scope.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let What::New { principal, kind, scopes, verbs, out } = &args.what;
    for scope in scopes {
        Scope::parse(scope)?;
    }
    if principal.is_empty() {
        return Err(advised("--principal is empty", "say who will hold the token: --principal ana"));
    }
    let (token, entry) = new_token(principal, *kind, scopes.clone(), verbs.clone());
    let block = toml::to_string(&TokenFile { token: vec![entry] })?;
    let mut out = Out::new(out.json);
    if out.is_json() {
        out.value(&json!({"token": token, "toml": block}))?;
        return Ok(DONE);
    }
    crate::note!("the token, shown this once:");
    out.line(&token)?;
    crate::note!("the block to add to the token file:");
    out.line("")?;
    out.line(block.trim_end())?;
    Ok(DONE)
}
