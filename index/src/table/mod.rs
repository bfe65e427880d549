//! The tables of a segment: how rows become Parquet and come back.
//!
//! One file a table. Knows columns and types; does not know segments. Writing is deterministic: equal
//! rows give equal bytes.

pub(crate) mod chunks;
pub(crate) mod edges;
pub(crate) mod sentences;
pub(crate) mod sources;
pub(crate) mod texts;
pub(crate) mod turns;
pub(crate) mod vectors;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, FixedSizeBinaryArray, ListArray, MapArray, PrimitiveArray, StringArray, StructArray,
    TimestampMicrosecondArray, UInt32Array, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Field, Fields, Schema};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::error::{Error, Result};
use crate::model::Span;

/// Rows in one row group of every table but `texts`.
const GROUP_ROWS_MAX: usize = 65_536;
/// Rows decoded at a time.
const BATCH_ROWS: usize = 16_384;
/// What every file says of its writer, whatever crate version wrote it: equal rows, equal bytes.
const CREATED_BY: &str = "strata";

/// The columns of a table on their way to Parquet.
pub(crate) struct Columns {
    table: &'static str,
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    /// A table without columns yet.
    pub(crate) fn new(table: &'static str) -> Self {
        Self { table, fields: Vec::new(), arrays: Vec::new() }
    }

    /// Adds a column in which every row has a value.
    #[must_use]
    pub(crate) fn with(self, name: &str, array: impl Array + 'static) -> Self {
        self.add(name, Arc::new(array), false)
    }

    /// Adds a column in which a row may have no value.
    #[must_use]
    pub(crate) fn nullable(self, name: &str, array: impl Array + 'static) -> Self {
        self.add(name, Arc::new(array), true)
    }

    fn add(mut self, name: &str, array: ArrayRef, nullable: bool) -> Self {
        self.fields.push(Field::new(name, array.data_type().clone(), nullable));
        self.arrays.push(array);
        self
    }

    /// The table as the bytes of a Parquet file, with a row group ending after each of `group_ends` (or
    /// every 65,536 rows where it is empty).
    ///
    /// # Errors
    /// [`Error::Engine`].
    pub(crate) fn encode(self, compressed: bool, group_ends: &[usize]) -> Result<Vec<u8>> {
        let failed = |reason: String| Error::Engine { engine: "parquet", path: PathBuf::from(self.table), reason };
        let schema = Arc::new(Schema::new(self.fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), self.arrays).map_err(|e| failed(e.to_string()))?;
        let compression = if compressed { Compression::ZSTD(ZstdLevel::default()) } else { Compression::UNCOMPRESSED };
        let properties = WriterProperties::builder()
            .set_created_by(CREATED_BY.to_owned())
            .set_compression(compression)
            .set_dictionary_enabled(compressed)
            .set_max_row_group_row_count(Some(GROUP_ROWS_MAX))
            .build();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), schema, Some(properties)).map_err(|e| failed(e.to_string()))?;
        let mut start = 0;
        for &end in group_ends {
            writer.write(&batch.slice(start, end - start)).map_err(|e| failed(e.to_string()))?;
            writer.flush().map_err(|e| failed(e.to_string()))?;
            start = end;
        }
        if start < batch.num_rows() {
            writer.write(&batch.slice(start, batch.num_rows() - start)).map_err(|e| failed(e.to_string()))?;
        }
        writer.into_inner().map_err(|e| failed(e.to_string()))
    }
}

/// Decodes `bytes`, whose digest was checked, and hands over its rows batch by batch.
///
/// # Errors
/// [`Error::Corrupt`] naming `path`, and what `visit` returns.
pub(crate) fn decode(bytes: Bytes, path: &Path, mut visit: impl FnMut(&Rows<'_>) -> Result<()>) -> Result<()> {
    let failed = |reason: String| Error::Corrupt { path: path.to_owned(), reason };
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|e| failed(e.to_string()))?;
    let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(|e| failed(e.to_string()))?;
    for batch in reader {
        let batch = batch.map_err(|e| failed(e.to_string()))?;
        visit(&Rows { batch: &batch, path })?;
    }
    Ok(())
}

/// Some rows of a table, with typed access to its columns.
pub(crate) struct Rows<'a> {
    batch: &'a RecordBatch,
    path: &'a Path,
}

impl<'a> Rows<'a> {
    /// How many rows.
    pub(crate) fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// The column `name`, if it has the type `T`.
    pub(crate) fn column<T: Array + 'static>(&self, name: &str) -> Result<&'a T> {
        let column = self.batch.column_by_name(name);
        let typed = column.and_then(|column| column.as_any().downcast_ref::<T>());
        typed.ok_or_else(|| self.corrupt(format!("column {name} is missing or of another type")))
    }

