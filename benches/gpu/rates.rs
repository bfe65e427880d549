//! How fast a device is. Each figure is the best of a few runs after one that is not counted.

use std::path::PathBuf;

use kernels::{LeidenSettings, LinkSettings, Quality, Role};
use serde_json::{Value, json};
use strata_benches::{argument, rounded};

use crate::made::{self, DIM};
use crate::{Result, number, timed};

/// Runs that count, of which the best is told.
const RUNS: usize = 2;
/// Operations of MiniLM a token, and a token and token of its sentence (its attention).
const TOKEN_FLOP: f64 = 21.23e6;
const ATTENTION_FLOP: f64 = 9_216.0;

/// What `work` gives, and the seconds of the best of a few runs; one run alone with `--once`.
fn best<T, E>(mut work: impl FnMut() -> std::result::Result<T, E>) -> std::result::Result<(T, f64), E> {
    let mut least = f64::INFINITY;
    let n_runs = if strata_benches::flag("--once") { 1 } else { 1 + RUNS };
    let mut last = None;
    for run in 0..n_runs {
        let (done, seconds) = timed(&mut work);
        last = Some(done?);
        if run > 0 || n_runs == 1 {
            least = least.min(seconds);
        }
    }
    Ok((last.expect("at least one run"), least))
}

/// Sentences a second of a model (`--model FOLDER`) over the file `--texts`, with calls of about `--tokens` tokens.
pub fn embed(device: &str) -> Result<Value> {
    let folder = PathBuf::from(argument("--model").ok_or("say which model: --model FOLDER")?);
    let texts = std::fs::read_to_string(argument("--texts").ok_or("say what to embed: --texts FILE")?)?;
    let call_tokens = number("--tokens", 32_768)?;
    let (model, open_seconds) = timed(|| kernels::open_model(&folder, device));
    let model = model?;
    let texts: Vec<&str> = texts.lines().collect();
    // With the two tokens that stand around every text.
    let lengths: Vec<usize> = texts.iter().map(|text| model.count(text).n_tokens as usize + 2).collect();
    let mut calls: Vec<&[&str]> = Vec::new();
    let (mut first, mut sum) = (0, 0);
    for (idx, length) in lengths.iter().enumerate() {
        sum += length;
        if sum >= call_tokens || idx + 1 == texts.len() {
            calls.push(&texts[first..=idx]);
            (first, sum) = (idx + 1, 0);
        }
    }
    let ((), seconds) = best(|| calls.iter().try_for_each(|call| model.embed(call, Role::Passage).map(drop)))?;
    let n_tokens: usize = lengths.iter().sum();
    let flop: f64 = lengths.iter().map(|&n| n as f64 * (TOKEN_FLOP + ATTENTION_FLOP * n as f64)).sum();
    Ok(json!({
        "device": device,
        "texts": texts.len(),
        "tokens": n_tokens,
        "call_tokens": call_tokens,
        "calls": calls.len(),
        "open_seconds": open_seconds,
        "seconds": seconds,
        "texts_a_second": rounded(texts.len() as f64 / seconds, 1),
        "tflops": rounded(flop / seconds / 1e12, 3),
    }))
}

/// The 16 nearest of each of `--n` rows among all of them.
pub fn pairs(device: &str) -> Result<Value> {
    let n = number("--n", 100_000)?;
    let backend = kernels::open(device)?;
    let (rows, made_seconds) = timed(|| made::rows(n, 1, 13));
    let (found, seconds) = best(|| backend.nearest(rows.rows(), rows.rows(), 16, -2.0))?;
    if found.iter().enumerate().any(|(row, found)| found.len() != n.min(16) || found[0].row as usize > row) {
        return Err("a row is not its own nearest, nor is one that equals it".into());
    }
    let flop = 2.0 * DIM as f64 * (n as f64).powi(2);
    Ok(json!({
        "device": backend.name(),
        "rows": n,
        "made_seconds": made_seconds,
        "seconds": seconds,
        "nominal_tflops": rounded(flop / seconds / 1e12, 3),
    }))
}

/// Graphs and communities of `--n` documents of about 100 sentences, on the device and on the processor.
pub fn documents(device: &str) -> Result<Value> {
    let n = number("--n", 5_000)?;
    let backend = kernels::open(device)?;
    let cpu = kernels::open("cpu")?;
    let (rows, offsets) = made::documents(n, 100, 17);
    let settings = leiden(10);
    let (graphs, link_seconds) = best(|| backend.link(rows.rows(), &offsets, &LinkSettings::STANDARD))?;
    let (found, leiden_seconds) = best(|| backend.leiden(&graphs, &settings))?;
    let (expected_graphs, cpu_link_seconds) = best(|| cpu.link(rows.rows(), &offsets, &LinkSettings::STANDARD))?;
    let (expected, cpu_leiden_seconds) = best(|| cpu.leiden(&graphs, &settings))?;
    let a_second = |seconds: f64| rounded(n as f64 / seconds, 1);
    Ok(json!({
        "device": backend.name(),
        "documents": n,
        "sentences": rows.n(),
        "edges": graphs.iter().map(|graph| graph.columns.len() / 2).sum::<usize>(),
        "equal": found == expected && graphs == expected_graphs,
        "link_a_second": a_second(link_seconds),
        "leiden_a_second": a_second(leiden_seconds),
        "cpu_link_a_second": a_second(cpu_link_seconds),
        "cpu_leiden_a_second": a_second(cpu_leiden_seconds),
    }))
}

/// Communities of one graph of `--n` nodes and ten times as many edges, on the device and on the processor.
pub fn large(device: &str) -> Result<Value> {
    let n = number("--n", 1_000_000)?;
    let backend = kernels::open(device)?;
    let cpu = kernels::open("cpu")?;
    let graph = [made::large_graph(n)?];
    let settings = leiden(1);
    let (found, seconds) = best(|| backend.leiden(&graph, &settings))?;
    let (expected, cpu_seconds) = timed(|| cpu.leiden(&graph, &settings));
    let expected = expected?;
    Ok(json!({
        "device": backend.name(),
        "nodes": n,
        "edges": graph[0].columns.len() / 2,
        "communities": expected[0].n_communities(),
        "modularity": rounded(kernels::quality(&graph[0], &expected[0], settings.quality), 5),
        "equal": found == expected,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "edges_a_second": rounded(graph[0].columns.len() as f64 / 2.0 / seconds, 0),
    }))
}

fn leiden(rounds_max: u32) -> LeidenSettings {
    LeidenSettings { quality: Quality::Modularity { resolution: 1.0 }, seed: 19, rounds_max }
}
