//! The program `strata`: calls the library and nothing else.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    serve::main()
}
