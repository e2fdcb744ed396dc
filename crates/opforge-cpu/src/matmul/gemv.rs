//! Products with a vector, which are as fast as the matrix can be read.

use std::ops::Range;

use opforge_core::Result;
use opforge_runtime::Kernel;

use super::pack::Matrix;
use super::problem::Problem;
use crate::copy::Shared;
use crate::fallible::try_parallel_for;
use crate::operand::{Accumulator, Operand};
use crate::scratch::with_scratch;
#[cfg(target_arch = "x86_64")]
use crate::simd::Isa;

/// Output elements summed at once where the matrix is contiguous along the output.
const STRIP: usize = 512;
/// Bytes of the matrix that a thread reads at a time.
const CHUNK: usize = 256 << 10;

pub(super) struct Gemv<T: Operand> {
    problem: Problem,
    /// Output elements of a product, and of a task.
    len: usize,
    part: usize,
    compute: Compute<T>,
}

/// Computes some outputs of one product.
type Compute<T> = unsafe fn(&Vectors<T>, Range<usize>, scratch: *mut <T as Operand>::Acc);

/// One product: `y[j] = bias[j] + sum over p < k of matrix[j, p] * x[p]`.
struct Vectors<T> {
    matrix: Matrix<T>,
    k: usize,
    x: *const T,
    x_step: usize,
    bias: Option<(*const T, usize)>,
    y: *mut T,
}

impl<T: Operand> Gemv<T> {
    /// The kernel for a problem with one row or one column.
    pub fn new(problem: Problem) -> Self {
        let len = problem.m * problem.n;
        let per_output = (problem.k * size_of::<T>()).max(1);
        // The matrix's strides along the output and along the sum.
        let (row, column) = if problem.m == 1 { (problem.b.1, problem.b.0) } else { problem.a };
        let whole = if row == 1 && column != 1 { STRIP } else { 16 };
        let part = (CHUNK / per_output).max(1).next_multiple_of(whole).min(len);
        Gemv { problem, len, part, compute: compute_for_this_cpu::<T>() }
    }

    fn vectors(&self, inputs: &[*const u8], c: *mut T, batch: usize) -> Vectors<T> {
        let p = &self.problem;
        let (a, b) = p.offsets(batch);
        let a = Matrix { at: inputs[0].cast::<T>().wrapping_add(a), row: p.a.0, column: p.a.1 };
        let b = Matrix { at: inputs[1].cast::<T>().wrapping_add(b), row: p.b.0, column: p.b.1 };
        let bias = |step| p.bias.map(|s| (inputs[2].cast::<T>(), s * step));
        let y = c.wrapping_add(batch * self.len);
        if p.m == 1 {
            Vectors { matrix: b.transposed(), k: p.k, x: a.at, x_step: a.column, bias: bias(1), y }
        } else {
            Vectors { matrix: a, k: p.k, x: b.at, x_step: b.row, bias: bias(0), y }
        }
    }
}

impl<T: Operand> Kernel for Gemv<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let parts = self.len.div_ceil(self.part);
        let tasks = parts * self.problem.batches();
        let mut pointers = [Shared(std::ptr::null()); 3];
        for (shared, &input) in pointers.iter_mut().zip(inputs) {
            *shared = Shared(input);
        }
        let c = Shared(outputs[0].cast::<T>());
        let task = |task: usize| {
            let vectors = self.vectors(&pointers.map(Shared::get), c.get(), task / parts);
            let start = task % parts * self.part;
            let range = start..self.len.min(start + self.part);
            with_scratch((self.problem.k + STRIP) * size_of::<T::Acc>(), |scratch| {
                // SAFETY: tasks write disjoint outputs; the function was chosen for this CPU.
                unsafe { (self.compute)(&vectors, range, scratch.cast()) };
            })
        };
        if self.problem.work() * size_of::<T>() < 2 * CHUNK {
            (0..tasks).try_for_each(task)
        } else {
            let bytes = (self.part * self.problem.k * size_of::<T>()).max(1);
            try_parallel_for(tasks, (CHUNK / bytes).max(1), |range| range.into_iter().try_for_each(task))
        }
    }

    fn cost(&self) -> u64 {
        20 + (self.problem.work() * size_of::<T>() / 16) as u64
    }
}

fn compute_for_this_cpu<T: Operand>() -> Compute<T> {
    #[cfg(target_arch = "x86_64")]
    {
        /// # Safety
        /// As [`compute`], on a CPU with the features.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq")]
        unsafe fn avx512<T: Operand>(v: &Vectors<T>, range: Range<usize>, scratch: *mut T::Acc) {
            // SAFETY: by the contract.
            unsafe { compute::<T, true>(v, range, scratch) }
        }
        /// # Safety
        /// As [`compute`], on a CPU with the features.
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2<T: Operand>(v: &Vectors<T>, range: Range<usize>, scratch: *mut T::Acc) {
            // SAFETY: by the contract.
            unsafe { compute::<T, true>(v, range, scratch) }
        }
        if Isa::current() >= Isa::Avx512 {
            return avx512::<T>;
        }
        if Isa::current() >= Isa::Avx2 {
            return avx2::<T>;
        }
    }
    compute::<T, { cfg!(target_arch = "aarch64") }>
}

