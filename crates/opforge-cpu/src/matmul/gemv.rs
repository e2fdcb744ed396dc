//! Products with a vector, which are as fast as the matrix can be read.

mod sums;

use std::ops::Range;
use std::ptr::{from_ref, null_mut};

use opforge_core::Result;
use opforge_runtime::alloc::Workspace;
use opforge_runtime::{HostKernel, checkpoint};

use super::pack::Matrix;
use super::problem::Problem;
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::matmul::operand::{Accumulator, Operand, add_to_totals};
use crate::memory::scratch::with_scratch;
#[cfg(target_arch = "x86_64")]
use crate::simd::Isa;
use sums::{dots, strip};

/// Output elements summed at once where the matrix is contiguous along the output: memory is read in pieces of so many, and sums stay in a cache.
const STRIP: usize = 4096;
/// Bytes of the matrix that a thread reads at a time.
const CHUNK: usize = 256 << 10;
/// Dot products that are divided into chunks, where there are fewer: others are shared whole.
const DOTS: usize = 8;
/// The most chunks that a sum is divided into, and the fewest terms of one.
const CHUNKS: usize = 32;
const TERMS: usize = 16;

pub(super) struct Gemv<T: Operand> {
    problem: Problem,
    /// Output elements of a product, and of a task.
    len: usize,
    part: usize,
    /// Chunks of the sums: more than one where outputs are too few to be shared in long pieces. They depend on the shape alone.
    chunks: usize,
    compute: Compute<T>,
}

/// Computes some outputs of one product.
type Compute<T> = unsafe fn(&Vectors<T>, Range<usize>, memory: *mut u8);

/// One product: `y[j] = bias[j] + sum over p < k of matrix[j, p] * x[p]`.
struct Vectors<T: Operand> {
    matrix: Matrix<T>,
    k: usize,
    x: *const T,
    x_step: usize,
    bias: Option<(*const T, usize)>,
    y: *mut T,
    /// Whether `y` holds sums as they are.
    wide: bool,
    /// Where the sums go instead if they are those of a chunk; else null.
    totals: *mut Total<T>,
}

type Total<T> = <<T as Operand>::Acc as Accumulator>::Total;

impl<T: Operand> Gemv<T> {
    /// The kernel for a problem with one row or one column.
    pub fn new(problem: Problem) -> Self {
        let len = problem.m * problem.n;
        let per_output = problem.k.saturating_mul(size_of::<T>()).max(1);
        // The matrix's strides along the output and along the sum.
        let (row, column) = if problem.m == 1 { (problem.b.1, problem.b.0) } else { problem.a };
        let along_outputs = is_along_outputs(row, column, problem.k);
        let whole = if along_outputs { STRIP } else { 16 };
        let part = (CHUNK / per_output).max(1).next_multiple_of(whole).min(len);
        let few = if along_outputs { 2 * STRIP } else { DOTS };
        let divides = len < few && problem.batches() == 1;
        let chunks = per_output.saturating_mul(len) / CHUNK;
        let chunks = if divides { chunks.min(problem.k / TERMS).clamp(1, CHUNKS) } else { 1 };
        Gemv { problem, len, part, chunks, compute: compute_for_this_cpu::<T>() }
    }

    fn vectors(&self, inputs: &[*const u8], c: *mut T, batch: usize) -> Vectors<T> {
        let p = &self.problem;
        let (a, b) = p.offsets(batch);
        let a = Matrix { at: inputs[0].cast::<T>().wrapping_add(a), row: p.a.0, column: p.a.1 };
        let b = Matrix { at: inputs[1].cast::<T>().wrapping_add(b), row: p.b.0, column: p.b.1 };
        let bias = |step| p.bias.map(|s| (inputs[2].cast::<T>(), s * step));
        let (y, wide) = (p.place(c, batch * self.len), p.wide);
        if p.m == 1 {
            Vectors {
                matrix: b.transposed(),
                k: p.k,
                x: a.at,
                x_step: a.column,
                bias: bias(1),
                y,
                wide,
                totals: null_mut(),
            }
        } else {
            Vectors { matrix: a, k: p.k, x: b.at, x_step: b.row, bias: bias(0), y, wide, totals: null_mut() }
        }
    }
}

