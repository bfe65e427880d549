//! How long one large graph takes to be cut, how much memory that takes, and that every run gives the same bytes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use kernels::{LeidenSettings, Quality, open, quality};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use strata_benches::planted::{self, Planted};
use strata_benches::{argument, flag, machine, require_release, rounded};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    require_release()?;
    let graph = PathBuf::from(argument("--graph").ok_or("say where the graph lies or shall lie: --graph FILE")?);
    let number = |name: &str, usual: u64| argument(name).map_or(Ok(usual), |text| text.parse());
    let planted = Planted {
        n: number("--nodes", 1_000_000)? as u32,
        n_edges: number("--edges", 10_000_000)? as usize,
        n_blocks: number("--blocks", 10_000)? as u32,
        inner_permille: number("--inner", 700)? as u32,
        seed: number("--seed", 1)?,
    };
    if flag("--once") {
        return once(&graph, &planted, number("--threads", 2)? as usize);
    }
    if !graph.exists() {
        planted.write(&graph)?;
    }
    if flag("--write") {
        return Ok(());
    }
    let mut runs = Vec::new();
    for threads in [2, 2, 2, 1] {
        runs.push(in_own_process(threads)?);
    }
    let digests: Vec<&Value> = runs.iter().map(|run| &run["digest"]).collect();
    let equal = digests.iter().all(|digest| *digest == digests[0]);
    let result = json!({
        "bench": "leiden_large",
        "nodes": planted.n,
        "edges": planted.n_edges,
        "blocks": planted.n_blocks,
        "graph": sha256(&std::fs::read(&graph)?),
        "runs": runs,
        "equal": equal,
        "machine": machine::describe(),
    });
    println!("{result}");
    if equal { Ok(()) } else { Err("two runs gave different partitions".into()) }
}

/// Runs this program again, so that its peak of memory is that of one clustering.
fn in_own_process(threads: usize) -> Result<Value> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args().skip(1)).args(["--once", "--threads", &threads.to_string()]);
    let output =
        command.env("RAYON_NUM_THREADS", threads.to_string()).stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the run with {threads} threads ended with {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn once(path: &Path, planted: &Planted, threads: usize) -> Result<()> {
    let graph = planted::read(path, planted.n)?;
    let before = machine::peak_bytes();
    let value: f32 = argument("--value").map_or(Ok(1.0), |text| text.parse())?;
    let q = match argument("--quality").as_deref() {
        Some("cpm") => Quality::Cpm { gamma: value },
        _ => Quality::Modularity { resolution: value },
    };
    let rounds_max = argument("--rounds").map_or(Ok(10), |text| text.parse())?;
    let settings = LeidenSettings { quality: q, seed: 7, rounds_max };
    let backend = open(&argument("--device").unwrap_or_else(|| "cpu".to_owned()))?;
    let graphs = [graph];
    let cpu_before = machine::cpu_seconds();
    let started = Instant::now();
    let found = backend.leiden(&graphs, &settings)?;
    let seconds = started.elapsed().as_secs_f64();
    let cpu_seconds = machine::cpu_seconds().zip(cpu_before).map(|(after, before)| rounded(after - before, 2));
    let peak = machine::peak_bytes();
    let bytes: Vec<u8> = found[0].labels.iter().flat_map(|label| label.to_le_bytes()).collect();
    let result = json!({
        "device": backend.name(),
        "threads": threads,
        "seconds": rounded(seconds, 3),
        "cpu_seconds": cpu_seconds,
        "quality": rounded(quality(&graphs[0], &found[0], q), 6),
        "communities": found[0].n_communities(),
        "peak_bytes": peak,
        "peak_bytes_before": before,
        "digest": sha256(&bytes),
    });
    println!("{result}");
    Ok(())
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
