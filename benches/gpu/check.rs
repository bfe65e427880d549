//! Whether a device gives the bits that the processor gives.

use std::path::PathBuf;

use kernels::{Backend, LeidenSettings, LinkSettings, Quality, Role, Rows, Vectors};
use serde_json::{Value, json};
use strata_benches::argument;

use crate::{Result, made, number};

/// How partitions are made here: both qualities, at settings that give communities of many sizes.
const QUALITIES: [Quality; 3] =
    [Quality::Modularity { resolution: 1.0 }, Quality::Cpm { gamma: 0.55 }, Quality::Cpm { gamma: 0.3 }];

/// What was compared, and in how many cases the device gave other bits.
#[derive(Default)]
struct Compared {
    n: usize,
    unequal: usize,
}

impl Compared {
    fn take<T: PartialEq>(&mut self, device: &[T], cpu: &[T]) {
        self.n += cpu.len();
        self.unequal += cpu.len().abs_diff(device.len());
        self.unequal += device.iter().zip(cpu).filter(|(device, cpu)| device != cpu).count();
    }

    fn json(&self) -> Value {
        json!({ "n": self.n, "unequal": self.unequal })
    }
}

/// Compares scores, graphs and labels: documents at the edges, `--n` others, one graph of `--nodes` nodes.
pub fn graphs(device: &str) -> Result<Value> {
    let device = kernels::open(device)?;
    let cpu = kernels::open("cpu")?;
    let (n, n_nodes) = (number("--n", 2_000)?, number("--nodes", 100_000)?);
    let [mut scores, mut graphs, mut labels, mut large] = [(); 4].map(|()| Compared::default());
    let mut n_communities = 0;
    for (rows, offsets) in [made::edge_documents(), made::documents(n, 60, 5)] {
        compare_scores(&*device, &*cpu, rows.rows(), &mut scores)?;
        for settings in [LinkSettings::STANDARD, LinkSettings { neighbours_max: 8, ..LinkSettings::STANDARD }] {
            let linked = cpu.link(rows.rows(), &offsets, &settings)?;
            graphs.take(&device.link(rows.rows(), &offsets, &settings)?, &linked);
            for quality in QUALITIES {
                let settings = LeidenSettings { quality, seed: 9, rounds_max: 10 };
                let parts = cpu.leiden(&linked, &settings)?;
                n_communities += parts.iter().map(kernels::Partition::n_communities).sum::<usize>();
                labels.take(&device.leiden(&linked, &settings)?, &parts);
            }
        }
    }
    if n_nodes > 0 {
        let graph = [made::large_graph(n_nodes)?];
        let settings = LeidenSettings { quality: QUALITIES[0], seed: 9, rounds_max: 1 };
        large.take(&device.leiden(&graph, &settings)?, &cpu.leiden(&graph, &settings)?);
    }
    Ok(json!({
        "device": device.name(),
        "scores": scores.json(),
        "graphs": graphs.json(),
        "labels": labels.json(),
        "large": large.json(),
        "communities": n_communities,
    }))
}

fn compare_scores(device: &dyn Backend, cpu: &dyn Backend, rows: Rows<'_>, scores: &mut Compared) -> Result<()> {
    let n_queries = rows.n().min(500);
    let queries = Rows::new(&rows.data()[..n_queries * rows.dim()], rows.dim()).ok_or("whole rows")?;
    for (k, similarity_min) in [(16, -2.0), (32, 0.3), (1, 0.9)] {
        let bits = |backend: &dyn Backend| -> Result<Vec<Vec<(u32, u32)>>> {
            let found = backend.nearest(queries, rows, k, similarity_min)?;
            Ok(found.iter().map(|row| row.iter().map(|one| (one.row, one.score.to_bits())).collect()).collect())
        };
        scores.take(&bits(device)?, &bits(cpu)?);
    }
    Ok(())
}

/// Compares the vectors of a model (`--model FOLDER`) on a device with the processor's, and with those of another
/// program where `--peer` names a file of them (`[n, dim]` as f32).
///
/// Devices round differently inside a model, so this is a cosine and not a comparison of bits; from the vectors on
/// the same graphs and labels should follow, and how many do is told.
pub fn vectors(device: &str) -> Result<Value> {
    let folder = PathBuf::from(argument("--model").ok_or("say which model: --model FOLDER")?);
    let texts = match argument("--texts") {
        Some(path) => std::fs::read_to_string(path)?.lines().map(str::to_owned).collect(),
        None => made::texts(512, 20, 3),
    };
    let n = number("--n", 512)?.min(texts.len());
    let texts: Vec<&str> = texts[..n].iter().map(String::as_str).collect();
    let on_device = kernels::open_model(&folder, device)?.embed(&texts, Role::Passage)?;
    let on_cpu = kernels::open_model(&folder, "cpu")?.embed(&texts, Role::Passage)?;
    let mut result = json!({ "n": n, "cosine_min": cosine_min(&on_device, &on_cpu) });
    if let Some(path) = argument("--peer") {
        let bytes = std::fs::read(path)?;
        let values = bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        let values: Vec<f32> = values.take(n * on_cpu.dim()).collect();
        let peer = Vectors::new(values, on_cpu.dim()).filter(|peer| peer.n() == n);
        result["cosine_min_peer"] = json!(cosine_min(&on_device, &peer.ok_or("the peer has fewer vectors")?));
    }
    let cpu = kernels::open("cpu")?;
    let offsets: Vec<u32> = (0..=n as u32).filter(|at| at % 32 == 0 || *at == n as u32).collect();
    let [theirs, ours] = [&on_device, &on_cpu].map(|vectors| {
        let graphs = cpu.link(vectors.rows(), &offsets, &LinkSettings::STANDARD)?;
        cpu.leiden(&graphs, &LeidenSettings { quality: QUALITIES[0], seed: 9, rounds_max: 10 })
    });
    let mut labels = Compared::default();
    labels.take(&theirs?, &ours?);
    result["labels"] = labels.json();
    Ok(result)
}

fn cosine_min(a: &Vectors, b: &Vectors) -> f64 {
    let dot = |(x, y): (&[f32], &[f32])| x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let cosine = |row: usize| {
        let (x, y) = (a.row(row), b.row(row));
        dot((x, y)) / (dot((x, x)) * dot((y, y))).sqrt()
    };
    (0..a.n().min(b.n())).map(cosine).fold(1.0, f64::min)
}
