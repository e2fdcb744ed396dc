//! Products of many rows by few columns, or of little depth. To pack them would take longer than to multiply them: the left operand's rows are read where
//! they lie, or widened block by block, and of the right one there is a copy as it is computed with only where its rows are not contiguous already (or its
//! columns, which `fold.rs` takes where they are very few). Pairs of bf16 are read where they lie too, where the processor multiplies them as such.

use std::marker::PhantomData;
use std::ptr::null;

use opforge_core::Result;
use opforge_runtime::alloc::Room;
use opforge_runtime::{HostKernel, Rectangles, Then, checkpoint};

use super::fold::{self, Fold, FoldKernel, Folds};
use super::micro::Kernels;
use super::pack::{Matrix, Packing};
use super::problem::Problem;
use super::small::InPlace;
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::loops::work;
use crate::matmul::operand::{Accumulator, Operand};
use crate::memory::scratch::with_scratch;

/// The largest depth: sums are made at once.
const MAX_DEPTH: usize = 256;
/// The largest depth where columns take more than one register: from there on packed operands are faster.
const SHALLOW: usize = 64;
/// The largest depth where columns take more than one kernel, each of which reads the rows once more; of pairs it is [`SHALLOW`].
const SHALLOWEST: usize = 16;
/// Depth and columns from which tiles are faster, where the processor has them.
const TILED: usize = 32;
/// The most kernels that columns take.
const MAX_KERNELS: usize = 8;
/// Elements of the rows and of the results of a task: few enough for the first level of cache.
const BLOCK: usize = 1 << 12;

/// Whether a product has many rows, and columns that one kernel has registers for, or several if there is little depth.
pub(super) fn fits<T: Operand>(problem: &Problem) -> bool {
    let (Problem { m, n, k, .. }, kernels) = (problem, T::Acc::kernels());
    if T::for_products().1.left.is_some() && *k >= TILED && *n >= TILED {
        return false;
    }
    let shallow = if has_pairs::<T>(problem) { SHALLOW } else { SHALLOWEST };
    let most = if *k <= shallow { MAX_KERNELS * kernels.width() } else { kernels.width() };
    kernels.are_in_place()
        && problem.batches() == 1
        && (2..=most).contains(n)
        && (1..=MAX_DEPTH).contains(k)
        && (*k <= SHALLOW || *n <= kernels.lanes())
        && *m >= 2 * n.max(&kernels.rows())
}

/// Whether rows of the left operand are pairs as they lie, and multiplied as such.
fn has_pairs<T: Operand>(problem: &Problem) -> bool {
    let Problem { k, a, .. } = problem;
    T::pairs().is_some() && a.1 == 1 && k.is_multiple_of(2) && a.0.is_multiple_of(2)
}

/// A product that [`fits`], or [of folded sums](fold::fits).
pub(super) struct Tall<T: Operand> {
    pub(super) problem: Problem,
    kernels: Kernels<T::Acc>,
    fold: Option<FoldKernel<T::Acc>>,
    /// How the right operand is packed, if the left one's elements are read as pairs.
    pairs: Option<Packing<T>>,
    /// Rows of a task.
    pub(super) rows: usize,
}

/// Contiguous rows as they are computed with, so far apart, in strips of columns as wide as a kernel.
struct Rows<A> {
    at: Shared<*const A>,
    step: usize,
    /// From strip to strip, for each column.
    strip: usize,
    /// Where they are if not in an operand.
    _copy: Option<Room<A>>,
}

