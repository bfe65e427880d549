//! Compiles the contract: protox parses it, tonic writes the Rust. No protoc is needed.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=strata");
    let descriptors = protox::compile(["strata/v1/strata.proto"], ["."])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("strata.v1.binpb"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().btree_map(".").compile_fds(descriptors)?;
    Ok(())
}