/// No closures here or below: they would not be compiled for the instruction set of the function that this is inlined into.
///
/// # Safety
/// The vectors are valid as described, the scratch for `k` elements and a strip.
#[inline(always)]
unsafe fn compute<T: Operand, const FMA: bool>(v: &Vectors<T>, range: Range<usize>, scratch: *mut T::Acc) {
    // SAFETY: by the contract.
    unsafe {
        for p in 0..v.k {
            *scratch.add(p) = (*v.x.add(p * v.x_step)).widen();
        }
        let x = std::slice::from_raw_parts(scratch, v.k);
        if v.matrix.row != 1 || v.matrix.column == 1 {
            return dots::<T, FMA>(v, x, range);
        }
        let mut start = range.start;
        while start < range.end {
            let len = STRIP.min(range.end - start);
            strip::<T, FMA>(v, x, start, std::slice::from_raw_parts_mut(scratch.add(v.k), len));
            start += len;
        }
    }
}

impl<T: Operand> Vectors<T> {
    /// # Safety
    /// The bias is valid at `j`.
    #[inline(always)]
    unsafe fn bias(&self, j: usize) -> T::Acc {
        match self.bias {
            // SAFETY: by the contract.
            Some((at, step)) => unsafe { *at.add(j * step) }.widen(),
            None => T::Acc::default(),
        }
    }
}

/// Outputs `start ..`, as many as there are sums: rows of the transposed matrix, scaled and added.
///
/// # Safety
/// As [`compute`], with outputs contiguous in the matrix.
#[inline(always)]
unsafe fn strip<T: Operand, const FMA: bool>(v: &Vectors<T>, x: &[T::Acc], start: usize, sums: &mut [T::Acc]) {
    const ROWS: usize = 4;
    let len = sums.len();
    // SAFETY: rows p, elements start .. start + len are in the matrix.
    unsafe {
        let row = |p: usize| std::slice::from_raw_parts(v.matrix.from(start, p).at, len);
        for (j, sum) in sums.iter_mut().enumerate() {
            *sum = v.bias(start + j);
        }
        let (groups, rest) = x.as_chunks::<ROWS>();
        for (g, scales) in groups.iter().enumerate() {
            let rows: [&[T]; ROWS] = std::array::from_fn(|r| row(g * ROWS + r));
            for (j, sum) in sums.iter_mut().enumerate() {
                for r in 0..ROWS {
                    *sum = rows[r].get_unchecked(j).widen().mul_add::<FMA>(scales[r], *sum);
                }
            }
        }
        for (p, scale) in (groups.len() * ROWS..).zip(rest) {
            for (sum, element) in sums.iter_mut().zip(row(p)) {
                *sum = element.widen().mul_add::<FMA>(*scale, *sum);
            }
        }
        for (j, sum) in sums.iter().enumerate() {
            *v.y.add(start + j) = T::narrow(*sum);
        }
    }
}

/// Outputs of a range, each a dot product.
///
/// # Safety
/// As [`compute`].
#[inline(always)]
unsafe fn dots<T: Operand, const FMA: bool>(v: &Vectors<T>, x: &[T::Acc], range: Range<usize>) {
    for j in range {
        let row = v.matrix.from(j, 0);
        // SAFETY: by the contract.
        unsafe {
            let mut sum = T::Acc::default();
            if row.column == 1 {
                sum = dot::<T, FMA>(std::slice::from_raw_parts(row.at, v.k), x);
            } else {
                for (p, x) in x.iter().enumerate() {
                    sum = (*row.from(0, p).at).widen().mul_add::<FMA>(*x, sum);
                }
            }
            *v.y.add(j) = T::narrow(sum.plus(v.bias(j)));
        }
    }
}

/// The dot product in 64 interleaved partial sums.
#[inline(always)]
fn dot<T: Operand, const FMA: bool>(row: &[T], x: &[T::Acc]) -> T::Acc {
    const SUMS: usize = 64;
    let mut sums = [T::Acc::default(); SUMS];
    let (row_chunks, row_rest) = row.as_chunks::<SUMS>();
    let (x_chunks, x_rest) = x.as_chunks::<SUMS>();
    for (row, x) in row_chunks.iter().zip(x_chunks) {
        for i in 0..SUMS {
            sums[i] = row[i].widen().mul_add::<FMA>(x[i], sums[i]);
        }
    }
    let mut width = SUMS / 2;
    while width > 0 {
        for i in 0..width {
            sums[i] = sums[i].plus(sums[i + width]);
        }
        width /= 2;
    }
    let mut sum = sums[0];
    for (element, x) in row_rest.iter().zip(x_rest) {
        sum = element.widen().mul_add::<FMA>(*x, sum);
    }
    sum
}