impl<A: Accumulator> Rows<A> {
    /// Those of a matrix, where they lie if that will do.
    ///
    /// # Safety
    /// The matrix has these rows and columns.
    unsafe fn of<T: Operand<Acc = A>>(matrix: Matrix<T>, [rows, columns]: [usize; 2]) -> Result<Self> {
        if T::EXACT && matrix.column == 1 {
            // Elements are their own accumulators.
            return Ok(Rows { at: Shared(matrix.at.cast()), step: matrix.row, strip: 1, _copy: None });
        }
        let mut copy = Room::filled(rows * columns, A::default())?;
        for (i, row) in copy.chunks_exact_mut(columns).enumerate() {
            for (j, x) in row.iter_mut().enumerate() {
                // SAFETY: row `i` and column `j` are the matrix's.
                *x = unsafe { *matrix.from(i, j).at }.widen();
            }
        }
        Ok(Rows { at: Shared(copy.as_ptr()), step: columns, strip: 1, _copy: Some(copy) })
    }

    /// Pairs of the rows of a matrix, in strips of columns that lie one after another.
    ///
    /// # Safety
    /// As [`Rows::of`].
    unsafe fn packed<T: Operand<Acc = A>>(
        packing: Packing<T>,
        matrix: Matrix<T>,
        [rows, columns]: [usize; 2],
        width: usize,
    ) -> Result<Self> {
        let (step, strip) = (width.min(columns), packing.rows(rows));
        let mut copy = Room::filled(strip * columns.next_multiple_of(step), A::default())?;
        for j in (0..columns).step_by(step) {
            // SAFETY: the strip has a row of `step` elements for each pair of the matrix's, of which the columns from `j` on are there.
            unsafe {
                let to = copy.as_mut_ptr().add(j * strip);
                (packing.pack)(matrix.from(0, j), rows, step.min(columns - j), to, step);
            }
        }
        Ok(Rows { at: Shared(copy.as_ptr()), step, strip, _copy: Some(copy) })
    }
}

/// The right operand, turned for folded sums, and the bias.
struct Right<A> {
    rows: Rows<A>,
    bias: Option<Rows<A>>,
}

impl<T: Operand> Tall<T> {
    pub fn new(problem: Problem) -> Self {
        let fold = T::Acc::fold().filter(|_| fold::fits::<T>(&problem));
        let pairs = T::pairs().filter(|_| fold.is_none() && has_pairs::<T>(&problem));
        let (kernels, pairs) =
            pairs.map_or_else(|| (T::Acc::kernels(), None), |(kernels, packing)| (kernels, Some(packing)));
        let together = if fold.is_some() { fold::TOGETHER } else { kernels.rows() };
        let rows = (BLOCK / (problem.k + problem.n)).max(1).next_multiple_of(together);
        Tall { problem, kernels, fold, pairs, rows }
    }

    /// The work of a task, in [elements](work) of a plain loop.
    fn elements(&self) -> usize {
        self.rows * (self.problem.k + self.problem.n)
    }

    /// # Safety
    /// The inputs are the problem's.
    unsafe fn right(&self, inputs: &[*const u8]) -> Result<Right<T::Acc>> {
        let Problem { n, k, b, bias, .. } = self.problem;
        let input = |i: usize, row, column| Matrix { at: inputs[i].cast::<T>(), row, column };
        // SAFETY: the second input has `k` rows of `n` elements at its strides, the third, if there is a bias, one.
        unsafe {
            let bias = bias.map(|step| Rows::of(input(2, 0, step), [1, n])).transpose()?;
            let rows = match (self.fold, self.pairs) {
                (Some(_), _) => Rows::of(input(1, b.1, b.0), [n, k])?,
                (None, Some(packing)) => Rows::packed(packing, input(1, b.0, b.1), [k, n], self.kernels.width())?,
                (None, None) => Rows::of(input(1, b.0, b.1), [k, n])?,
            };
            Ok(Right { rows, bias })
        }
    }

