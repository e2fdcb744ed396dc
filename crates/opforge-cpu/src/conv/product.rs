//! Products of packed blocks.

use crate::matmul::operand::{Accumulator, Operand};
use crate::matmul::{Ahead, Args, Kernels, Packing};

/// Depth of a packed block at most.
pub(super) const DEPTH: usize = 256;
/// Columns of a packed block at most; a multiple of every micro-kernel's.
pub(super) const COLUMNS: usize = 768;

/// Products that are added to one sum before it enters a total, where there are more: errors grow with the number of additions.
pub(super) const PRODUCTS: usize = 64;

/// The totals of some sums.
pub(super) type Total<F> = <F as Accumulator>::Total;

/// The depth of blocks, all but the last equal, and packed without a rest.
pub(super) fn block_depth<E: Operand>(packing: &Packing<E>, depth: usize) -> usize {
    depth.div_ceil(depth.div_ceil(DEPTH).max(1)).max(1).next_multiple_of(packing.unit * packing.whole)
}

/// `c [rows, columns] = a [rows, depth] b [depth, columns]`, or that added to `c`.
pub(super) struct Product<F> {
    /// Strips of rows, as high as the kernels or, the last one, what is left: that which starts at row `s` is at `s * depth`.
    pub a: *const F,
    /// Panels of `depth` rows, one register block wide, one after the other.
    pub b: *const F,
    pub c: *mut F,
    pub c_row: usize,
    pub rows: usize,
    pub columns: usize,
    /// In packed rows.
    pub depth: usize,
    pub add: bool,
}

impl<F> Product<F> {
    /// # Safety
    /// All addresses are valid for what is described; the kernels are for this CPU.
    pub unsafe fn run(&self, kernels: &Kernels<F>) {
        let (height, width) = (kernels.rows(), kernels.width());
        let _session = kernels.session();
        for j in (0..self.columns).step_by(width) {
            for i in (0..self.rows).step_by(height) {
                let (rows, columns) = (height.min(self.rows - i), width.min(self.columns - j));
                let a = self.a.wrapping_add(i * self.depth);
                // SAFETY: strip `i` and panel `j` are within `a` and `b`, and `rows` x `columns` are left of `c`.
                unsafe {
                    kernels.get(rows, columns)(&Args {
                        depth: self.depth,
                        a,
                        b: self.b.add(j * self.depth),
                        b_row: width,
                        b_offsets: std::ptr::null(),
                        c: self.c.add(i * self.c_row + j),
                        c_row: self.c_row,
                        columns,
                        add: self.add,
                        ahead: Ahead::nothing(a),
                    });
                }
            }
        }
    }
}
