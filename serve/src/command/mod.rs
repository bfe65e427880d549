//! The program's commands: one file each parses, calls one function, prints.

pub mod context;
pub mod delete;
pub mod demo;
pub mod devices;
pub mod export;
pub mod import;
pub mod models;
pub mod place;
pub mod search;
pub mod serve;
pub mod sources;
pub mod stats;
pub mod tokens;
pub mod verify;
pub mod walk;

use clap::{Parser, Subcommand};

/// Done.
pub const DONE: u8 = 0;
/// Done, and there was nothing to find.
pub const NOTHING: u8 = 1;
/// Not done.
pub const FAILED: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  strata demo                                  see it work on a small archive
  strata import notes/ chats/export.jsonl      take an archive in
  strata search \"where does Ana live?\"         ask it
  strata context --max-tokens 1500 \"…\"         a block of evidence for a prompt
  strata serve                                 answer over gRPC on 127.0.0.1:7077

Exit codes: 0 done, 1 found nothing, 2 failed, 3 done but something was skipped";

/// The memory of agents at archive scale
#[derive(Debug, Parser)]
#[command(name = "strata", version, about, after_help = EXAMPLES, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Import(import::Args),
    Serve(serve::Args),
    Search(search::Args),
    Context(context::Args),
    Walk(walk::Args),
    Sources(sources::Args),
    Delete(delete::Args),
    Stats(stats::Args),
    Verify(verify::Args),
    Export(export::Args),
    Models(models::Args),
    Devices(devices::Args),
    Tokens(tokens::Args),
}

/// Runs the command that was asked for and says the exit code.
///
/// # Errors
/// Whatever ended it; `crate::main` prints it with its hint.
pub fn run(cli: Cli) -> anyhow::Result<u8> {
    match cli.command {
        Command::Demo(args) => demo::run(args),
        Command::Import(args) => import::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Search(args) => search::run(args),
        Command::Context(args) => context::run(args),
        Command::Walk(args) => walk::run(args),
        Command::Sources(args) => sources::run(args),
        Command::Delete(args) => delete::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Export(args) => export::run(args),
        Command::Models(args) => models::run(args),
        Command::Devices(args) => devices::run(&args),
        Command::Tokens(args) => tokens::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_flags_do_not_clash() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_may_stand_anywhere() {
        for line in [
            "strata sources --store X show KEY",
            "strata sources show KEY --store X --json",
            "strata search -k 3 --unit turn --source a --source b question",
            "strata search question --server http://127.0.0.1:7077",
            "strata walk --from 00 --kind cross_source --hops 3",
            "strata delete --source a --commit --reason old",
            "strata models verify",
            "strata devices --json",
            "strata import --device cuda:1 notes",
            "strata search --device cpu question",
            "strata tokens new --principal ana --verb read --verb write",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
        for line in [
            "strata search --server URL --store X question",
            "strata search --server URL --device cpu question",
            "strata search -k 0 question",
            "strata search -k 1001 question",
            "strata walk --hops 3",
            "strata delete --commit",
            "strata serve --insecure-plaintext",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }
}
