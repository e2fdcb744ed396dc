//! The plan of a search: which rows and columns there are.

use crate::loops::plan::{LoopDim, LoopDims, order_and_merge};
use opforge_tile::forms::Extreme;

/// Columns searched side by side.
pub(super) const TILE: usize = 256;
/// Up to this length, rows that lie one after another are searched side by side, as columns.
const SHORT_ROW: usize = 32;

/// What is searched, and how.
pub(super) struct ArgPlan {
    pub outer: LoopDims<2>,
    pub len: usize,
    pub stride: usize,
    /// The dimension of rows that are searched side by side, with its strides in the input and the output; of length 0 where outputs are found one by
    /// one.
    pub columns: LoopDim<2>,
    /// Elements of each column that are searched side by side too, where columns are few and lie without gaps; else 1.
    pub together: usize,
    pub flip: i64,
    pub wide_output: bool,
}

impl ArgPlan {
    pub fn new(mut outer: LoopDims<2>, len: usize, stride: usize, extreme: Extreme, wide_output: bool) -> Self {
        if outer.iter().all(|d| d.len > 0) {
            order_and_merge(&mut outer);
        }
        let is_short = stride == 1 && len <= SHORT_ROW;
        let last = outer.last().copied().filter(|d| d.len >= 8 && (is_short || (1..stride).contains(&d.stride[0])));
        // Columns count in u32.
        let columns = last.filter(|_| len <= u32::MAX as usize).unwrap_or(LoopDim { len: 0, stride: [0, 0] });
        if columns.len > 0 {
            outer.pop();
        }
        let is_dense = columns.len > 0 && columns.stride[0] == 1 && stride == columns.len;
        let together = if is_dense { (TILE / columns.len).min(len).max(1) } else { 1 };
        let flip = if extreme == Extreme::Min { -1 } else { 0 };
        ArgPlan { outer, len, stride, columns, together, flip, wide_output }
    }

    /// The number of tasks for each place of the outer dimensions.
    pub fn tiles(&self) -> usize {
        if self.columns.len > 0 { self.columns.len.div_ceil(TILE) } else { 1 }
    }

    /// Writes a result.
    ///
    /// # Safety
    /// `output` is the kernel's output, of which `at` is an element.
    #[inline(always)]
    pub unsafe fn write(&self, output: *mut u8, at: usize, index: usize) {
        // SAFETY: `at` is an element of the output, i64 if it is wide, else u32, which holds any index of the plan's rows.
        unsafe {
            if self.wide_output {
                output.cast::<i64>().add(at).write(index as i64);
            } else {
                output.cast::<u32>().add(at).write(index as u32);
            }
        }
    }
}
