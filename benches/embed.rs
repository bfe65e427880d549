//! Sentences and passages a second, against ONNX Runtime and sentence-transformers in turns on the same cores.
//!
//! Knows no model but by its folder. Each round embeds the same texts with every contestant, one after the other, so
//! that a busy machine is busy for all; the best round of each counts.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use kernels::{Embedder, Role};
use serde_json::{Value, json};
use strata_benches::bench_store::Result;
use strata_benches::{argument, machine, require_release, rounded, sentences};

/// Sentences of about 23.4 tokens.
const N_SENTENCES: usize = 1_000;
/// Passages of exactly `PASSAGE_TOKENS` tokens, special ones included.
const N_PASSAGES: usize = 200;
const PASSAGE_TOKENS: u32 = 128;
/// Rounds where `--rounds` does not say.
const ROUNDS: usize = 5;
/// Lowest cosine of a vector with that of sentence-transformers.
const COSINE_MIN: f64 = 0.9999;

fn main() -> Result<()> {
    require_release()?;
    let name = argument("--embedder").unwrap_or_else(|| "minilm".to_owned());
    let folder = Some(PathBuf::from(&name)).filter(|path| path.is_dir());
    let folder = folder.unwrap_or_else(|| ingest::models::folder(&name));
    let device = argument("--device").unwrap_or_else(|| "cpu".to_owned());
    let rounds = argument("--rounds").map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
    let scratch = tempfile::tempdir()?;
    let texts = argument("--texts").map_or_else(|| scratch.path().to_owned(), PathBuf::from);
    std::fs::create_dir_all(&texts)?;
    let model = kernels::open_model(&folder, &device)?;
    let sets = [("sentences", some_sentences()), ("passages", some_passages(model.as_ref()))];
    for (set, lines) in &sets {
        std::fs::write(texts.join(format!("{set}.txt")), lines.join("\n"))?;
    }
    let mut peer = argument("--peer").map(|python| Peer::start(&python, &folder, &texts)).transpose()?;
    let mut results = BTreeMap::new();
    for (set, lines) in &sets {
        let cold = kernels::open_model(&folder, &device)?;
        results.insert(*set, measure(cold.as_ref(), &folder, set, lines, rounds, peer.as_mut())?);
    }
    let result = json!({
        "bench": "embed",
        "embedder": format!("{} ({}, {:.12})", model.id().name, model.id().dim, model.id().digest),
        "device": device,
        "threads": std::env::var("RAYON_NUM_THREADS").ok(),
        "rounds": rounds,
        "sets": results,
        "ceiling": peer.as_mut().map(|peer| peer.ask(&json!({"do": "ceiling"}))).transpose()?,
        "machine": machine::describe(),
    });
    println!("{result}");
    Ok(())
}

/// One set of texts through every contestant, in turns.
fn measure(
    model: &dyn Embedder,
    folder: &Path,
    set: &str,
    lines: &[String],
    rounds: usize,
    mut peer: Option<&mut Peer>,
) -> Result<Value> {
    let texts: Vec<&str> = lines.iter().map(String::as_str).collect();
    let cold = seconds(|| texts.iter().map(|text| model.count(text).n_tokens).sum::<u32>()).0;
    let (warm, n_tokens) = seconds(|| texts.iter().map(|text| model.count(text).n_tokens + 2).collect::<Vec<_>>());
    let gflop = flop(folder, &n_tokens)? / 1e9;
    let mut vectors = model.embed(&texts, Role::Passage)?;
    let mut ours = Vec::new();
    let mut theirs: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let names = match &mut peer {
        Some(peer) => peer.ask(&json!({"do": "prepare", "set": set}))?,
        None => json!({}),
    };
    for _ in 0..rounds {
        let cpu = cpu_seconds();
        let (wall, embedded) = seconds(|| model.embed(&texts, Role::Passage));
        vectors = embedded?;
        ours.push(json!({"seconds": wall, "cpu_seconds": cpu_seconds() - cpu}));
        for name in names.as_object().into_iter().flat_map(|names| names.keys()) {
            if let Some(peer) = &mut peer {
                let answer = peer.ask(&json!({"do": "run", "set": set, "peer": name}))?;
                theirs.entry(name.clone()).or_default().push(answer);
            }
        }
    }
    let cosine = match &mut peer {
        Some(peer) => {
            let rows: Vec<&[f32]> = (0..vectors.n()).map(|row| vectors.row(row)).collect();
            peer.ask(&json!({"do": "cosine", "set": set, "vectors": rows}))?
        }
        None => Value::Null,
    };
    if cosine["min"].as_f64().is_some_and(|cosine| cosine < COSINE_MIN) {
        return Err(format!("the lowest cosine with sentence-transformers is {cosine}").into());
    }
    let ours = best(&ours, lines.len(), gflop);
    let mut peers = serde_json::Map::new();
    for (name, runs) in &theirs {
        let mut peer = best(runs, lines.len(), gflop);
        peer["how"] = names[name].clone();
        for unit in ["seconds", "cpu_seconds"] {
            let ratio = peer[unit].as_f64().zip(ours[unit].as_f64()).map(|(peer, ours)| rounded(peer / ours, 3));
            peer[format!("ours_faster_by_{unit}")] = json!(ratio);
        }
        peers.insert(name.clone(), peer);
    }
    Ok(json!({
        "texts": lines.len(),
        "tokens": n_tokens.iter().sum::<u32>(),
        "gflop": rounded(gflop, 1),
        "strata": ours,
        "tokenise_ms": {"first": rounded(cold * 1e3, 2), "again": rounded(warm * 1e3, 2)},
        "peers": peers,
        "cosine": cosine,
    }))
}

