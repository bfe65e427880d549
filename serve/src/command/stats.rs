//! `strata stats`: a memory in numbers.

use proto::v1;

use super::DONE;
use super::place::{OutArgs, PlaceArgs};
use crate::print::{Out, source};

/// Print what a memory holds, in numbers
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    out: OutArgs,
}

/// Counts and prints.
///
/// # Errors
/// When there is no store or server.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let stats = args.place.desk()?.stats(v1::StatsRequest { scope: args.place.scope()?, min_manifest_version: 0 })?;
    source::stats(&mut Out::new(args.out.json), &stats)?;
    Ok(DONE)
}
