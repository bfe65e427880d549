//! `strata import`: take archives in.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use index::Store;
use ingest::{ImportSettings, Mapping, Report, Secrets, Tools};

use super::FAILED;
use super::place::{DeviceArgs, ModelArgs, OutArgs, ScopeArgs, StoreArgs};
use crate::identity::Caller;
use crate::print::progress::Bar;
use crate::print::{Out, import as print};
use crate::shared::{Model, now};

/// The folder that makes a folder a store.
const STORE_INNER: &str = "manifest";

const EXAMPLES: &str = "\
Examples:
  strata import notes/                                Markdown and text
  strata import --scope acme/ana chats/export.jsonl   into a scope of its own
  strata import --dry-run years/                      what would come in, and how long it would take
  strata import --ledger import.jsonl years/          with a line for everything read or left out
  strata import --secrets redact --me Ana chats/      no key or password is stored; you are Ana
  strata import --mirror notes/                       what is gone there goes here

Importing the same archive twice changes nothing; a changed source becomes a new version";

/// Take archives in: documents and chats, files and folders
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// The label to file it under [default: the path as given, made absolute]
    #[arg(long, value_name = "LABEL")]
    collection: Option<String>,
    /// Read every file as this format [default: each file decides]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Read JSON as this file says: which names hold conversations, messages, authors, times (docs/mapping.md)
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    mapping: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    device: DeviceArgs,
    /// Say what would come in: files, formats, turns, times, authors, how long it would take; write nothing
    #[arg(long)]
    dry_run: bool,
    /// What to do with keys, tokens, passwords and card numbers: store them, put a mark in their place, or leave out
    /// the turn or document that has one
    #[arg(long, value_name = "WHAT", default_value = "allow", value_parser = ["allow", "redact", "skip"])]
    secrets: String,
    /// A name, id or mail address by which the archives know you; may be given several times
    #[arg(long, value_name = "NAME")]
    me: Vec<String>,
    /// The documents are your own: what they say, you say
    #[arg(long)]
    mine: bool,
    /// Add a line of JSON to FILE for every source, and for everything left out with its place and reason
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Leave out files with more bytes, such as 500M or 2G; files are streamed, so there is no bound by default
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    max_bytes: Option<u64>,
    /// Remove sources of the collection that are no longer there
    #[arg(long)]
    mirror: bool,
    /// Take deleted sources in again
    #[arg(long)]
    undelete: bool,
    #[command(flatten)]
    out: OutArgs,
    /// Files or folders
    #[arg(required = true, value_name = "FILES")]
    paths: Vec<PathBuf>,
}

/// Imports and prints the report.
///
/// # Errors
/// When the store, the model or the device is not there, or nothing of what was named exists.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let mut settings = ImportSettings::standard(args.scope.parse()?);
    settings.collection = args.collection;
    settings.format = args.format;
    settings.mapping = args.mapping.as_deref().map(mapping).transpose()?;
    settings.dry_run = args.dry_run;
    settings.mirror = args.mirror;
    settings.undelete = args.undelete;
    settings.secrets = Secrets::named(&args.secrets).unwrap_or_default();
    settings.me = args.me;
    settings.mine = args.mine;
    settings.ledger = args.ledger;
    settings.file_bytes_max = args.max_bytes;
    settings.actor = Caller::local_human().actor();
    if !args.paths.iter().any(|path| path.exists()) {
        return Err(ingest::Error::MissingPaths { paths: args.paths }.into());
    }
    // Before anything is made: a signal from here on stops in good order.
    let cancel = cancelled_by_signal()?;
    let place = StorePlace::choose(args.store.folder()?, args.dry_run);
    let store = Store::open_or_create(&place.folder)?;
    let model = Model::new(args.model.embedder.clone()).on(args.device.device());
    let bar = Bar::new();
    let report = import(&store, &settings, &args.paths, &model, &bar, &cancel);
    bar.finish();
    let report = report?;
    let mut out = Out::new(args.out.json);
    if out.is_json() {
        out.value(&serde_json::to_value(&report).context("writing the report")?)?;
    } else {
        print::report(&mut out, &report)?;
    }
    print::left_out(&report);
    if report.totals.files == 0 && report.skipped.is_empty() {
        let hidden = if report.totals.hidden > 0 { " (hidden ones are left out)" } else { "" };
        crate::note!("nothing to import: {} holds no file{hidden}", listed(&args.paths));
        crate::note!("hint: name files, or folders with files in them");
    }
    if report.cancelled {
        crate::note!("stopped; what is listed is in the store, the same command goes on from there");
        return Ok(FAILED);
    }
    Ok(report.exit_code())
}