/// The best of some runs by each clock, as rates.
fn best(runs: &[Value], n_texts: usize, gflop: f64) -> Value {
    let least = |unit: &str| runs.iter().filter_map(|run| run[unit].as_f64()).fold(f64::INFINITY, f64::min);
    #[expect(clippy::cast_precision_loss, reason = "a thousand texts")]
    let n_texts = n_texts as f64;
    let mut best = json!({
        "seconds": rounded(least("seconds"), 3),
        "cpu_seconds": rounded(least("cpu_seconds"), 3),
        "texts_a_second": rounded(n_texts / least("seconds"), 1),
        "gflops": rounded(gflop / least("seconds"), 1),
        "gflops_a_cpu_second": rounded(gflop / least("cpu_seconds"), 1),
    });
    if least("forward_seconds").is_finite() {
        best["forward_seconds"] = json!(rounded(least("forward_seconds"), 3));
    }
    best
}

/// Floating-point operations of a forward without padding: the linear layers, and attention within each text.
fn flop(folder: &Path, n_tokens: &[u32]) -> Result<f64> {
    let config: Value = serde_json::from_slice(&std::fs::read(folder.join("config.json"))?)?;
    let size = |name: &str| config[name].as_f64().ok_or_else(|| format!("config.json has no {name}"));
    let (hidden, wide, layers) = (size("hidden_size")?, size("intermediate_size")?, size("num_hidden_layers")?);
    let text = |n: f64| layers * n * (2.0 * (4.0 * hidden * hidden + 2.0 * hidden * wide) + 4.0 * hidden * n);
    Ok(n_tokens.iter().map(|&n| text(f64::from(n))).sum())
}

fn seconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let started = Instant::now();
    let result = work();
    (started.elapsed().as_secs_f64(), result)
}

/// Seconds of this process on all processors; 0 where the system does not say.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields 14 and 15 of proc(5), in hundredths; the name before them ends in a bracket.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn some_sentences() -> Vec<String> {
    let mut maker = sentences::Maker::new(22);
    (0..N_SENTENCES).map(|_| maker.sentence()).collect()
}

fn some_passages(model: &dyn Embedder) -> Vec<String> {
    let mut maker = sentences::Maker::new(128);
    let fill = |maker: &mut sentences::Maker| {
        let mut passage = String::new();
        loop {
            let next = format!("{passage}{} ", maker.sentence());
            if model.count(&next).n_tokens + 2 > PASSAGE_TOKENS {
                break;
            }
            passage = next;
        }
        while model.count(&passage).n_tokens + 2 < PASSAGE_TOKENS {
            passage.push_str("so ");
        }
        passage
    };
    (0..N_PASSAGES).map(|_| fill(&mut maker)).collect()
}

/// The other contestants: a Python process that answers a line with a line.
struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Peer {
    fn start(python: &str, folder: &Path, texts: &Path) -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/embed.py");
        let mut command = Command::new(python);
        command.arg(script).arg(folder).arg(texts).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else { return Err("the peer has no pipes".into()) };
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    fn ask(&mut self, question: &Value) -> Result<Value> {
        writeln!(self.input, "{question}")?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        serde_json::from_str(&answer).map_err(|error| format!("the peer said {answer:?}: {error}").into())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It ends by itself when its input does; one that hangs is ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
