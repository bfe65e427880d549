//! How fast all pairs are scored: the best of every row of a large matrix, and the graphs of documents.
//!
//! Prints one JSON object. `benches/peers/pairs.py` runs it beside its peers. `--documents` measures `link` on
//! one thread; else `--write DIR` leaves the rows and what was found there, for the peer to check.

use std::path::Path;
use std::time::Instant;

use kernels::{Backend, LinkSettings, Neighbour, Rows, Vectors};
use serde_json::{Value, json};
use strata_benches::bench_store::Result;
use strata_benches::{argument, flag, machine, require_release, rounded};

/// Sentences of one measurement: about a millisecond, so that the best of many is undisturbed.
const SENTENCES: usize = 2_000;

fn main() -> Result<()> {
    require_release()?;
    let number = |name: &str, otherwise: usize| argument(name).map_or(Ok(otherwise), |text| text.parse());
    let threads = number("--threads", if flag("--documents") { 1 } else { 2 })?;
    let repetitions = number("--repetitions", if flag("--documents") { 50 } else { 3 })?.max(1);
    let (n, dim, k) = (number("--rows", 50_000)?, number("--dim", 384)?, number("--k", 16)?);
    let backend = kernels::open("cpu")?;
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let mut result = match flag("--documents") {
        true => documents(backend.as_ref(), dim, repetitions)?,
        false => all_pairs(backend.as_ref(), n, dim, k, repetitions)?,
    };
    result["bench"] = json!("pairs");
    result["threads"] = json!(threads);
    result["machine"] = machine::describe();
    println!("{result}");
    Ok(())
}

/// The best of every row, against the rate of a multiplication that keeps nothing.
fn all_pairs(backend: &dyn Backend, n: usize, dim: usize, k: usize, repetitions: usize) -> Result<Value> {
    let vectors = topics(n, n.div_ceil(100), dim, 1)?;
    let rows = vectors.rows();
    let in_cache = Rows::new(&rows.data()[..n.min(2_048) * dim], dim).ok_or("uneven")?;
    let before_bytes = machine::peak_bytes();
    let mut seconds = Vec::new();
    let mut cpu_seconds = Vec::new();
    let mut multiply_seconds = f64::INFINITY;
    let mut found = Vec::new();
    for _ in 0..repetitions {
        // No cosine is 2: the multiplication and the comparing alone.
        let started = Instant::now();
        backend.nearest(in_cache, in_cache, 1, 2.0)?;
        multiply_seconds = started.elapsed().as_secs_f64().min(multiply_seconds);
        let (started, cpu_started) = (Instant::now(), cpu());
        found = backend.neighbours(rows, u32::try_from(k)?, -2.0)?;
        seconds.push(rounded(started.elapsed().as_secs_f64(), 4));
        cpu_seconds.push(cpu().zip(cpu_started).map(|(end, start)| rounded(end - start, 2)));
    }
    if let Some(folder) = argument("--write") {
        write(Path::new(&folder), rows, &found)?;
    }
    let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let flop = n as f64 * (n as f64 - 1.0) * dim as f64;
    let multiply_flop = 2.0 * (in_cache.n() * in_cache.n() * dim) as f64;
    Ok(json!({
        "rows": n,
        "dim": dim,
        "k": k,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "flop_executed": flop,
        "gflops": rounded(flop / best / 1e9, 1),
        "multiply_gflops": rounded(multiply_flop / multiply_seconds / 1e9, 1),
        "rows_bytes": 4 * n * dim,
        "peak_bytes_before": before_bytes,
        "peak_bytes": machine::peak_bytes(),
    }))
}

/// Documents linked a second, by their number of sentences.
fn documents(backend: &dyn Backend, dim: usize, repetitions: usize) -> Result<Value> {
    let mut lines = Vec::new();
    let one_size = [22, 50, 80, 116, 150, 200].map(|n| (n.to_string(), vec![n; SENTENCES / n]));
    let mixed: Vec<usize> = (0..SENTENCES / 111).map(|at| 22 + at * 7_919 % 179).collect();
    for (name, sizes) in one_size.into_iter().chain([("22 to 200".to_owned(), mixed)]) {
        let mut data = Vec::new();
        let mut offsets = vec![0];
        for (at, &n) in sizes.iter().enumerate() {
            data.extend(topics(n, n.div_ceil(15), dim, at as u32)?.into_data());
            offsets.push(u32::try_from(data.len() / dim)?);
        }
        let rows = Rows::new(&data, dim).ok_or("uneven")?;
        let mut best = f64::INFINITY;
        let mut n_edges = 0;
        for _ in 0..repetitions {
            let started = Instant::now();
            let graphs = backend.link(rows, &offsets, &LinkSettings::STANDARD)?;
            best = started.elapsed().as_secs_f64().min(best);
            n_edges = graphs.iter().map(|graph| graph.columns.len() / 2).sum();
        }
        lines.push(json!({
            "sentences": name,
            "documents_a_second": (sizes.len() as f64 / best).round(),
            "microseconds_a_document": rounded(best / sizes.len() as f64 * 1e6, 1),
            "edges_a_sentence": rounded(n_edges as f64 / rows.n() as f64, 1),
        }));
    }
    Ok(json!({ "dim": dim, "documents": lines }))
}

/// Seconds that processors worked for this process, to a hundredth; `None` where the system does not say.
fn cpu() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = status.rsplit_once(") ")?;
    let ticks = fields.split(' ').skip(11).take(2).map(|field| field.parse::<f64>().ok());
    Some(ticks.sum::<Option<f64>>()? / 100.0)
}

/// Rows, then for each row its neighbours and their scores, as plain numbers.
fn write(folder: &Path, rows: Rows<'_>, found: &[Vec<Neighbour>]) -> Result<()> {
    let floats = |values: &mut dyn Iterator<Item = f32>| values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("rows.f32"), floats(&mut rows.data().iter().copied()))?;
    std::fs::write(folder.join("scores.f32"), floats(&mut found.iter().flatten().map(|one| one.score)))?;
    let numbers: Vec<u8> = found.iter().flatten().flat_map(|one| one.row.to_le_bytes()).collect();
    std::fs::write(folder.join("neighbours.u32"), numbers)?;
    Ok(())
}

/// Unit rows around `n_topics` directions, in runs as sentences of a document are.
fn topics(n: usize, n_topics: usize, dim: usize, seed: u32) -> Result<Vectors> {
    let mut state = u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let centres: Vec<f32> = (0..n_topics * dim).map(|_| next()).collect();
    let mut data = Vec::with_capacity(n * dim);
    for row in 0..n {
        let start = data.len();
        let centre = &centres[row * n_topics / n * dim..][..dim];
        data.extend(centre.iter().map(|value| value + next()));
        let length = data[start..].iter().map(|value| value * value).sum::<f32>().sqrt();
        data[start..].iter_mut().for_each(|value| *value /= length);
    }
    Vectors::new(data, dim).ok_or_else(|| "rows need a dimension".into())
}
