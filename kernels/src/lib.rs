//! Vectors and graphs on a device: embedding, exact neighbours, sentence graphs, Leiden communities.
//!
//! Knows no sentence, segment or network. Shapes and units used throughout: a matrix of vectors is
//! `[n, dim]`, row-major `f32`, rows of unit length; a similarity is a cosine; the weight of an edge is
//! `round(score · 2^14)` as `i32`; a source is a run of rows, given by ascending offsets.
//!
//! | door | what it does |
//! |---|---|
//! | [`open`], [`choose`] | a [`Backend`]: link, nearest, leiden |
//! | [`devices`] | what this build and this machine have |
//! | [`open_model`], [`hashed`] | an [`Embedder`]: texts to unit vectors |
//! | [`quality`] | how good a partition is, for reports and tests |

// Launching a kernel is a call to a foreign function; each such file allows it for itself.
#![deny(unsafe_code)]

mod backend;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod device;
mod embed;
#[cfg(test)]
#[allow(dead_code, reason = "shared with the tests beside this crate")]
#[path = "../tests/emulate/mod.rs"]
mod emulate;
mod error;
#[cfg(any(feature = "cuda", all(feature = "metal", target_os = "macos"), test))]
mod gpu;
mod graph;
#[cfg(all(feature = "metal", target_os = "macos"))]
mod metal;
mod modularity;
mod open;
mod rows;

pub use backend::{Backend, LeidenSettings, LinkSettings, Neighbour, Quality};
pub use device::{Device, DeviceInfo, Traits};
pub use embed::{
    Embedder, EmbedderId, Fitted, Precision, Role, TokenCount, embed_whole, hashed, open_model, open_model_in,
};
pub use error::{Error, Result};
pub use graph::{CsrGraph, Partition, WEIGHT_ONE};
pub use modularity::quality;
pub use open::{Chosen, choose, devices, open};
pub use rows::{Rows, Vectors};