/// A size: a number of bytes, or of KiB, MiB, GiB or TiB with K, M, G or T behind it.
fn bytes(given: &str) -> Result<u64, String> {
    let (number, unit) = match given.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => given.split_at(at),
        None => (given, ""),
    };
    let shift = match unit.trim().to_uppercase().trim_end_matches('B').trim_end_matches('I') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(format!("{given:?} is not a size: a number, and K, M, G or T behind it")),
    };
    let number: u64 = number.parse().map_err(|_| format!("{given:?} is not a size: it begins with no number"))?;
    number.checked_mul(1 << shift).filter(|n| *n > 0).ok_or_else(|| format!("{given:?} is no size that a file has"))
}

/// Reads a mapping.
fn mapping(path: &Path) -> anyhow::Result<Mapping> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading the mapping {}", path.display()))?;
    Mapping::parse(&text).map_err(|trouble| {
        let place = if trouble.place.is_empty() { String::new() } else { format!(" at {}", trouble.place) };
        anyhow::anyhow!("mapping {}{place}: {} ({})", path.display(), trouble.reason, trouble.hint)
    })
}

fn listed(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    shown.join(", ")
}

/// Where the import's store is. One that is made for it and stays empty goes again.
struct StorePlace {
    folder: PathBuf,
    /// Folders that were not there before, innermost first.
    made: Vec<PathBuf>,
}

impl StorePlace {
    fn choose(folder: PathBuf, dry_run: bool) -> Self {
        if folder.join(STORE_INNER).is_dir() {
            return Self { folder, made: Vec::new() };
        }
        // A rehearsal touches nothing that is there, not even an empty folder.
        let rehearsal = || std::env::temp_dir().join(format!("strata-dry-run-{}", uuid::Uuid::new_v4().simple()));
        let folder = if dry_run { rehearsal() } else { folder };
        let inner = folder.join(STORE_INNER);
        let made = inner.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let made = made.map(Path::to_owned).collect();
        Self { folder, made }
    }
}

impl Drop for StorePlace {
    fn drop(&mut self) {
        // Only empty folders can be removed so: a store that holds anything, whoever wrote it, stays.
        for folder in &self.made {
            if std::fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }
}

fn import(
    store: &Store,
    settings: &ImportSettings,
    paths: &[PathBuf],
    model: &Model,
    bar: &Bar,
    cancel: &AtomicBool,
) -> anyhow::Result<Report> {
    let snapshot = store.snapshot()?;
    let device = model.device()?;
    let embedder = model.open_or_pull(snapshot.embedder())?;
    let tools = Tools { embedder: embedder.as_ref(), backend: device.backend.as_ref(), now: &now };
    Ok(ingest::import(store, &tools, settings, paths, bar, cancel)?)
}

/// A flag that the first Ctrl-C or SIGTERM sets; the second one ends the program.
fn cancelled_by_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let cancel = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancel);
    let handler = move || {
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        crate::note!("stopping: what is finished is kept (once more to stop at once)");
    };
    ctrlc::set_handler(handler).context("listening for signals")?;
    Ok(cancel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(["7", "3K", "2MiB", "1 gb"].map(bytes), [Ok(7), Ok(3 << 10), Ok(2 << 20), Ok(1 << 30)]);
        assert!(["", "0", "-1", "1.5G", "5x", "99999999999T"].iter().all(|given| bytes(given).is_err()));
    }
}
