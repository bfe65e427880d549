//! The program under test: what `strata` is, built with this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    serve::main()
}