    /// A column of `u32`.
    pub(crate) fn u32s(&self, name: &str) -> Result<&'a UInt32Array> {
        self.column(name)
    }

    /// A column of `u64`.
    pub(crate) fn u64s(&self, name: &str) -> Result<&'a UInt64Array> {
        self.column(name)
    }

    /// A column of strings.
    pub(crate) fn strings(&self, name: &str) -> Result<&'a StringArray> {
        self.column(name)
    }

    /// A column of moments.
    pub(crate) fn times(&self, name: &str) -> Result<&'a TimestampMicrosecondArray> {
        self.column(name)
    }

    /// A column of 16-byte identities.
    pub(crate) fn ids(&self, name: &str) -> Result<Ids<'a>> {
        let column: &FixedSizeBinaryArray = self.column(name)?;
        if column.value_length() != 16 {
            return Err(self.corrupt(format!("column {name} does not hold 16 bytes a row")));
        }
        Ok(Ids(column))
    }

    /// The lists of strings in a column, one a row.
    pub(crate) fn string_lists(&self, name: &str) -> Result<Vec<Vec<String>>> {
        let column: &ListArray = self.column(name)?;
        let read = |i| {
            let items = column.value(i);
            let items = items.as_any().downcast_ref::<StringArray>();
            items.map(|items| items.iter().flatten().map(str::to_owned).collect())
        };
        let lists: Option<_> = (0..column.len()).map(read).collect();
        lists.ok_or_else(|| self.corrupt(format!("column {name} does not hold lists of strings")))
    }

    /// The lists of numbers in a column, one a row.
    pub(crate) fn number_lists<T: ArrowPrimitiveType>(&self, name: &str) -> Result<Vec<Vec<T::Native>>> {
        let column: &ListArray = self.column(name)?;
        let read = |i| {
            let items = column.value(i);
            let items = items.as_any().downcast_ref::<PrimitiveArray<T>>();
            items.map(|items| items.values().to_vec())
        };
        let lists: Option<_> = (0..column.len()).map(read).collect();
        lists.ok_or_else(|| self.corrupt(format!("column {name} does not hold lists of {}", T::DATA_TYPE)))
    }

    /// The maps of a column, one a row.
    pub(crate) fn maps(&self, name: &str) -> Result<Vec<BTreeMap<String, String>>> {
        let column: &MapArray = self.column(name)?;
        let read = |i| {
            let entries = column.value(i);
            let names = entries.column(0).as_any().downcast_ref::<StringArray>()?;
            let texts = entries.column(1).as_any().downcast_ref::<StringArray>()?;
            let pairs = names.iter().zip(texts.iter());
            Some(pairs.filter_map(|(name, text)| Some((name?.to_owned(), text?.to_owned()))).collect())
        };
        let maps: Option<_> = (0..column.len()).map(read).collect();
        maps.ok_or_else(|| self.corrupt(format!("column {name} does not hold maps of strings")))
    }

    /// A named value of an enumeration, read back.
    pub(crate) fn named<T>(&self, name: &str, read: Option<T>) -> Result<T> {
        read.ok_or_else(|| self.corrupt(format!("column {name} holds a name that is none of its own")))
    }

    /// The bytes `[start, end)`, checked.
    pub(crate) fn span(&self, start: u64, end: u64) -> Result<Span> {
        if start > end {
            return Err(self.corrupt(format!("span {start}..{end} ends before it starts")));
        }
        Ok(Span::new(start, end))
    }

    /// What does not hold in this table.
    pub(crate) fn corrupt(&self, reason: String) -> Error {
        Error::Corrupt { path: self.path.to_owned(), reason }
    }
}

/// A column of 16-byte identities.
pub(crate) struct Ids<'a>(&'a FixedSizeBinaryArray);

impl Ids<'_> {
    /// The identity in row `i`.
    pub(crate) fn value(&self, i: usize) -> [u8; 16] {
        let mut out = [0; 16];
        out.copy_from_slice(self.0.value(i));
        out
    }
}

/// A column of 16-byte identities from their values.
pub(crate) fn ids<'a>(values: impl Iterator<Item = &'a [u8; 16]>) -> FixedSizeBinaryArray {
    let bytes: Vec<u8> = values.flatten().copied().collect();
    FixedSizeBinaryArray::new(16, bytes.into(), None)
}

/// A column of moments in UTC.
pub(crate) fn times(values: impl Iterator<Item = Option<i64>>) -> TimestampMicrosecondArray {
    values.collect::<TimestampMicrosecondArray>().with_timezone("UTC")
}

/// A column of lists from the items of each row.
pub(crate) fn lists<T: Array + 'static>(lengths: impl Iterator<Item = usize>, items: T) -> ListArray {
    let field = Field::new("item", items.data_type().clone(), false);
    ListArray::new(Arc::new(field), OffsetBuffer::from_lengths(lengths), Arc::new(items), None)
}

/// A column of maps from names to texts.
pub(crate) fn maps<'a>(values: impl Iterator<Item = &'a BTreeMap<String, String>> + Clone) -> MapArray {
    let pairs = || values.clone().flatten();
    let names: StringArray = pairs().map(|(name, _)| Some(name.as_str())).collect();
    let texts: StringArray = pairs().map(|(_, text)| Some(text.as_str())).collect();
    let fields: Fields =
        vec![Field::new("keys", DataType::Utf8, false), Field::new("values", DataType::Utf8, false)].into();
    let entries = StructArray::new(fields.clone(), vec![Arc::new(names), Arc::new(texts)], None);
    let field = Field::new("entries", DataType::Struct(fields), false);
    let offsets = OffsetBuffer::from_lengths(values.map(BTreeMap::len));
    MapArray::new(Arc::new(field), offsets, entries, None, false)
}
