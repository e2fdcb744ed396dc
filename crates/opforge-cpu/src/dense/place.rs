//! Where the matrices of a batch are in a tensor.

use faer::{MatMut, MatRef};
use opforge_core::Meta;

/// Where a batch's matrices lie, in elements. A vector is a matrix of one column, a number one of one row too.
pub(super) struct Place {
    /// Lengths and strides of the batch.
    lead: Vec<(usize, usize)>,
    pub rows: usize,
    pub columns: usize,
    row: isize,
    column: isize,
}

impl Place {
    /// The last dimensions of a tensor, those after the `lead` first.
    pub fn new(meta: &Meta, lead: usize) -> Self {
        let (dims, stride) = (meta.dims(), meta.layout.stride());
        let axis = |d: usize| if d < dims.len() { (dims[d], stride[d]) } else { (1, 1) };
        let ((rows, row), (columns, column)) = (axis(lead), axis(lead + 1));
        Place { lead: (0..lead).map(axis).collect(), rows, columns, row: row as isize, column: column as isize }
    }

    /// The same matrices, transposed.
    pub fn transposed(self) -> Self {
        Place { rows: self.columns, columns: self.rows, row: self.column, column: self.row, ..self }
    }

    pub fn len(&self) -> usize {
        self.rows * self.columns
    }

    /// The offset of a batch's matrix.
    pub fn offset(&self, mut index: usize) -> usize {
        let Some(((_, first), rest)) = self.lead.split_first() else { return 0 };
        let mut offset = 0;
        for &(len, stride) in rest.iter().rev() {
            offset += index % len * stride;
            index /= len;
        }
        offset + index * first
    }

    /// The offset of an element in its matrix.
    #[inline(always)]
    pub fn within(&self, i: usize, j: usize) -> isize {
        i as isize * self.row + j as isize * self.column
    }

    /// # Safety
    /// `base` is valid for reads of the tensor that this was made of, as long as `'a`.
    pub unsafe fn read<'a, T>(&self, base: *const T, index: usize) -> MatRef<'a, T> {
        // SAFETY: matrix `index` of the tensor, `rows` x `columns` at these strides from its offset on, is readable for `'a`.
        unsafe { MatRef::from_raw_parts(base.add(self.offset(index)), self.rows, self.columns, self.row, self.column) }
    }

    /// Writes a matrix, column by column.
    ///
    /// # Safety
    /// `base` is valid for writes of the tensor that this was made of, and nobody else touches this matrix.
    pub unsafe fn write<T: Copy, U>(&self, base: *mut U, index: usize, from: &[T], convert: impl Fn(T) -> U) {
        let start = self.offset(index);
        for (j, column) in from.chunks_exact(self.rows.max(1)).enumerate() {
            for (i, &x) in column.iter().enumerate() {
                let place = start + i * self.row as usize + j * self.column as usize;
                // SAFETY: `i < rows`, and `j` counts columns of `from`, a matrix of this size: an element of the tensor's matrix.
                unsafe { base.add(place).write(convert(x)) };
            }
        }
    }
}

/// Columns one after another as a matrix.
pub(super) fn matrix<T>(columns: &mut [T], rows: usize) -> MatMut<'_, T> {
    let count = columns.len().checked_div(rows).unwrap_or(0);
    MatMut::from_column_major_slice_mut(columns, rows, count)
}
