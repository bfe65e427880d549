//! Measures imports.
#![allow(clippy::unwrap_used)]
use index::model::{Scope, Timestamp};
use std::{path::PathBuf, sync::atomic::AtomicBool, time::Instant};
use strata_ingest::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let dir = tempfile::tempdir().unwrap();
    let store = index::Store::open_or_create(dir.path()).unwrap();
    let e = models::open(&a[1]).unwrap();
    let b = kernels::open("cpu").unwrap();
    let t0 = Instant::now();
    let now = move || Timestamp::from_micros(t0.elapsed().as_micros() as i64);
    let tools = Tools { embedder: e.as_ref(), backend: b.as_ref(), now: &now };
    let mut s = ImportSettings::standard(Scope::local());
    s.format = a.get(3).cloned();
    for _ in 0..2 {
        let t = Instant::now();
        let r = import(&store, &tools, &s, &[PathBuf::from(&a[2])], &Silent, &AtomicBool::new(false)).unwrap();
        println!(
            "{:?} imported {} unchanged {} skipped {:?} exit {}\n{:?}\n{:?} unk {}",
            t.elapsed(),
            r.imported.len(),
            r.unchanged.len(),
            r.skipped.first(),
            r.exit_code(),
            r.totals,
            r.seconds,
            r.unknown_share
        );
    }
    println!(
        "{}",
        std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|l| l.starts_with("VmHWM")).unwrap()
    );
}
