//! Small products, whose operands are read where they lie: to pack them would take as long as to multiply them.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::null;

use opforge_core::Result;
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::num_threads;

use super::lanes::{Lanes, registers};
use super::micro::{Kernels, store_part};
use super::problem::Problem;
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::loops::work;
use crate::matmul::operand::{Accumulator, Operand};

/// The largest operand, in elements: both stay in a cache while rows of one meet all of the other.
const MAX_OPERAND: usize = 1 << 14;
/// The largest depth: sums are made at once.
const MAX_DEPTH: usize = 256;
/// Elements up to which a `b` whose rows are not contiguous is copied so that they are.
const MAX_COPIED: usize = 256;

/// Whether a product is small, rows of `b` are contiguous or few, and vectors have kernels for it.
pub(super) fn fits<T: Operand>(problem: &Problem) -> bool {
    let Problem { m, n, k, bias, b, .. } = problem;
    T::EXACT
        && T::Acc::kernels().are_in_place()
        && bias.is_none()
        && (b.1 == 1 || k * n <= MAX_COPIED)
        && *k <= MAX_DEPTH
        && m * k <= MAX_OPERAND
        && k * n <= MAX_OPERAND
}

/// What a micro-kernel computes of operands where they lie: `c[i][j] = bias[j] + sum over p of a[i][p] b[p][j]`, for as many rows as it has and `columns`
/// columns.
pub(crate) struct InPlace<E> {
    pub depth: usize,
    pub a: *const E,
    /// From row to row, and from column to column.
    pub a_strides: (usize, usize),
    /// `columns` contiguous elements for each p, `b_row` apart.
    pub b: *const E,
    pub b_row: usize,
    /// `columns` contiguous elements, or null for zeros.
    pub bias: *const E,
    pub c: *mut E,
    pub c_row: usize,
    pub columns: usize,
}

/// # Safety
/// The arguments' pointers are valid as described, and the CPU has the instructions.
pub(crate) type InPlaceKernel<E> = unsafe fn(&InPlace<E>);

/// # Safety
/// As [`InPlaceKernel`].
#[inline(always)]
pub(super) unsafe fn micro<L: Lanes, const MR: usize, const NV: usize>(args: &InPlace<L::Element>) {
    // SAFETY: the arguments are passed on; the last register has at most `COUNT` columns, `NV` having been chosen for `columns`.
    unsafe {
        match args.columns == NV * L::COUNT {
            true => sums::<L, MR, NV, true>(args),
            false => sums::<L, MR, NV, false>(args),
        }
    }
}

/// # Safety
/// As [`InPlaceKernel`]; `WHOLE` says whether all registers are full.
#[inline(always)]
unsafe fn sums<L: Lanes, const MR: usize, const NV: usize, const WHOLE: bool>(args: &InPlace<L::Element>) {
    let last = args.columns - (NV - 1) * L::COUNT;
    let (row, column) = args.a_strides;
    // SAFETY: `a` is read at rows below `MR` and columns below the depth, `b` at rows below the depth and `columns` columns; `c` has as many of `MR` rows.
    unsafe {
        let mut sums = [[L::splat(L::Element::default()); NV]; MR];
        for p in 0..args.depth {
            let a = args.a.add(p * column);
            let line: [L; NV] = line::<L, NV, WHOLE>(args.b.add(p * args.b_row), last);
            for (i, sums) in sums.iter_mut().enumerate() {
                // A pair of bf16 is aligned as one of them is.
                let scale = L::splat(a.add(i * row).read_unaligned());
                for (sum, b) in sums.iter_mut().zip(line) {
                    *sum = scale.mul_add(b, *sum);
                }
            }
        }
        if !args.bias.is_null() {
            let bias: [L; NV] = line::<L, NV, WHOLE>(args.bias, last);
            for sums in &mut sums {
                for (sum, bias) in sums.iter_mut().zip(bias) {
                    *sum = sum.plus(bias);
                }
            }
        }
        for (i, line) in sums.into_iter().enumerate() {
            let c = args.c.add(i * args.c_row);
            if WHOLE {
                for (v, sum) in line.into_iter().enumerate() {
                    sum.store(c.add(v * L::COUNT));
                }
            } else {
                store_part(line, c, args.columns, false);
            }
        }
    }
}

