//! How long an archive takes to go in, how much memory that takes, and that it goes in once.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;
use strata_benches::bench_store::{BenchStore, Result};
use strata_benches::{argument, machine, require_release, rounded};

fn main() -> Result<()> {
    require_release()?;
    let path = PathBuf::from(argument("--path").ok_or("say what to import: --path DIR")?);
    let format = argument("--format");
    let embedder = argument("--embedder").unwrap_or_else(|| "minilm".to_owned());
    let folder = tempfile::tempdir()?;
    let bench = BenchStore::open(folder.path(), &embedder)?;

    let started = Instant::now();
    let first = bench.import(path.clone(), format.clone())?;
    let total = started.elapsed().as_secs_f64();
    let peak_bytes = machine::peak_bytes();
    let started = Instant::now();
    let second = bench.import(path, format)?;
    let again = started.elapsed().as_secs_f64();

    let mut seconds = serde_json::to_value(&first.seconds)?;
    seconds["total"] = json!(rounded(total, 3));
    let result = json!({
        "bench": "import",
        "embedder": bench.embedder(),
        "files": first.totals.files,
        "bytes": first.totals.bytes,
        "sources": first.totals.sources,
        "skipped": first.skipped.len(),
        "sentences": first.totals.sentences,
        "embedded": first.totals.embedded,
        "chunks": first.totals.chunks,
        "edges": first.totals.edges,
        "segments": first.totals.segments,
        "seconds": seconds,
        "peak_bytes": peak_bytes,
        "again": {
            "seconds": rounded(again, 3),
            "changed": second.imported.len() + second.deleted.len(),
            "unchanged": second.unchanged.len(),
        },
        "machine": machine::describe(),
    });
    println!("{result}");
    Ok(())
}
