//! The rectangles in which products make their output, for those who follow: blocks, and rows of tall ones.

use opforge_core::Result;
use opforge_runtime::{Rectangles, Then};

use super::gemm::{Gemm, ROWS, STRIPS_FOLLOWED};
use super::operand::Operand;
use super::tall::Tall;

impl<T: Operand> Rectangles for Gemm<T> {
    fn shape(&self) -> [usize; 3] {
        let (batches, m, n) = (self.problem.batches(), self.problem.m, self.problem.n);
        if self.turned { [1, batches * n, m] } else { [1, batches * m, n] }
    }

    fn sizes(&self) -> Vec<[usize; 2]> {
        let (grid, width) = (&self.grid, self.kernels.width());
        let rows = lengths(&lengths(&[self.problem.m], grid.rows), ROWS);
        let columns = lengths(&lengths(&[self.problem.n], grid.columns), self.most_columns());
        let columns = lengths(&columns, STRIPS_FOLLOWED * width);
        let (rows, columns) = if self.turned { (columns, rows) } else { (rows, columns) };
        rows.iter().flat_map(|&rows| columns.iter().map(move |&columns| [rows, columns])).collect()
    }

    unsafe fn run_then(&self, inputs: &[*const u8], outputs: &[*mut u8], then: Then<'_>) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.tasks(inputs, outputs, Some(then)) }
    }
}

impl<T: Operand> Rectangles for Tall<T> {
    fn shape(&self) -> [usize; 3] {
        [1, self.problem.m, self.problem.n]
    }

    fn sizes(&self) -> Vec<[usize; 2]> {
        lengths(&[self.problem.m], self.rows).into_iter().map(|rows| [rows, self.problem.n]).collect()
    }

    unsafe fn run_then(&self, inputs: &[*const u8], outputs: &[*mut u8], then: Then<'_>) -> Result<()> {
        // SAFETY: as the caller promises: the tensors are this call's, and `then` may have what is finished.
        unsafe { self.tasks(inputs, outputs, Some(then)) }
    }
}

/// The lengths of the pieces that these lengths are cut into by `size`, the longest first.
fn lengths(of: &[usize], size: usize) -> Vec<usize> {
    let mut all: Vec<usize> = of.iter().flat_map(|&len| [len.min(size), len % size]).filter(|&len| len > 0).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.dedup();
    all
}
