//! Matrices of vectors: lent as [`Rows`], owned as [`Vectors`].
//!
//! Knows shapes only. Does not know what a row stands for, nor whether it has unit length.

/// A lent matrix, `[n, dim]`, row-major.
///
/// Invariant: `data.len() == n * dim`, `dim > 0`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    data: &'a [f32],
    dim: usize,
}

impl<'a> Rows<'a> {
    /// Wraps `data` as rows of `dim` values; `None` when it does not divide evenly or `dim` is 0.
    pub fn new(data: &'a [f32], dim: usize) -> Option<Self> {
        (dim > 0 && data.len().is_multiple_of(dim)).then_some(Self { data, dim })
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.data.len() / self.dim
    }

    /// Values a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// One row, `[dim]`.
    ///
    /// # Panics
    /// When `row_idx >= n()`: the caller's own mistake, like a slice index.
    pub fn row(&self, row_idx: usize) -> &'a [f32] {
        &self.data[row_idx * self.dim..(row_idx + 1) * self.dim]
    }

    /// All values, row after row.
    pub fn data(&self) -> &'a [f32] {
        self.data
    }
}

/// An owned matrix, `[n, dim]`, row-major.
///
/// Invariant: `data.len() == n * dim`, `dim > 0`.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    data: Vec<f32>,
    dim: usize,
}

impl Vectors {
    /// Takes `data` as rows of `dim` values; `None` when it does not divide evenly or `dim` is 0.
    pub fn new(data: Vec<f32>, dim: usize) -> Option<Self> {
        (dim > 0 && data.len().is_multiple_of(dim)).then_some(Self { data, dim })
    }

    /// Lends the matrix.
    pub fn rows(&self) -> Rows<'_> {
        Rows { data: &self.data, dim: self.dim }
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.data.len() / self.dim
    }

    /// Values a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// One row, `[dim]`.
    ///
    /// # Panics
    /// When `row_idx >= n()`: the caller's own mistake, like a slice index.
    pub fn row(&self, row_idx: usize) -> &[f32] {
        self.rows().row(row_idx)
    }

    /// Gives the values back, row after row.
    pub fn into_data(self) -> Vec<f32> {
        self.data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uneven_data_is_no_matrix() {
        assert!(Rows::new(&[1.0, 2.0, 3.0], 2).is_none());
        assert!(Rows::new(&[], 0).is_none());
        assert!(Vectors::new(vec![1.0], 0).is_none());
    }

    #[test]
    fn rows_come_back_as_given() {
        let vectors = Vectors::new(vec![1.0, 2.0, 3.0, 4.0], 2).expect("even");
        assert_eq!((vectors.n(), vectors.dim()), (2, 2));
        assert_eq!(vectors.row(1), &[3.0, 4.0]);
        assert_eq!(vectors.into_data(), vec![1.0, 2.0, 3.0, 4.0]);
    }
}
