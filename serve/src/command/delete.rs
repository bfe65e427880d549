//! `strata delete`: hide sources. The plan comes first; only `--commit` does it.

use anyhow::Context as _;
use proto::v1;

use super::DONE;
use super::place::{OutArgs, PlaceArgs};
use crate::print::{Out, source};

const EXAMPLES: &str = "\
Examples:
  strata delete --source notes/old.md              what would be hidden
  strata delete --source notes/old.md --commit --reason \"outdated\"

A deleted source is hidden everywhere at once; importing it again needs --undelete";

/// Plan to hide sources, and do it with --commit
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// The source, by key or id; may be repeated
    #[arg(long = "source", value_name = "KEY", required = true)]
    sources: Vec<String>,
    /// Do it; without this only the plan is printed
    #[arg(long)]
    commit: bool,
    /// Why, for the ledger
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[command(flatten)]
    out: OutArgs,
}

/// Plans, prints, and commits where asked.
///
/// # Errors
/// When there is no store or server or source, or the plan no longer holds.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let mut desk = args.place.desk()?;
    let mut request = v1::DeleteSourceRequest {
        sources: args.sources,
        commit: false,
        base_version: 0,
        etag: String::new(),
        reason: args.reason,
        scope: args.place.scope()?,
        request_id: String::new(),
    };
    let planned = desk.delete(request.clone())?;
    let mut out = Out::new(args.out.json);
    if !args.commit {
        source::deletion(&mut out, &planned)?;
        crate::note!("nothing was deleted; --commit does it");
        return Ok(DONE);
    }
    // For people the plan comes first; for programs the answer holds it.
    if !out.is_json() {
        source::deletion(&mut out, &planned)?;
    }
    let plan = planned.plan.context("the server answered without a plan")?;
    request.commit = true;
    request.base_version = plan.base_version;
    request.etag = plan.etag;
    request.request_id = uuid::Uuid::new_v4().to_string();
    let done = desk.delete(request)?;
    source::deletion(&mut out, &done)?;
    Ok(DONE)
}