/// Contiguous elements in registers, in the last of them `last` unless it is `WHOLE`.
///
/// # Safety
/// As [`InPlaceKernel`]; so many elements are readable.
#[inline(always)]
unsafe fn line<L: Lanes, const NV: usize, const WHOLE: bool>(at: *const L::Element, last: usize) -> [L; NV] {
    // SAFETY: the caller vouches for the instructions and the elements, of which the last register, unless it is `WHOLE`, reads `last`.
    unsafe {
        if WHOLE {
            return registers::<L, NV>(at);
        }
        let mut line = [L::splat(L::Element::default()); NV];
        for (v, register) in line.iter_mut().enumerate() {
            let at = at.add(v * L::COUNT);
            *register = if v + 1 < NV { L::load(at) } else { L::load_first(at, last) };
        }
        line
    }
}

/// A batch of small products.
pub(super) struct Small<T: Operand> {
    problem: Problem,
    kernels: Kernels<T::Acc>,
    marker: PhantomData<T>,
}

impl<T: Operand> Small<T> {
    /// The kernel for a problem that [`fits`].
    pub fn new(problem: Problem) -> Self {
        Small { problem, kernels: T::Acc::kernels(), marker: PhantomData }
    }

    /// The rows of a task: all of a product's, where there are products for every thread.
    fn rows(&self) -> usize {
        let strips = self.problem.m.div_ceil(self.kernels.rows());
        let parts = num_threads().div_ceil(self.problem.batches()).min(self.elements() / work::GRAIN);
        strips.div_ceil(parts.clamp(1, strips)) * self.kernels.rows()
    }

    /// The work of a product, in [elements](work) of a plain loop.
    fn elements(&self) -> usize {
        self.problem.m * self.problem.n * self.problem.k / 16
    }

    /// Computes `m` rows of a product.
    ///
    /// # Safety
    /// The pointers are those of a product's matrices, from the first of these rows on; rows of `b` are contiguous, `b_row` apart.
    unsafe fn product(&self, m: usize, a: *const T::Acc, (b, b_row): (*const T::Acc, usize), c: *mut T::Acc) {
        let Problem { n, k, a: a_strides, .. } = self.problem;
        let (height, width) = (self.kernels.rows(), self.kernels.width());
        for j in (0..n).step_by(width) {
            let columns = width.min(n - j);
            for i in (0..m).step_by(height) {
                let kernel = self.kernels.get_in_place(height.min(m - i), columns);
                // SAFETY: from row `i` and column `j` on, `a` and `c` have the kernel's rows, `b` and `c` its columns.
                unsafe {
                    kernel(&InPlace {
                        depth: k,
                        a: a.add(i * a_strides.0),
                        a_strides,
                        b: b.add(j),
                        b_row,
                        bias: null(),
                        c: c.add(i * n + j),
                        c_row: n,
                        columns,
                    });
                }
            }
        }
    }
}

impl<T: Operand> HostKernel for Small<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let Problem { m, n, k, a: (a_row, _), b: (b_row, b_column), .. } = self.problem;
        // Elements are their own accumulators.
        let [a, b] = [0, 1].map(|i| Shared(inputs[i].cast::<T::Acc>()));
        let c = Shared(outputs[0].cast::<T::Acc>());
        let rows = self.rows();
        let parts = m.div_ceil(rows);
        try_parallel_for(self.problem.batches() * parts, work::grain(self.elements() / parts), |tasks| {
            let mut room = [const { MaybeUninit::<T::Acc>::uninit() }; MAX_COPIED];
            for task in tasks {
                let (batch, first) = (task / parts, task % parts * rows);
                let (from_a, from_b) = self.problem.offsets(batch);
                // SAFETY: the offsets are those of the batch's matrices, and each task has rows of its own in the output.
                unsafe {
                    let c = c.get().wrapping_add((batch * m + first) * n);
                    let a = a.get().wrapping_add(from_a + first * a_row);
                    let mut b = (b.get().wrapping_add(from_b), b_row);
                    if b_column != 1 {
                        for (i, element) in room[..k * n].iter_mut().enumerate() {
                            element.write(*b.0.add(i / n * b_row + i % n * b_column));
                        }
                        b = (room.as_ptr().cast(), n);
                    }
                    self.product(rows.min(m - first), a, b, c);
                }
            }
            Ok(())
        })
    }

    fn cost(&self) -> u64 {
        40 + (self.problem.work() / 64) as u64
    }
}
