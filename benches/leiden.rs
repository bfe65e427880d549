//! Leiden on the graphs of many documents, beside igraph, networkit and leidenalg on the same graphs.
//!
//! Modularity is computed here for everyone by one formula on the unrounded weights.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use kernels::{CsrGraph, LeidenSettings, LinkSettings, Quality, Rows, WEIGHT_ONE, open};
use serde_json::{Value, json};
use strata_benches::bench_store::Result;
use strata_benches::random::Random;
use strata_benches::{argument, machine, require_release, rounded};

/// Rows of one link call of own documents.
const CALL_DOCUMENTS: usize = 250;
const DIM: usize = 384;
/// Runs before and again after the peers; the best counts.
const N_RUNS: usize = 8;
const SETTINGS: LeidenSettings =
    LeidenSettings { quality: Quality::Modularity { resolution: 1.0 }, seed: 42, rounds_max: 32 };

/// Graphs with the weights that they were rounded from, beside their columns.
#[derive(Default)]
struct Documents {
    graphs: Vec<CsrGraph>,
    weights: Vec<Vec<f64>>,
    /// Seconds of the processor that linking took on one thread, of documents built here.
    link_seconds: Option<f64>,
}

fn main() -> Result<()> {
    require_release()?;
    if let Some(path) = argument("--data") {
        measure("data", &read(Path::new(&path))?)?;
    }
    if let Some(n) = argument("--own") {
        measure("own", &build(n.parse()?)?)?;
    }
    Ok(())
}

fn measure(name: &str, documents: &Documents) -> Result<()> {
    let backend = open("cpu")?;
    let time = |n_threads: usize| -> Result<Time> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build()?;
        let mut best = Time { wall: f64::INFINITY, processor: f64::INFINITY };
        for _ in 0..N_RUNS {
            let start = Instant::now();
            let processor = pool.install(|| -> kernels::Result<f64> {
                let before = machine::thread_seconds();
                backend.leiden(&documents.graphs, &SETTINGS)?;
                Ok(machine::thread_seconds() - before)
            })?;
            best = best.min(Time { wall: start.elapsed().as_secs_f64(), processor });
        }
        Ok(best)
    };
    let n = documents.graphs.len() as f64;
    let found = backend.leiden(&documents.graphs, &SETTINGS)?;
    let labels: Vec<Vec<u32>> = found.into_iter().map(|partition| partition.labels).collect();
    let ours = documents.modularities(&labels);
    let (mut one, mut two) = (time(1)?, time(2)?);
    let peers = peers(documents, &ours)?;
    one = one.min(time(1)?);
    two = two.min(time(2)?);
    let result = json!({
        "bench": "leiden",
        "graphs": name,
        "documents": documents.graphs.len(),
        "nodes": documents.graphs.iter().map(CsrGraph::n).sum::<usize>(),
        "edges": documents.graphs.iter().map(|graph| graph.columns.len() / 2).sum::<usize>(),
        "modularity": rounded(mean(&ours), 5),
        "docs_per_processor_s": rounded(n / one.processor, 0),
        "docs_per_s": {"one_thread": rounded(n / one.wall, 0), "two_threads": rounded(n / two.wall, 0)},
        "link_docs_per_processor_s": documents.link_seconds.map(|seconds| rounded(n / seconds, 0)),
        "peers": peers,
        "machine": machine::describe(),
    });
    println!("{result}");
    Ok(())
}

/// Seconds by the clock on the wall, and of the processor, which does not count the time that others took. The
/// latter holds for one thread: a thread that ends takes its count along.
#[derive(Clone, Copy)]
struct Time {
    wall: f64,
    processor: f64,
}

impl Time {
    fn min(self, other: Self) -> Self {
        Self { wall: self.wall.min(other.wall), processor: self.processor.min(other.processor) }
    }
}

