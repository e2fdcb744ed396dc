//! Products of many rows by few columns. To pack them would take longer than to multiply them: the right operand is copied once, as it is computed with, to
//! where its rows are contiguous, and the left one's rows are read where they lie, or widened block by block.

use std::ptr::null;

use opforge_core::Result;
use opforge_runtime::alloc::Room;
use opforge_runtime::{HostKernel, checkpoint};

use super::micro::Kernels;
use super::pack::Matrix;
use super::problem::Problem;
use super::small::InPlace;
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::loops::work;
use crate::matmul::operand::{Accumulator, Operand};
use crate::memory::scratch::{buffer, with_scratch};

/// The largest depth: sums are made at once.
const MAX_DEPTH: usize = 256;
/// The largest depth where columns take more than one register: from there on packed operands are faster.
const SHALLOW: usize = 64;
/// Elements of the rows and of the results of a task: few enough for the first level of cache.
const BLOCK: usize = 1 << 12;

/// Whether a product has many rows, and columns that one kernel has registers for.
pub(super) fn fits<T: Operand>(problem: &Problem) -> bool {
    let (Problem { m, n, k, .. }, kernels) = (problem, T::Acc::kernels());
    kernels.are_in_place()
        && problem.batches() == 1
        && (2..=kernels.width()).contains(n)
        && (1..=MAX_DEPTH).contains(k)
        && (*k <= SHALLOW || *n <= kernels.lanes())
        && *m >= 2 * n.max(&kernels.rows())
}

/// A product that [`fits`].
pub(super) struct Tall<T: Operand> {
    problem: Problem,
    kernels: Kernels<T::Acc>,
    /// Rows of a task.
    rows: usize,
}

/// The right operand as it is computed with: `k` rows, and the bias after them.
struct Right<A> {
    rows: Room<A>,
    has_bias: bool,
}

impl<T: Operand> Tall<T> {
    pub fn new(problem: Problem) -> Self {
        let kernels = T::Acc::kernels();
        let rows = (BLOCK / (problem.k + problem.n)).max(1).next_multiple_of(kernels.rows());
        Tall { problem, kernels, rows }
    }

    /// The work of a task, in [elements](work) of a plain loop.
    fn elements(&self) -> usize {
        self.rows * (self.problem.k + self.problem.n)
    }

    /// # Safety
    /// The inputs are the problem's.
    unsafe fn right(&self, inputs: &[*const u8]) -> Result<Right<T::Acc>> {
        let Problem { n, k, b, bias, .. } = self.problem;
        let mut rows = buffer::<T::Acc>((k + 1) * n)?;
        let at = |at: *const u8| at.cast::<T>();
        // SAFETY: the matrix has `k` rows of `n` elements at its strides, the bias `n`.
        unsafe {
            for e in 0..k * n {
                rows.push((*at(inputs[1]).add(e / n * b.0 + e % n * b.1)).widen())?;
            }
            if let Some(step) = bias {
                (0..n).try_for_each(|j| rows.push((*at(inputs[2]).add(j * step)).widen()))?;
            }
        }
        Ok(Right { rows, has_bias: bias.is_some() })
    }

    /// Computes `m` rows, of a matrix as it is computed with.
    ///
    /// # Safety
    /// The matrix has so many rows, and `c` room for as many.
    unsafe fn multiply(&self, m: usize, a: Matrix<T::Acc>, right: &Right<T::Acc>, c: *mut T::Acc) {
        let Problem { n, k, .. } = self.problem;
        let b = right.rows.as_ptr();
        let bias = if right.has_bias { b.wrapping_add(k * n) } else { null() };
        let height = self.kernels.rows();
        for i in (0..m).step_by(height) {
            // SAFETY: from row `i` on, `a` and `c` have the kernel's rows, `b`, the bias and `c` its columns.
            unsafe {
                self.kernels.get_in_place(height.min(m - i), n)(&InPlace {
                    depth: k,
                    a: a.from(i, 0).at,
                    a_strides: (a.row, a.column),
                    b,
                    b_row: n,
                    bias,
                    c: c.add(i * n),
                    c_row: n,
                    columns: n,
                });
            }
        }
    }

    /// Computes `m` rows, which are widened first, and narrowed.
    ///
    /// # Safety
    /// As [`Tall::multiply`].
    unsafe fn multiply_widened(&self, m: usize, a: Matrix<T>, right: &Right<T::Acc>, c: *mut T) -> Result<()> {
        let Problem { n, k, .. } = self.problem;
        with_scratch(m * (k + n) * size_of::<T::Acc>(), |scratch| {
            let wide = scratch.cast::<T::Acc>();
            let sums = wide.wrapping_add(m * k);
            // SAFETY: the scratch holds the rows and their sums; the matrix has the rows, and they lie one after another where that is said.
            unsafe {
                if a.column == 1 && a.row == k {
                    T::widen_all(a.at, wide, m * k);
                } else {
                    (0..m * k).for_each(|e| *wide.add(e) = (*a.from(e / k, e % k).at).widen());
                }
                self.multiply(m, Matrix { at: wide, row: k, column: 1 }, right, sums);
                T::narrow_all(sums, c, m * n);
            }
        })
    }
}

impl<T: Operand> HostKernel for Tall<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let Problem { m, n, a: (row, column), .. } = self.problem;
        // SAFETY: the inputs are this call's.
        let right = unsafe { self.right(inputs)? };
        let (a, c) = (Shared(inputs[0].cast::<T>()), Shared(outputs[0].cast::<T>()));
        try_parallel_for(m.div_ceil(self.rows), work::grain(self.elements()), |tasks| {
            for task in tasks {
                checkpoint();
                let first = task * self.rows;
                let rows = self.rows.min(m - first);
                let a = Matrix { at: a.get(), row, column }.from(first, 0);
                let c = c.get().wrapping_add(first * n);
                // SAFETY: these rows are the matrix's, and this task's alone in the output. Exact elements are their own accumulators.
                unsafe {
                    if T::EXACT {
                        self.multiply(rows, Matrix { at: a.at.cast(), row, column }, &right, c.cast());
                    } else {
                        self.multiply_widened(rows, a, &right, c)?;
                    }
                }
            }
            Ok(())
        })
    }

    fn cost(&self) -> u64 {
        60 + (self.problem.m * (self.problem.k + self.problem.n) / 8 + self.problem.work() / 64) as u64
    }
}
