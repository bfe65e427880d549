//! What a measurement ran on, and how much memory it took.

use std::fs;
use std::thread;

use serde_json::{Value, json};

/// Processor, cores and memory, as the system names them.
pub fn describe() -> Value {
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    json!({
        "cpu": field(&cpus, "model name"),
        "cores": thread::available_parallelism().map_or(0, usize::from),
        "memory": field(&memory, "MemTotal"),
        "system": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "version": env!("CARGO_PKG_VERSION"),
    })
}

/// Seconds of processor time that all threads of this process used, to a hundredth; `None` where the system does not say.
///
/// On a busy machine they say more than the clock on the wall.
pub fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may hold anything.
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u32>().ok()? + fields.get(12)?.parse::<u32>().ok()?;
    Some(f64::from(ticks) / 100.0)
}

/// The most memory that this process ever held, in bytes; `None` where the system does not say.
pub fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// Seconds that a processor spent on the calling thread so far; not a number where the system does not say.
pub fn thread_seconds() -> f64 {
    let spent = || fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().next()?.parse().ok();
    spent().map_or(f64::NAN, |nanoseconds: f64| nanoseconds / 1e9)
}
