//! Products of rows with a quantized matrix.

#[cfg(target_arch = "x86_64")]
mod plain;
mod portable;
#[cfg(target_arch = "x86_64")]
mod super_blocks;

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use opforge_runtime::{HostKernel, checkpoint};

use super::block::Packing;
use super::factor::{Row, Rows};
use crate::loops::tasks::{Job, prepare as prepare_tasks};
use crate::simd::{Isa, Routine, Simd};

/// Rows of the other factor for which a block is read once: as many as there are registers for.
const TILE: usize = 4;
/// The same with the registers of AVX-512.
const WIDE_TILE: usize = 8;
/// Products of two bytes that take as long as one element of a plain loop.
const PER_ELEMENT: usize = 16;

/// The kernel for `m` rows of `x` times `n` rows of the matrix; a task is a row of the matrix.
pub(super) fn prepare<F: Dots>(x: Rows, [m, n, k]: [usize; 3]) -> Arc<dyn HostKernel> {
    let routine = Product::<F> { x, m, n, blocks: k / F::LEN, format: PhantomData };
    prepare_tasks(routine, n, (m.saturating_mul(k) / PER_ELEMENT).max(1), 0)
}

/// How the products of a row with rows of the other factor are computed.
pub(super) trait Dots: Packing + Sized {
    /// What [`Self::dots`] wants to know of 32 integers of the other factor, and of their scale.
    fn sums(_quants: &[i8; 32], _scale: f32) -> [u8; 4] {
        [0; 4]
    }

    /// The products of a row of so many blocks.
    ///
    /// # Safety
    /// `row` and `x` have so many blocks, those of `x` with [`Self::sums`]; the processor supports the level, which the caller's code is made for.
    unsafe fn dots<S: Simd, const R: usize>(row: *const u8, blocks: usize, x: [Row; R]) -> [f32; R] {
        // SAFETY: `row` and `x` have `blocks` blocks, which is all that the function demands.
        unsafe { portable::dots::<Self, R>(row, blocks, x) }
    }
}
#[cfg(not(target_arch = "x86_64"))]
impl<F: Packing> Dots for F {}

struct Product<F> {
    x: Rows,
    m: usize,
    n: usize,
    /// Blocks of a row.
    blocks: usize,
    format: PhantomData<F>,
}

impl<F: Dots> Routine for Product<F> {
    type Args = Job;
    type Output = ();

    /// Some rows of `x` at a time, whose integers stay in the first cache, with all of the job's rows of the matrix.
    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let mut first = 0;
        while first < self.m {
            // SAFETY: there are as many rows from `first` on.
            unsafe {
                match self.m - first {
                    WIDE_TILE.. if S::ISA >= Isa::Avx512 => self.tile::<S, WIDE_TILE>(&job, &mut first),
                    TILE.. => self.tile::<S, TILE>(&job, &mut first),
                    2.. => self.tile::<S, 2>(&job, &mut first),
                    _ => self.tile::<S, 1>(&job, &mut first),
                }
            }
        }
    }
}

impl<F: Dots> Product<F> {
    /// The products of `R` rows of `x` from `first` on, which moves behind them.
    ///
    /// # Safety
    /// As [`Routine::run`]; `x` has these rows.
    #[inline(always)]
    unsafe fn tile<S: Simd, const R: usize>(&self, job: &Job, first: &mut usize) {
        let rows: Range<usize> = *first..*first + R;
        // SAFETY: the first input was made for these rows.
        let x: [Row; R] = std::array::from_fn(|r| unsafe { self.x.row(job.inputs[0], rows.start + r) });
        for j in job.tasks.clone() {
            checkpoint();
            // SAFETY: the kernel's constructor checked that the second input has n rows of as many blocks as those of `x`, and that the output has m rows
            // of n elements; this task alone writes column j.
            unsafe {
                let row = job.inputs[1].add(j * self.blocks * F::BYTES);
                let dots = F::dots::<S, R>(row, self.blocks, x);
                for (row, dot) in rows.clone().zip(dots) {
                    job.outputs[0].cast::<f32>().add(row * self.n + j).write(dot);
                }
            }
        }
        *first = rows.end;
    }
}

/// The sums of the lanes. Loops here have no closures: code for a level is what is inlined where the level is known.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn totals<const R: usize>(sums: [std::arch::x86_64::__m256; R]) -> [f32; R] {
    use std::arch::x86_64::*;
    let mut totals = [0.0; R];
    for (total, sums) in totals.iter_mut().zip(sums) {
        // SAFETY: the caller's code is made for AVX2.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps::<1>(sums));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            *total = _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
        }
    }
    totals
}
