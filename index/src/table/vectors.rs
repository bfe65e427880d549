//! The table `vectors`: one row a sentence, in the order of `sentences`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, FixedSizeListArray, Float32Array, UInt32Array};
use arrow::datatypes::{DataType, Field};
use bytes::Bytes;

use super::{Columns, decode as decode_table};
use crate::error::{Error, Result};
use crate::model::SourceEntry;

/// The vectors of `entries`, `dim` numbers a row, as Parquet. Not compressed: random bits do not shrink.
pub(crate) fn encode(entries: &[SourceEntry], dim: u32) -> Result<Vec<u8>> {
    let failed = |reason: String| Error::Engine { engine: "parquet", path: PathBuf::from("vectors"), reason };
    let n_rows = entries.iter().map(|entry| entry.sentences.len()).sum::<usize>();
    let n_rows = u32::try_from(n_rows).map_err(|error| failed(error.to_string()))?;
    let width = i32::try_from(dim).map_err(|error| failed(error.to_string()))?;
    let values = Float32Array::from_iter_values(entries.iter().flat_map(|entry| entry.vectors.iter().copied()));
    let field = Arc::new(Field::new("item", DataType::Float32, false));
    let rows = FixedSizeListArray::try_new(field, width, Arc::new(values), None);
    Columns::new("vectors")
        .with("sentence", UInt32Array::from_iter_values(0..n_rows))
        .with("vector", rows.map_err(|error| failed(error.to_string()))?)
        .encode(false, &[])
}

/// The vectors back, `[n_sentences, dim]`, row-major.
///
/// # Errors
/// [`Error::Corrupt`] naming `path`.
pub(crate) fn decode(bytes: Bytes, path: &Path, dim: u32) -> Result<Vec<f32>> {
    let mut vectors = Vec::new();
    decode_table(bytes, path, |rows| {
        let column: &FixedSizeListArray = rows.column("vector")?;
        let values = column.values().as_any().downcast_ref::<Float32Array>();
        match values {
            Some(values) if u32::try_from(column.value_length()) == Ok(dim) => {
                let width = dim as usize;
                let start = column.offset() * width;
                vectors.extend_from_slice(&values.values()[start..start + rows.len() * width]);
                Ok(())
            }
            _ => Err(rows.corrupt(format!("column vector does not hold {dim} numbers a row"))),
        }
    })?;
    Ok(vectors)
}
