//! Made-up rows, documents, texts and graphs: seeded, so that every device and program sees the same ones.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use kernels::{CsrGraph, Vectors};
use serde_json::{Value, json};
use strata_benches::planted::{Planted, read};
use strata_benches::random::Random;
use strata_benches::{argument, machine};

use crate::{Result, number};

/// Values a row, as MiniLM's.
pub const DIM: usize = 384;
/// Topics that rows lie around.
const N_TOPICS: u32 = 64;

/// Fills a row with numbers between -1 and 1, evenly spread, four of them from 64 bits.
fn fill(random: &mut Random, row: &mut [f32]) {
    for part in row.chunks_mut(4) {
        let bits = random.bits();
        let four = [0, 16, 32, 48].map(|shift| f32::from((bits >> shift) as u16) / 32_768.0 - 1.0);
        part.copy_from_slice(&four[..part.len()]);
    }
}

/// `n` rows of unit length around topics: in a run of `run` rows there are a few topics, so that cosines spread.
pub fn rows(n: usize, run: usize, seed: u64) -> Vectors {
    let mut topics = vec![0.0; N_TOPICS as usize * DIM];
    fill(&mut Random(seed ^ 1), &mut topics);
    let mut random = Random(seed);
    let mut data = vec![0.0; n * DIM];
    let mut few = [0; 4];
    for (idx, row) in data.chunks_mut(DIM).enumerate() {
        if idx % run.max(1) == 0 {
            few = few.map(|_: u32| random.below(N_TOPICS));
        }
        let topic = few[random.below(4) as usize] as usize;
        fill(&mut random, row);
        row.iter_mut().zip(&topics[topic * DIM..]).for_each(|(value, topic)| *value += topic);
        let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
        row.iter_mut().for_each(|value| *value /= length);
    }
    Vectors::new(data, DIM).expect("whole rows")
}

/// Documents whose lengths are spread evenly around `mean`: their rows and where each begins.
pub fn documents(n: usize, mean: u32, seed: u64) -> (Vectors, Vec<u32>) {
    let mut random = Random(seed);
    let mut offsets = vec![0];
    let mut end = 0;
    for _ in 0..n {
        end += 1 + random.below(2 * mean - 1);
        offsets.push(end);
    }
    (rows(end as usize, mean as usize, seed), offsets)
}

/// The documents at the edges: none, one, two, equal and orthogonal rows, and long ones.
pub fn edge_documents() -> (Vectors, Vec<u32>) {
    let lengths = [0, 1, 2, 31, 32, 33, 64, 65, 0, 1_000, 2_000];
    let made = rows(lengths.iter().sum(), 40, 7).into_data();
    let equal = made[..DIM].repeat(50);
    let orthogonal: Vec<f32> = (0..100 * DIM).map(|at| f32::from(u8::from(at / DIM == at % DIM))).collect();
    let data = [made, equal, orthogonal].concat();
    let lengths = lengths.into_iter().chain([50, 100]);
    let ends = lengths.scan(0_u32, |end, n| {
        *end += u32::try_from(n).ok()?;
        Some(*end)
    });
    let offsets = [0].into_iter().chain(ends).collect();
    (Vectors::new(data, DIM).expect("whole rows"), offsets)
}

/// One graph with blocks, ten edges a node.
pub fn large_graph(n: usize) -> Result<CsrGraph> {
    let n = u32::try_from(n)?;
    let planted = Planted { n, n_edges: n as usize * 10, n_blocks: n.div_ceil(1_000), inner_permille: 700, seed: 11 };
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("pairs");
    planted.write(&path)?;
    Ok(read(&path, n)?)
}

/// Words of many lengths, so that sentences have tokens of all kinds.
const WORDS: &str = "the of and a to in is was he for it with as his on be at by had not are but from or have an \
    they which one you were all her she there would their we him been has when who will no more if out so up said \
    what its about than into them can only other time new some could these two may first then do any like my now \
    over such our man me even most made after also did many off before must well back through years much where your \
    way down should because long each just state those people too mr how little good world make very year still see \
    work life men day government kitchen Porto memory graph Lisbon evidence yesterday bicycle unbelievable \
    photosynthesis chrysanthemum 1987 3.14 e-mail co-operate";

/// `n` texts of about `n_words` words.
pub fn texts(n: usize, n_words: u32, seed: u64) -> Vec<String> {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut random = Random(seed);
    let text = |_| {
        let n_words = n_words / 2 + random.below(n_words + 1);
        let mut text = String::new();
        for _ in 0..n_words.max(1) {
            let _ = write!(text, "{} ", words[random.below(words.len() as u32) as usize]);
        }
        text.trim_end().to_owned() + "."
    };
    (0..n).map(text).collect()
}

/// Writes texts for programs in other languages, one a line, to the file `--out`.
pub fn write_texts(_: &str) -> Result<Value> {
    let out = PathBuf::from(argument("--out").ok_or("say where to: --out FILE")?);
    let (n, n_words) = (number("--n", 20_000)?, number("--words", 20)?);
    let texts = texts(n, u32::try_from(n_words)?, 3);
    fs::write(&out, texts.join("\n") + "\n")?;
    Ok(json!({ "texts": texts.len(), "machine": machine::describe() }))
}