impl<T: Operand> Gemv<T> {
    /// One product whose sums are made chunk by chunk, each from rows of the matrix that lie next to each other in memory.
    ///
    /// # Safety
    /// As [`HostKernel::run`].
    unsafe fn run_chunks(&self, inputs: &[*const u8], y: *mut T) -> Result<()> {
        let (len, k) = (self.len, self.problem.k);
        let totals = Workspace::new(self.chunks * len * size_of::<Total<T>>())?;
        let vectors = self.vectors(inputs, y, 0);
        let whole = Shared(from_ref(&vectors));
        let terms = k.div_ceil(self.chunks).next_multiple_of(sums::SUMS);
        let to = Shared(totals.as_ptr().cast::<Total<T>>());
        try_parallel_for(self.chunks, 1, |mut chunks| {
            chunks.try_for_each(|chunk| {
                let terms = (chunk * terms).min(k)..((chunk + 1) * terms).min(k);
                // SAFETY: the vectors outlive the loop.
                let part = unsafe { &*whole.get() }.chunk(terms, to.get().wrapping_add(chunk * len));
                // SAFETY: chunks have totals of their own; the function was chosen for this CPU.
                with_scratch(Working::<T>::BYTES, |memory| unsafe { (self.compute)(&part, 0..len, memory) })
            })
        })?;
        // SAFETY: every chunk has written its totals; the output has an element for each, and the bias too.
        unsafe {
            let (sums, others) = std::slice::from_raw_parts_mut(to.get(), self.chunks * len).split_at_mut(len);
            for other in others.chunks(len) {
                sums.iter_mut().zip(other).for_each(|(sum, &other)| T::Acc::join(sum, other));
            }
            for (j, &sum) in sums.iter().enumerate() {
                (*whole.get()).write(j..j + 1, &[T::Acc::of_total(sum)]);
            }
        }
        Ok(())
    }
}

impl<T: Operand> HostKernel for Gemv<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        if self.chunks > 1 {
            // SAFETY: the pointers are those of `run`, and the output is the only product's.
            return unsafe { self.run_chunks(inputs, outputs[0].cast()) };
        }
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
            with_scratch(Working::<T>::BYTES, |memory| {
                // SAFETY: tasks write disjoint outputs; the function was chosen for this CPU.
                unsafe { (self.compute)(&vectors, range, memory) };
            })
        };
        if self.problem.work().saturating_mul(size_of::<T>()) < 2 * CHUNK {
            (0..tasks).try_for_each(task)
        } else {
            let bytes = self.part.saturating_mul(self.problem.k).saturating_mul(size_of::<T>()).max(1);
            try_parallel_for(tasks, (CHUNK / bytes).max(1), |range| range.into_iter().try_for_each(task))
        }
    }

    fn cost(&self) -> u64 {
        20 + (self.problem.work().saturating_mul(size_of::<T>()) / 16) as u64
    }
}

/// Whether the matrix, of these strides along the output and along sums of `k` terms, is read along the output.
#[inline(always)]
fn is_along_outputs(row: usize, column: usize, k: usize) -> bool {
    row == 1 && (column != 1 || k == 1)
}

