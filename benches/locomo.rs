//! How much of a question's evidence comes back: LoCoMo, turn by turn.

use std::path::Path;
use std::time::Instant;

use index::search::Unit;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use strata_benches::bench_store::{BenchStore, Result};
use strata_benches::locomo::{DEPTHS, Recall, questions};
use strata_benches::{argument, machine, require_release, rounded};

/// The deepest that evidence is looked for.
const K: u32 = 50;

fn main() -> Result<()> {
    require_release()?;
    let file = argument("--data").ok_or("say which file: --data FILE")?;
    let embedder = argument("--embedder").unwrap_or_else(|| "minilm".to_owned());
    let bytes = std::fs::read(&file)?;
    let questions = questions(std::str::from_utf8(&bytes)?)?;

    let folder = tempfile::tempdir()?;
    let bench = BenchStore::open(folder.path(), &embedder)?;
    let importing = Instant::now();
    let report = bench.import(Path::new(&file).to_owned(), Some("locomo".to_owned()))?;
    let import_seconds = importing.elapsed().as_secs_f64();

    let snapshot = bench.store.snapshot()?;
    let asking = Instant::now();
    let mut recall = Recall::default();
    for question in &questions.asked {
        let answer = bench.ask(&snapshot, &question.text, Unit::Turn, K, Some(&question.sample))?;
        let ranked: Vec<String> = answer.hits.into_iter().flat_map(|hit| hit.turn_ids).collect();
        recall.add(question, &ranked);
    }
    let mut result = recall.report();
    result.insert("left_out".to_owned(), json!(questions.n_left_out));
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    result.insert("data_sha256".to_owned(), json!(digest));
    result.insert("bench".to_owned(), json!("locomo"));
    result.insert("unit".to_owned(), json!("turn"));
    result.insert("k".to_owned(), json!(DEPTHS));
    result.insert("embedder".to_owned(), json!(bench.embedder()));
    result.insert("conversations".to_owned(), json!(report.totals.sources));
    result.insert("turns".to_owned(), json!(report.totals.turns));
    let seconds = json!({
        "import": rounded(import_seconds, 2),
        "questions": rounded(asking.elapsed().as_secs_f64(), 2),
    });
    result.insert("seconds".to_owned(), seconds);
    result.insert("machine".to_owned(), machine::describe());
    println!("{}", serde_json::Value::Object(result));
    Ok(())
}