/// Every peer's rate and modularity, and how ours compare document by document; empty without `--python`.
fn peers(documents: &Documents, ours: &[f64]) -> Result<Vec<Value>> {
    let Some(python) = argument("--python") else { return Ok(Vec::new()) };
    let folder = tempfile::tempdir()?;
    let graphs = folder.path().join("graphs.txt");
    fs::write(&graphs, documents.text())?;
    let script = argument("--peers").unwrap_or_else(|| "benches/peers/leiden.py".to_owned());
    let output = Command::new(python).arg(script).arg(&graphs).arg(folder.path()).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let mut peers = Vec::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let mut peer: Value = serde_json::from_str(line)?;
        if let Some(path) = peer["labels"].as_str() {
            let text = fs::read_to_string(path)?;
            let labels = text.lines().map(|line| line.split(' ').map(str::parse).collect());
            let labels: Vec<Vec<u32>> = labels.collect::<std::result::Result<_, _>>()?;
            let theirs = documents.modularities(&labels);
            let ratio = |at: usize| if theirs[at] > 0.0 { ours[at] / theirs[at] } else { 1.0 };
            let ratios: Vec<f64> = (0..theirs.len()).map(ratio).collect();
            peer["modularity"] = json!(rounded(mean(&theirs), 5));
            peer["ours_on_the_same"] = json!(rounded(mean(&ours[..theirs.len()]), 5));
            peer["lowest_ratio"] = json!(rounded(ratios.iter().copied().fold(f64::INFINITY, f64::min), 4));
            peer["below_0.995"] = json!(ratios.iter().filter(|&&ratio| ratio < 0.995).count());
            peer["above_1.005"] = json!(ratios.iter().filter(|&&ratio| ratio > 1.005).count());
            peer["docs_per_processor_s"] = json!(rounded(peer["docs_per_processor_s"].as_f64().unwrap_or(0.0), 0));
        }
        if let Some(fields) = peer.as_object_mut() {
            fields.remove("labels");
        }
        peers.push(peer);
    }
    Ok(peers)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

impl Documents {
    /// Takes a document's edges, each once, with their weights as scores.
    fn push(&mut self, edges: &[(u32, u32, f64)]) {
        let n = edges.iter().map(|edge| edge.0.max(edge.1) as usize + 1).max().unwrap_or(0);
        let mut rows = vec![Vec::new(); n];
        for &(u, v, weight) in edges {
            rows[u as usize].push((v, weight));
            rows[v as usize].push((u, weight));
        }
        let mut graph = CsrGraph::without_edges(0);
        let mut weights = Vec::new();
        for mut row in rows {
            row.sort_by_key(|edge| edge.0);
            for (column, weight) in row {
                graph.columns.push(column);
                graph.weights.push((weight * f64::from(WEIGHT_ONE)).round() as i32);
                weights.push(weight);
            }
            graph.offsets.push(graph.columns.len() as u32);
        }
        self.graphs.push(graph);
        self.weights.push(weights);
    }

    /// The graphs as the peers read them.
    fn text(&self) -> String {
        let mut text = String::new();
        for (graph, weights) in self.graphs.iter().zip(&self.weights) {
            let _ = writeln!(text, "document {}", graph.n());
            for u in 0..graph.n() {
                let row = graph.offsets[u] as usize..graph.offsets[u + 1] as usize;
                for (&v, weight) in graph.columns[row.clone()].iter().zip(&weights[row]) {
                    if v as usize > u {
                        let _ = writeln!(text, "{u} {v} {weight}");
                    }
                }
            }
        }
        text
    }

    /// The modularity of the first documents at resolution 1, on the weights before rounding.
    fn modularities(&self, labels: &[Vec<u32>]) -> Vec<f64> {
        let one = |((graph, weights), labels): ((&CsrGraph, &Vec<f64>), &Vec<u32>)| {
            let mut inner = vec![0.0; graph.n()];
            let mut degree = vec![0.0; graph.n()];
            for u in 0..graph.n() {
                for at in graph.offsets[u] as usize..graph.offsets[u + 1] as usize {
                    degree[labels[u] as usize] += weights[at];
                    let inside = labels[u] == labels[graph.columns[at] as usize];
                    inner[labels[u] as usize] += if inside { weights[at] } else { 0.0 };
                }
            }
            let total: f64 = degree.iter().sum();
            let total = if total > 0.0 { total } else { 1.0 };
            inner.iter().zip(&degree).map(|(inner, degree)| inner / total - (degree / total).powi(2)).sum()
        };
        self.graphs.iter().zip(&self.weights).zip(labels).map(one).collect()
    }
}