fn compute_for_this_cpu<T: Operand>() -> Compute<T> {
    #[cfg(target_arch = "x86_64")]
    {
        /// # Safety
        /// As [`compute`], on a CPU with the features.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq")]
        unsafe fn avx512<T: Operand>(v: &Vectors<T>, range: Range<usize>, memory: *mut u8) {
            // SAFETY: vectors and memory are as `compute` asks; the CPU has what it is compiled for here.
            unsafe { compute::<T, true>(v, range, memory) }
        }
        /// # Safety
        /// As [`compute`], on a CPU with the features.
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2<T: Operand>(v: &Vectors<T>, range: Range<usize>, memory: *mut u8) {
            // SAFETY: what `compute` asks for is given, and this CPU has AVX2.
            unsafe { compute::<T, true>(v, range, memory) }
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

/// Terms of a dot product, or rows of a strip, that are summed before they enter a total: errors grow with their number in one running sum,
/// of which a dot product has [`sums::SUMS`].
const DOT_DEPTH: usize = 4096;
const STRIP_DEPTH: usize = 256;

/// The working memory of a task.
struct Working<T: Operand> {
    /// [`DOT_DEPTH`] elements of the vector.
    x: *mut T::Acc,
    /// [`STRIP`] sums.
    sums: *mut T::Acc,
    /// As many totals.
    totals: *mut <T::Acc as Accumulator>::Total,
}

impl<T: Operand> Working<T> {
    const BYTES: usize =
        (DOT_DEPTH + STRIP) * size_of::<T::Acc>() + STRIP * size_of::<<T::Acc as Accumulator>::Total>();

    /// # Safety
    /// The memory is aligned to 64 bytes and holds [`Working::BYTES`].
    #[inline(always)]
    unsafe fn of(memory: *mut u8) -> Self {
        let x = memory.cast::<T::Acc>();
        // SAFETY: the memory holds the three arrays; whole cache lines keep each of them aligned.
        let sums = unsafe { x.add(DOT_DEPTH) };
        // SAFETY: the memory holds as many totals after the `STRIP` sums, whole cache lines.
        Working { x, sums, totals: unsafe { sums.add(STRIP) }.cast() }
    }
}

/// No closures here or below: they would not be compiled for the instruction set of the function that this is inlined into.
///
/// # Safety
/// The vectors are valid as described, the memory as [`Working::of`] asks.
#[inline(always)]
unsafe fn compute<T: Operand, const FMA: bool>(v: &Vectors<T>, range: Range<usize>, memory: *mut u8) {
    let along_outputs = is_along_outputs(v.matrix.row, v.matrix.column, v.k);
    let depth = if along_outputs { STRIP_DEPTH } else { DOT_DEPTH };
    // SAFETY: the vectors are as described; a part of the vector fits the working memory, as does a strip of outputs.
    unsafe {
        let room = Working::<T>::of(memory);
        // A vector as it is computed with is read where it lies.
        let lies = T::EXACT && v.x_step == 1;
        if v.k <= depth && !lies {
            v.widen(0, v.k, room.x);
        }
        let mut start = range.start;
        while start < range.end {
            let outputs = start..range.end.min(start + STRIP);
            let sums = std::slice::from_raw_parts_mut(room.sums, outputs.len());
            let totals = std::slice::from_raw_parts_mut(room.totals, outputs.len());
            let mut p = 0;
            loop {
                checkpoint();
                let n = depth.min(v.k - p);
                if v.k > depth && !lies {
                    v.widen(p, n, room.x);
                }
                let x = if lies { v.x.add(p).cast::<T::Acc>() } else { room.x.cast_const() };
                let x = std::slice::from_raw_parts(x, n);
                if along_outputs {
                    strip::<T, FMA>(v, x, p, start, sums);
                } else {
                    dots::<T, FMA>(v, x, p, start, sums);
                }
                if v.k > depth {
                    add_to_totals(sums, totals, p == 0);
                }
                p += n;
                if p == v.k {
                    break;
                }
            }
            if v.totals.is_null() {
                if v.k > depth {
                    for (sum, &total) in sums.iter_mut().zip(&*totals) {
                        *sum = T::Acc::of_total(total);
                    }
                }
                v.write(outputs, sums);
            } else {
                if v.k <= depth {
                    add_to_totals(sums, totals, true);
                }
                std::slice::from_raw_parts_mut(v.totals.add(start), totals.len()).copy_from_slice(totals);
            }
            start += totals.len();
        }
    }
}

impl<T: Operand> Vectors<T> {
    /// Some of the terms of every sum.
    fn chunk(&self, terms: Range<usize>, totals: *mut Total<T>) -> Self {
        let matrix = self.matrix.from(0, terms.start);
        let x = self.x.wrapping_add(terms.start * self.x_step);
        Vectors { matrix, k: terms.len(), x, x_step: self.x_step, bias: None, y: null_mut(), wide: false, totals }
    }

    /// Writes `n` elements of the vector from the `p`-th on.
    ///
    /// # Safety
    /// The vector has them, and there is room for as many.
    #[inline(always)]
    unsafe fn widen(&self, p: usize, n: usize, to: *mut T::Acc) {
        for i in 0..n {
            // SAFETY: element `p + i` is one of the `n`, which the contract gives room for.
            unsafe { *to.add(i) = (*self.x.add((p + i) * self.x_step)).widen() };
        }
    }

    /// Writes these outputs.
    ///
    /// # Safety
    /// They are the output's, and the bias has them; there is a sum for each.
    #[inline(always)]
    unsafe fn write(&self, outputs: Range<usize>, sums: &[T::Acc]) {
        // SAFETY: `j` is one of the outputs that the caller gives, for which there is a sum, an element of the output and one of the bias.
        unsafe {
            // A loop of its own: with a look at the bias for each output there would be no vectors.
            if self.wide {
                sums.as_ptr().copy_to_nonoverlapping(self.y.cast::<T::Acc>().add(outputs.start), outputs.len());
            } else if self.bias.is_none() {
                for (j, sum) in outputs.zip(sums) {
                    *self.y.add(j) = T::narrow(*sum);
                }
            } else {
                for (j, sum) in outputs.zip(sums) {
                    *self.y.add(j) = T::narrow(sum.plus(self.bias(j)));
                }
            }
        }
    }

    /// # Safety
    /// The bias is valid at `j`.
    #[inline(always)]
    unsafe fn bias(&self, j: usize) -> T::Acc {
        match self.bias {
            // SAFETY: the bias has an element for output `j`.
            Some((at, step)) => unsafe { *at.add(j * step) }.widen(),
            None => T::Acc::default(),
        }
    }
}
