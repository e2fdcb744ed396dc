//! Matrices in memory, copied into panels that micro-kernels read in order.

use crate::matmul::operand::Operand;

/// A matrix in memory: element `[i, j]` is at `i * row + j * column`, in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<T> {
    pub at: *const T,
    pub row: usize,
    pub column: usize,
}

impl<T> Matrix<T> {
    /// The matrix that starts at `[i, j]` of this one.
    #[inline]
    pub fn from(self, i: usize, j: usize) -> Self {
        Matrix { at: self.at.wrapping_add(i * self.row + j * self.column), ..self }
    }
    #[inline]
    pub fn transposed(self) -> Self {
        Matrix { row: self.column, column: self.row, ..self }
    }
}

/// Copies `depth` rows of a matrix's first `count` columns to `panel`, `width` elements a row; the rest of each row is set to zero.
///
/// # Safety
/// The matrix is readable for `depth x count`, the panel writable for `depth * width` elements; `count <= width`.
pub(crate) unsafe fn pack<T: Operand>(from: Matrix<T>, depth: usize, count: usize, panel: *mut T::Acc, width: usize) {
    // SAFETY: each way stays within `depth` x `count` of the matrix; a panel's row has `width` elements, zeros from `count` on.
    unsafe {
        match (from.column, from.row, width) {
            (1, _, 32) if count == width => rows::<T, 32>(from, depth, panel),
            (1, _, 16) if count == width => rows::<T, 16>(from, depth, panel),
            (1, _, 8) if count == width => rows::<T, 8>(from, depth, panel),
            (1, _, 4) if count == width => rows::<T, 4>(from, depth, panel),
            (_, 1, _) => columns(from, depth, count, panel, width),
            _ => elements(from, 0..depth, 0..count, panel, width),
        }
        if count < width {
            for p in 0..depth {
                std::slice::from_raw_parts_mut(panel.add(p * width + count), width - count).fill(T::Acc::default());
            }
        }
    }
}

/// # Safety
/// As [`pack`], for rows of `W` contiguous elements.
unsafe fn rows<T: Operand, const W: usize>(from: Matrix<T>, depth: usize, panel: *mut T::Acc) {
    for p in 0..depth {
        // SAFETY: row `p` of the matrix has `W` contiguous elements, and the panel `W` for each `p` below the depth.
        unsafe {
            let row = from.at.add(p * from.row).cast::<[T; W]>().read_unaligned();
            panel.add(p * W).cast::<[T::Acc; W]>().write_unaligned(row.map(T::widen));
        }
    }
}

/// # Safety
/// As [`pack`], where columns are contiguous.
unsafe fn columns<T: Operand>(from: Matrix<T>, depth: usize, count: usize, panel: *mut T::Acc, width: usize) {
    const B: usize = 4;
    let (whole_depth, whole_count) = (depth / B * B, count / B * B);
    // SAFETY: tiles and edges cover depth x count.
    unsafe {
        for j in (0..whole_count).step_by(B) {
            for p in (0..whole_depth).step_by(B) {
                tile(from.at.add(p + j * from.column), from.column, panel.add(p * width + j), width);
            }
        }
        elements(from, 0..whole_depth, whole_count..count, panel, width);
        elements(from, whole_depth..depth, 0..count, panel, width);
    }
}

/// Transposes 4 x 4 elements.
///
/// # Safety
/// Both sides are valid for 4 rows of 4 elements.
#[inline(always)]
unsafe fn tile<T: Operand>(src: *const T, src_row: usize, dst: *mut T::Acc, dst_row: usize) {
    // SAFETY: `i` and `j` below 4 are elements of both sides, at their distances of rows.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if T::EXACT && size_of::<T>() == 4 {
            let (src_step, dst_step) = (4 * src_row as isize, 4 * dst_row as isize);
            return crate::copy::tile::x86::tile_4x4(src.cast(), src_step, dst.cast(), dst_step);
        }
        let lines: [[T; 4]; 4] = std::array::from_fn(|j| src.add(j * src_row).cast::<[T; 4]>().read_unaligned());
        for p in 0..4 {
            dst.add(p * dst_row).cast::<[T::Acc; 4]>().write_unaligned(lines.map(|line| line[p].widen()));
        }
    }
}

/// # Safety
/// As [`pack`], for some of its rows and columns.
unsafe fn elements<T: Operand>(
    from: Matrix<T>,
    depth: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
    panel: *mut T::Acc,
    width: usize,
) {
    for p in depth {
        for j in columns.clone() {
            // SAFETY: `p` and `j` are among the matrix' rows and columns, and `j` is below `width`, the panel's row.
            unsafe { *panel.add(p * width + j) = from.from(p, j).at.read_unaligned().widen() };
        }
    }
}
