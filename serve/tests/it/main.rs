//! The server and the program as their users meet them: over gRPC on port 0, and as a process.

#![allow(clippy::unwrap_used)] // Not every helper of a test is a #[test].

mod answers;
mod changes;
mod devices;
mod failures;
mod matrix;
mod program;
mod scopes;
mod world;
