//! Strata for its users: the program's commands and the gRPC server.
//!
//! `identity` says who asks, `shared` holds the open memory, `rpc` has one file a call, `server` runs
//! them over the network, `command` has one file a command, `print` shows what comes back. Knows no
//! table, no segment and no card: those are the business of `index`, `ingest` and `kernels`.

#![forbid(unsafe_code)]

/// Writes a line to stderr. A reader that went away is no reason to fail, as it is for `eprintln!`.
macro_rules! note {
    () => { note!("") };
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}
pub(crate) use note;

pub mod code;
pub mod command;
pub mod desk;
pub mod device;
pub mod error;
mod hint;
pub mod identity;
pub mod mutation;
pub mod page;
pub mod print;
pub mod question;
pub mod rpc;
pub mod server;
pub mod settings;
pub mod shared;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let cli = command::Cli::parse();
    log_to_stderr();
    match command::run(cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            crate::note!("error: {error:#}");
            crate::note!("hint: {}", hint::of(&error));
            ExitCode::from(command::FAILED)
        }
    }
}

/// Logs to stderr: JSON with `STRATA_LOG_FORMAT=json`, chosen by `STRATA_LOG`, warnings by default.
fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("STRATA_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let json = std::env::var("STRATA_LOG_FORMAT").is_ok_and(|format| format == "json");
    let plain = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // A second call of `main` in one process (tests) keeps the first one's logs.
    let _ = if json { plain.json().try_init() } else { plain.try_init() };
}

/// Whether the reader of our output went away: that is its right, not our failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
    })
}
