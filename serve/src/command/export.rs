//! `strata export`: a store's content in a fixed order, so that two stores can be compared.

use std::io::{BufWriter, Write as _};

use index::Store;

use super::DONE;
use super::place::StoreArgs;
use crate::hint::advised;
use crate::print::Out;

const EXAMPLES: &str = "\
Examples:
  strata export --canonical > a.txt
  strata export --canonical --store other | diff a.txt -";

/// Print a store's whole content in a fixed order
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// In the fixed order that equal stores share; the only form there is
    #[arg(long)]
    canonical: bool,
}

/// Prints the store.
///
/// # Errors
/// When there is no store or it cannot be read.
pub fn run(args: Args) -> anyhow::Result<u8> {
    if !args.canonical {
        return Err(advised("which form is not said", "strata export --canonical is the one there is"));
    }
    let store = Store::open(&args.store.folder()?)?;
    let snapshot = store.snapshot()?;
    let mut out = Out::new(false);
    let mut buffered = BufWriter::new(out.raw());
    index::export_canonical(&snapshot, &mut buffered)?;
    buffered.flush()?;
    Ok(DONE)
}
