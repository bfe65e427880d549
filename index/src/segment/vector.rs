//! The vector index of a sealed segment: usearch, one vector a sentence, its key the sentence row.
//!
//! The only file that names usearch. It never sees a byte whose digest was not checked: its loader
//! crashes the process on bytes that are not its own.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use crate::error::{Error, Result};

/// Vectors looked at while one is added, and while one is looked for: more find better, and take longer.
const EXPANSION_ADD: usize = 96;
const EXPANSION_SEARCH: usize = 96;
/// Links a vector has.
const CONNECTIVITY: usize = 16;

/// An open vector index.
pub(crate) struct VectorIndex {
    index: Index,
}

fn options(dim: usize) -> IndexOptions {
    IndexOptions {
        dimensions: dim,
        metric: MetricKind::Cos,
        quantization: ScalarKind::BF16,
        connectivity: CONNECTIVITY,
        expansion_add: EXPANSION_ADD,
        expansion_search: EXPANSION_SEARCH,
        multi: false,
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Engine { engine: "usearch", path: PathBuf::from(super::names::VECTOR_INDEX), reason: error.to_string() }
}

/// Builds the index of `vectors`, `[n, dim]`, and returns its bytes. These differ from run to run.
///
/// # Errors
/// [`Error::Engine`].
///
/// Source: Malkov, Yashunin, arXiv:1603.09320 (HNSW).
pub(crate) fn build(vectors: &[f32], dim: usize) -> Result<Vec<u8>> {
    let index = Index::new(&options(dim)).map_err(failed)?;
    index.reserve_capacity_and_threads(vectors.len() / dim, rayon::current_num_threads()).map_err(failed)?;
    let add = |(row, vector): (usize, &[f32])| index.add(row as u64, vector).map_err(failed);
    vectors.par_chunks_exact(dim).enumerate().try_for_each(add)?;
    let mut bytes = vec![0; index.serialized_length()];
    index.save_to_buffer(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

impl VectorIndex {
    /// Loads an index from bytes whose digest was checked.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where it does not hold `n_rows` vectors of `dim`.
    pub(crate) fn open(bytes: &[u8], path: &Path, n_rows: usize, dim: usize) -> Result<Self> {
        let corrupt = |reason: String| Error::Corrupt { path: path.to_owned(), reason };
        let index = Index::new(&options(dim)).map_err(failed)?;
        index.load_from_buffer(bytes).map_err(|error| corrupt(error.to_string()))?;
        if index.size() != n_rows || index.dimensions() != dim {
            let (found, width) = (index.size(), index.dimensions());
            return Err(corrupt(format!("it holds {found} vectors of {width}, the table {n_rows} of {dim}")));
        }
        index.change_expansion_search(EXPANSION_SEARCH);
        Ok(Self { index })
    }

    /// The rows of about the `k` nearest allowed vectors, nearest first.
    ///
    /// # Errors
    /// [`Error::Engine`].
    pub(crate) fn nearest(&self, vector: &[f32], k: usize, allowed: &dyn Fn(u32) -> bool) -> Result<Vec<u32>> {
        let filter = |key: u64| u32::try_from(key).is_ok_and(allowed);
        let matches = self.index.filtered_search(vector, k, filter).map_err(failed)?;
        Ok(matches.keys.iter().filter_map(|&key| u32::try_from(key).ok()).collect())
    }
}
