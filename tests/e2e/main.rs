//! Strata through the doors that a user has: the command line, gRPC and the files it reads and writes.

mod acceptance;
mod ask;
mod bad_input;
mod corrupt;
mod data;
mod demo;
mod files;
mod import;
mod readme;
mod sample;
mod writers;

/// What `strata` is, built with this package.
const PROGRAM: &str = env!("CARGO_BIN_EXE_strata-under-test");