    /// Computes `m` rows, of a matrix as it is computed with, so many elements deep.
    ///
    /// # Safety
    /// The matrix has so many rows, and `c` room for as many.
    unsafe fn multiply(&self, m: usize, k: usize, a: Matrix<T::Acc>, right: &Right<T::Acc>, c: *mut T::Acc) {
        let (n, width) = (self.problem.n, self.kernels.width());
        let (height, bias) = (self.kernels.rows(), right.bias.as_ref().map_or(null(), |bias| bias.at.get()));
        if let Some(kernel) = self.fold {
            let b = Matrix { at: right.rows.at.get(), row: right.rows.step, column: 1 };
            // SAFETY: all of `a`, the right operand, the bias and `c` are as the arguments say, and the kernel is this processor's.
            return unsafe { kernel(&Fold(PhantomData), Folds { rows: m, columns: n, depth: k, a, b, bias, c }) };
        }
        for i in (0..m).step_by(height) {
            for j in (0..n).step_by(width) {
                let columns = width.min(n - j);
                let bias = if bias.is_null() { bias } else { bias.wrapping_add(j) };
                // SAFETY: from row `i` and column `j` on, `a` and `c` have the kernel's rows, `b`, the bias and `c` its columns.
                unsafe {
                    self.kernels.get_in_place(height.min(m - i), columns)(&InPlace {
                        depth: k,
                        a: a.from(i, 0).at,
                        a_strides: (a.row, a.column),
                        b: right.rows.at.get().add(j * right.rows.strip),
                        b_row: right.rows.step,
                        bias,
                        c: c.add(i * n + j),
                        c_row: n,
                        columns,
                    });
                }
            }
        }
    }

    /// Computes `m` rows, of which pairs are read, and narrows them.
    ///
    /// # Safety
    /// As [`Tall::multiply`].
    unsafe fn multiply_pairs(
        &self,
        packing: Packing<T>,
        m: usize,
        a: Matrix<T>,
        right: &Right<T::Acc>,
        c: *mut T,
    ) -> Result<()> {
        let Problem { n, k, .. } = self.problem;
        with_scratch(m * n * size_of::<T::Acc>(), |scratch| {
            let (pairs, sums) = (Matrix { at: a.at.cast(), row: a.row / 2, column: 1 }, scratch.cast::<T::Acc>());
            // SAFETY: a pair is as large as a sum, and rows are pairs; the scratch holds the sums.
            unsafe {
                self.multiply(m, k / 2, pairs, right, sums);
                (packing.narrow)(sums, c, m * n);
            }
        })
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
                // Rows without gaps are one.
                let (rows, len) = if (a.row, a.column) == (k, 1) { (1, m * k) } else { (m, k) };
                for i in 0..rows {
                    let (from, to) = (a.from(i, 0), wide.add(i * len));
                    if a.column == 1 {
                        T::widen_all(from.at, to, len);
                    } else {
                        (0..k).for_each(|p| *to.add(p) = (*from.from(0, p).at).widen());
                    }
                }
                self.multiply(m, k, Matrix { at: wide, row: k, column: 1 }, right, sums);
                T::narrow_all(sums, c, m * n);
            }
        })
    }

    /// # Safety
    /// As [`HostKernel::run`], and as [`Rectangles::run_then`] if something follows.
    pub(super) unsafe fn tasks(&self, inputs: &[*const u8], outputs: &[*mut u8], then: Option<Then<'_>>) -> Result<()> {
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
                        self.multiply(rows, self.problem.k, Matrix { at: a.at.cast(), row, column }, &right, c.cast());
                    } else if let Some(packing) = self.pairs {
                        self.multiply_pairs(packing, rows, a, &right, c)?;
                    } else {
                        self.multiply_widened(rows, a, &right, c)?;
                    }
                }
                if let Some(then) = then {
                    then([first, 0], [rows, n])?;
                }
            }
            Ok(())
        })
    }
}

impl<T: Operand> HostKernel for Tall<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: the tensors are this call's, and nothing follows.
        unsafe { self.tasks(inputs, outputs, None) }
    }

    fn rectangles(&self) -> Option<&dyn Rectangles> {
        Some(self)
    }

    fn cost(&self) -> u64 {
        60 + (self.problem.m * (self.problem.k + self.problem.n) / 8 + self.problem.work() / 64) as u64
    }
}