/// The graphs of a packed table: document, u, v, weight.
fn read(path: &Path) -> Result<Documents> {
    let text = String::from_utf8(zstd::decode_all(fs::File::open(path)?)?)?;
    let mut edges: Vec<Vec<(u32, u32, f64)>> = Vec::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [document, u, v, weight] = fields[..] else { return Err("a line has not four fields".into()) };
        let document: usize = document.parse()?;
        edges.resize(edges.len().max(document + 1), Vec::new());
        edges[document].push((u.parse()?, v.parse()?, weight.parse()?));
    }
    let mut documents = Documents::default();
    edges.iter().for_each(|edges| documents.push(edges));
    Ok(documents)
}

/// Documents of 20 to 200 sentences: runs of one to six sentences on a topic of the document, topics that come back,
/// every vector its topic's direction, the document's and noise.
fn build(n: usize) -> Result<Documents> {
    let backend = open("cpu")?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut numbers = Numbers(Random(2_026));
    let mut documents = Documents { link_seconds: Some(0.0), ..Documents::default() };
    for first in (0..n).step_by(CALL_DOCUMENTS) {
        let (mut rows, mut offsets) = (Vec::new(), vec![0_u32]);
        for _ in first..n.min(first + CALL_DOCUMENTS) {
            document(&mut rows, &mut numbers);
            offsets.push((rows.len() / DIM) as u32);
        }
        let rows = Rows::new(&rows, DIM).ok_or("rows of uneven length")?;
        let (graphs, seconds) = pool.install(|| -> kernels::Result<_> {
            let before = machine::thread_seconds();
            let graphs = backend.link(rows, &offsets, &LinkSettings::STANDARD)?;
            Ok((graphs, machine::thread_seconds() - before))
        })?;
        *documents.link_seconds.get_or_insert(0.0) += seconds;
        for graph in graphs {
            let weights = graph.weights.iter().map(|&weight| f64::from(weight) / f64::from(WEIGHT_ONE)).collect();
            documents.graphs.push(graph);
            documents.weights.push(weights);
        }
    }
    Ok(documents)
}

fn document(rows: &mut Vec<f32>, numbers: &mut Numbers) {
    let n = 20 + numbers.below(181);
    let n_topics = 2 + n / 14 + numbers.below(4);
    let shared = numbers.direction();
    let topics: Vec<Vec<f32>> = (0..n_topics).map(|_| numbers.direction()).collect();
    let (mut topic, mut left) = (0, 0);
    for _ in 0..n {
        if left == 0 {
            (topic, left) = (numbers.below(n_topics), 1 + numbers.below(6));
        }
        left -= 1;
        let noise = numbers.direction();
        let off_topic = 0.5 + 0.6 * numbers.next();
        let value = |k: usize| topics[topic][k] + 0.7 * shared[k] + off_topic * noise[k];
        let row: Vec<f32> = (0..DIM).map(value).collect();
        let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
        rows.extend(row.iter().map(|value| value / length));
    }
}

/// Numbers of a fixed sequence.
struct Numbers(Random);

impl Numbers {
    /// In `[0, 1)`.
    fn next(&mut self) -> f32 {
        (self.0.bits() >> 40) as f32 / (1 << 24) as f32
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f32) as usize
    }

    /// A vector of length about 1.
    fn direction(&mut self) -> Vec<f32> {
        let scale = (3.0 / DIM as f32).sqrt();
        (0..DIM).map(|_| scale * (2.0 * self.next() - 1.0)).collect()
    }
}
