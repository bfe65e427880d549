//! A card against the processor: equal bits first, then how fast. One step a run, one JSON object a result.
//!
//! `benches/gpu/run` calls it on a machine with a card; every step also runs with `--device cpu`.

#![forbid(unsafe_code)]

mod check;
mod made;
mod rates;

use std::error::Error;
use std::time::Instant;

use serde_json::{Value, json};
use strata_benches::{argument, require_release, rounded};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A step: its name, and what it measures on a device.
type Step = (&'static str, fn(&str) -> Result<Value>);

const STEPS: [Step; 9] = [
    ("devices", devices),
    ("kernel", kernel),
    ("check", check::graphs),
    ("vectors", check::vectors),
    ("texts", made::write_texts),
    ("embed", rates::embed),
    ("pairs", rates::pairs),
    ("documents", rates::documents),
    ("large", rates::large),
];

fn main() -> Result<()> {
    require_release()?;
    let name = std::env::args().nth(1).unwrap_or_default();
    let names: Vec<&str> = STEPS.iter().map(|step| step.0).collect();
    let step = STEPS.iter().find(|step| step.0 == name);
    let (name, run) = step.ok_or_else(|| format!("say which step: {}", names.join(", ")))?;
    let device = argument("--device").unwrap_or_else(|| "auto".to_owned());
    let mut result = run(&device)?;
    result["step"] = json!(name);
    println!("{result}");
    Ok(())
}

/// A number given as `--name`, or `otherwise`.
fn number(name: &str, otherwise: usize) -> Result<usize> {
    Ok(argument(name).map_or(Ok(otherwise), |given| given.replace('_', "").parse())?)
}

/// What `work` gives, and the seconds that it took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let started = Instant::now();
    let done = work();
    (done, rounded(started.elapsed().as_secs_f64(), 4))
}

/// What this build and this machine have.
fn devices(_: &str) -> Result<Value> {
    Ok(json!({ "devices": kernels::devices() }))
}

/// The smallest job: whether a kernel runs at all, and how long a first launch takes.
fn kernel(device: &str) -> Result<Value> {
    let (backend, open_seconds) = timed(|| kernels::open(device));
    let backend = backend?;
    let rows = kernels::Rows::new(&[1.0, 0.0, 0.8, 0.6, 0.6, 0.8], 2).ok_or("an even matrix")?;
    let (found, first_seconds) = timed(|| backend.nearest(rows, rows, 2, 0.5));
    let best: Vec<Vec<u32>> = found?.iter().map(|found| found.iter().map(|one| one.row).collect()).collect();
    if best != [[0, 1], [1, 2], [2, 1]] {
        return Err(format!("wrong rows: {best:?}").into());
    }
    Ok(json!({ "device": backend.name(), "open_seconds": open_seconds, "first_seconds": first_seconds }))
}
