//! Where the matrices of a batch are in a tensor.

use faer::{MatMut, MatRef};
use opforge_core::Meta;
use opforge_runtime::parallel::parallel_for;

use crate::copy::Shared;
use crate::copy::tile::Tile;
use crate::loops::work::grain;

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

    /// The steps from row to row and from column to column.
    pub fn steps(&self) -> [isize; 2] {
        [self.row, self.column]
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

    /// Writes a matrix, whose columns are given one after another.
    ///
    /// # Safety
    /// `base` is valid for writes of the tensor that this was made of, and nobody else touches this matrix.
    pub unsafe fn write<T: Copy>(&self, base: *mut T, index: usize, from: &[T]) {
        assert_eq!(from.len(), self.len(), "a number for each element");
        let (to, steps) = (base.wrapping_add(self.offset(index)), [self.row as usize, self.column as usize]);
        // SAFETY: the matrix has these rows and columns at these steps, and `from` is another of them, whose columns are one after another.
        unsafe { copy_elements(from.as_ptr(), [1, self.rows], to, steps, [self.rows, self.columns]) };
    }

    /// As [`Place::write`], of what the elements are converted to.
    ///
    /// # Safety
    /// As [`Place::write`].
    pub unsafe fn write_converted<T: Copy, U>(&self, base: *mut U, index: usize, from: &[T], convert: impl Fn(T) -> U) {
        let start = self.offset(index);
        assert_eq!(from.len(), self.len(), "a number for each element");
        each_element(self.rows, self.columns, |i, j| {
            let place = start + i * self.row as usize + j * self.column as usize;
            // SAFETY: row `i` and column `j` are the matrix's: an element of the tensor's and of `from`, a matrix of this size.
            unsafe { base.add(place).write(convert(*from.get_unchecked(j * self.rows + i))) };
        });
    }
}

/// Calls `body` with the row and the column of each element of a matrix, by blocks of which a cache holds all lines, whichever way they lie.
fn each_element(rows: usize, columns: usize, mut body: impl FnMut(usize, usize)) {
    const BLOCK: usize = 16;
    for first_row in (0..rows).step_by(BLOCK) {
        for first in (0..columns).step_by(BLOCK) {
            for i in first_row..rows.min(first_row + BLOCK) {
                for j in first..columns.min(first + BLOCK) {
                    body(i, j);
                }
            }
        }
    }
}

/// Copies elements, by tiles where the lines of one side are the columns of the other. Steps are from row to row and from column to column.
///
/// # Safety
/// `from` is readable and `to` writable for so many rows and columns, at their steps; they do not overlap.
unsafe fn copy_elements<T: Copy>(
    from: *const T,
    from_step: [usize; 2],
    to: *mut T,
    to_step: [usize; 2],
    [rows, columns]: [usize; 2],
) {
    if to_step[0] != 1 && to_step[1] == 1 {
        let turned = |[row, column]: [usize; 2]| [column, row];
        // SAFETY: as the caller says, of the transposes.
        return unsafe { copy_elements(from, turned(from_step), to, turned(to_step), [columns, rows]) };
    }
    let (from, to) = (Shared(from), Shared(to));
    let element = |i: usize, j: usize| {
        let (source, target) = (i * from_step[0] + j * from_step[1], i * to_step[0] + j * to_step[1]);
        // SAFETY: row `i` and column `j` are of both.
        unsafe { *to.get().add(target) = *from.get().add(source) };
    };
    let tile = Tile::new(size_of::<T>());
    let is_turned = to_step[0] == 1 && from_step[1] == 1 && rows >= tile.side && columns >= tile.side;
    let is_straight = to_step[0] == 1 && from_step[0] == 1;
    if !is_turned && !is_straight {
        return each_element(rows, columns, element);
    }
    let [source_bytes, target_bytes] = [from_step[0], to_step[1]].map(|step| (step * size_of::<T>()) as isize);
    let blocks = columns.div_ceil(tile.side);
    parallel_for(blocks, grain(rows * tile.side), |range| {
        for block in range {
            let first = block * tile.side;
            let end = columns.min(first + tile.side);
            if !is_turned {
                for j in first..end {
                    // SAFETY: column `j` has as many elements as there are rows, one after another on both sides.
                    unsafe {
                        let from = from.get().add(j * from_step[1]);
                        from.copy_to_nonoverlapping(to.get().add(j * to_step[1]), rows);
                    }
                }
                continue;
            }
            for i in (0..rows).step_by(tile.side) {
                let size = [tile.side.min(rows - i), end - first];
                // SAFETY: a tile of this size begins at row `i` of column `first`: lines of rows on one side, of columns on the other.
                unsafe {
                    let from = from.get().add(i * from_step[0] + first).cast::<u8>();
                    let to = to.get().add(i + first * to_step[1]).cast::<u8>();
                    match size == [tile.side; 2] {
                        true => (tile.full)(from, source_bytes, to, target_bytes),
                        false => (tile.part)(from, source_bytes, to, target_bytes, size[1], size[0]),
                    }
                }
            }
        }
    });
}

/// Copies a matrix to columns one after another.
pub(super) fn copy<T: Copy>(from: MatRef<'_, T>, to: &mut [T]) {
    let (rows, columns) = (from.nrows(), from.ncols());
    assert_eq!(to.len(), rows * columns, "a place for each element");
    let steps = [from.row_stride() as usize, from.col_stride() as usize];
    // SAFETY: a matrix is readable at its steps, and `to` has as many elements.
    unsafe { copy_elements(from.as_ptr(), steps, to.as_mut_ptr(), [1, rows], [rows, columns]) };
}

/// As [`copy`], of what the elements are converted to.
pub(super) fn copy_converted<T: Copy, U>(from: MatRef<'_, T>, to: &mut [U], convert: impl Fn(T) -> U) {
    let (rows, columns) = (from.nrows(), from.ncols());
    assert_eq!(to.len(), rows * columns, "a place for each element");
    each_element(rows, columns, |i, j| {
        // SAFETY: row `i` and column `j` are the matrix's: an element of both.
        unsafe { *to.get_unchecked_mut(j * rows + i) = convert(*from.get_unchecked(i, j)) };
    });
}

/// Columns one after another as a matrix.
pub(super) fn matrix<T>(columns: &mut [T], rows: usize) -> MatMut<'_, T> {
    let count = columns.len().checked_div(rows).unwrap_or(0);
    MatMut::from_column_major_slice_mut(columns, rows, count)
}

/// A matrix of contiguous columns, as loops over vectors see it: where it is, rows and columns, and elements from column to column.
#[derive(Clone, Copy)]
pub(super) struct InMemory<E> {
    pub at: *mut E,
    pub size: [usize; 2],
    pub stride: usize,
}

impl<E> InMemory<E> {
    /// The matrix, whose columns are contiguous.
    pub fn new(a: &mut MatMut<'_, E>) -> Self {
        assert!(a.nrows() <= 1 || a.row_stride() == 1, "contiguous columns");
        InMemory { at: a.as_ptr_mut(), size: [a.nrows(), a.ncols()], stride: a.col_stride() as usize }
    }
}
