//! Writes while there are readers: one note after the other, then two processes at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use index::model::{Scope, ScopeSet, SourceKind};
use index::search::Unit;
use ingest::{Body, NewSource};
use serde_json::{Value, json};
use strata_benches::bench_store::{BenchStore, Result};
use strata_benches::{argument, machine, percentile_ms, require_release};

/// Notes written one by one.
const N_NOTES: u32 = 1_000;
/// Notes of each process of the race.
const N_RACE: u32 = 100;
/// Searches before and after.
const N_SEARCHES: u32 = 200;

const THINGS: [&str; 8] = ["windmill", "lighthouse", "harbour", "orchard", "tram", "library", "bakery", "bridge"];
const DOINGS: [&str; 8] = ["opened", "closed", "burned", "moved", "grew", "leaked", "turned", "rested"];

fn main() -> Result<()> {
    require_release()?;
    let embedder = argument("--embedder").unwrap_or_else(|| "hashed".to_owned());
    if let Some(writer) = argument("--writer") {
        let store = argument("--store").ok_or("a writer needs --store DIR")?;
        let bench = BenchStore::open(Path::new(&store), &embedder)?;
        write(&bench, &writer, N_RACE)?;
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let bench = BenchStore::open(&folder.path().join("live"), &embedder)?;
    write(&bench, "first", 10)?;
    let before = searches(&bench)?;
    let adds = write(&bench, "note", N_NOTES)?;
    let after = searches(&bench)?;
    let snapshot = bench.store.snapshot()?;
    let result = json!({
        "bench": "live",
        "embedder": bench.embedder(),
        "adds": adds.len(),
        "add_ms": percentiles(&adds),
        "search_ms": {"before": percentiles(&before), "after": percentiles(&after)},
        "segments": snapshot.segments().len(),
        "segment_folders": std::fs::read_dir(folder.path().join("live/segments"))?.count(),
        "manifest_version": snapshot.version(),
        "race": race(&folder.path().join("race"), &embedder)?,
        "machine": machine::describe(),
    });
    println!("{result}");
    Ok(())
}

fn percentiles(times: &[Duration]) -> Value {
    json!({"p50": percentile_ms(times, 0.5), "p99": percentile_ms(times, 0.99)})
}

/// The words of note `idx`: a few of a small vocabulary, so that notes share some.
fn text(writer: &str, idx: u32) -> String {
    let pick = |words: [&'static str; 8], salt: u32| words[((idx.wrapping_mul(salt) >> 3) % 8) as usize];
    format!(
        "The {} {} on day {idx} of {writer}. Then the {} {} for a while.",
        pick(THINGS, 2_654_435_761),
        pick(DOINGS, 40_503),
        pick(THINGS, 97),
        pick(DOINGS, 7_919),
    )
}

/// Adds `n` notes one by one and says how long each took.
fn write(bench: &BenchStore, writer: &str, n: u32) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for idx in 0..n {
        let source = NewSource {
            scope: Scope::local(),
            reader: "api".to_owned(),
            key: format!("{writer}/{idx}"),
            title: String::new(),
            kind: SourceKind::Document,
            body: Body::Text(text(writer, idx)),
            collection: "live".to_owned(),
            exported_at: None,
            metadata: BTreeMap::new(),
        };
        let started = Instant::now();
        bench.with_tools(|tools| ingest::add_source(&bench.store, tools, source, "system:bench", false))?;
        times.push(started.elapsed());
    }
    Ok(times)
}

fn searches(bench: &BenchStore) -> Result<Vec<Duration>> {
    let snapshot = bench.store.snapshot()?;
    let mut times = Vec::new();
    for idx in 0..N_SEARCHES {
        let question = text("nobody", idx);
        let started = Instant::now();
        let answer = bench.ask(&snapshot, &question, Unit::Chunk, 10, None)?;
        times.push(started.elapsed());
        assert!(!answer.hits.is_empty(), "{question} finds nothing");
    }
    Ok(times)
}

/// Two processes write to one store; what is there afterwards.
fn race(store: &Path, embedder: &str) -> Result<Value> {
    let program = std::env::current_exe()?;
    let started = Instant::now();
    let mut children = Vec::new();
    for writer in ["left", "right"] {
        let mut command = Command::new(&program);
        command.args(["--embedder", embedder, "--writer", writer, "--store"]);
        children.push(command.arg(store).spawn()?);
    }
    for mut child in children {
        if !child.wait()?.success() {
            return Err("a writer of the race failed".into());
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let snapshot = BenchStore::open(store, embedder)?.store.snapshot()?;
    let scopes = ScopeSet::grant(Scope::local());
    let addresses = snapshot.sources(&scopes);
    let found: BTreeSet<String> = addresses.into_iter().map(|at| snapshot.source_at(at).key.clone()).collect();
    let written = 2 * N_RACE as usize;
    Ok(json!({
        "written": written,
        "found": found.len(),
        "lost": written - found.len(),
        "seconds": strata_benches::rounded(seconds, 2),
    }))
}
