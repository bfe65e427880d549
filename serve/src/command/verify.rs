//! `strata verify`: try every invariant of a store on its files.

use serde_json::json;

use super::place::{OutArgs, StoreArgs};
use super::{DONE, FAILED};
use crate::print::Out;

const EXAMPLES: &str = "\
Exit codes: 0 the store is sound, 2 it is not (each problem on a line)";

/// Check every file of a store against what was written
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    out: OutArgs,
}

/// Checks and prints.
///
/// # Errors
/// When there is no store.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let report = index::verify(&args.store.folder()?)?;
    let problems: Vec<String> =
        report.problems.iter().map(|problem| format!("{}: {}", problem.path.display(), problem.reason)).collect();
    let orphans: Vec<String> = report.orphans.iter().map(|path| path.display().to_string()).collect();
    let mut out = Out::new(args.out.json);
    if out.is_json() {
        out.value(&json!({
            "version": report.version,
            "sound": problems.is_empty(),
            "problems": problems,
            "orphans": orphans,
            "n_files": report.n_files,
            "n_bytes": report.n_bytes,
        }))?;
    } else {
        for problem in &problems {
            out.line(problem)?;
        }
        for orphan in &orphans {
            crate::note!("left over from an unfinished write, harmless: {}", orphan);
        }
        if problems.is_empty() {
            out.line(format!(
                "sound at version {}: {} files, {} bytes",
                report.version, report.n_files, report.n_bytes
            ))?;
        }
    }
    if problems.is_empty() {
        return Ok(DONE);
    }
    crate::note!("{} problem{}", problems.len(), if problems.len() == 1 { "" } else { "s" });
    crate::note!("hint: restore the store from a backup, or import its archive anew");
    Ok(FAILED)
}
