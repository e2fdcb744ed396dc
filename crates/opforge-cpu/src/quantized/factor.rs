//! The other factor of a product: rows of floats, rounded to 8 bits. As many elements share a scale as a block of the matrix has.

use std::marker::PhantomData;
use std::slice;
use std::sync::Arc;

use opforge_runtime::{HostKernel, checkpoint};

use super::block::{GROUP, Packing};
use super::fit::{inverse, nearest, poison};
use super::product::Dots;
use crate::loops::tasks::{Job, prepare};
use crate::simd::{Routine, Simd};

/// What a row consists of: integers from -127 to 127, a scale a block, and sums of integers, 4 bytes for each 32 of them, as the format wants them.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub quants: *const i8,
    pub scales: *const f32,
    pub sums: *const [u8; 4],
}

/// Where the rows are in memory that was made for them: all integers, then all scales, then all sums.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    rows: usize,
    /// The length of a row.
    k: usize,
    /// The elements of a block.
    len: usize,
}

impl Rows {
    pub fn new<F: Packing>(rows: usize, k: usize) -> Rows {
        Rows { rows, k, len: F::LEN }
    }

    fn scales_at(&self) -> usize {
        self.rows * self.k
    }

    fn sums_at(&self) -> usize {
        self.scales_at() + self.rows * self.k / self.len * size_of::<f32>()
    }

    /// The bytes of all rows; none where the size is beyond the address space.
    pub fn bytes(&self) -> Option<usize> {
        // Scales and sums are less than the integers.
        self.rows.checked_mul(self.k)?.checked_mul(2)?;
        Some(self.sums_at() + self.rows * self.k / GROUP * 2)
    }

    /// A row of them.
    ///
    /// # Safety
    /// `memory` is of [`Self::bytes`], and there are more rows than `row`.
    pub unsafe fn row(&self, memory: *const u8, row: usize) -> Row {
        // SAFETY: each part has as many elements for each row.
        unsafe {
            Row {
                quants: memory.add(row * self.k).cast(),
                scales: memory.add(self.scales_at()).cast::<f32>().add(row * (self.k / self.len)),
                sums: memory.add(self.sums_at()).cast::<[u8; 4]>().add(row * (self.k / 32)),
            }
        }
    }
}

/// The kernel that rounds floats `[rows, k]` to [`Rows`]. A task is a block.
pub(super) fn prepare_rounding<F: Dots>(rows: Rows) -> Arc<dyn HostKernel> {
    prepare(Round::<F> { rows, format: PhantomData }, rows.rows * (rows.k / F::LEN), F::LEN, 0)
}

struct Round<F> {
    rows: Rows,
    format: PhantomData<F>,
}

impl<F: Dots> Routine for Round<F> {
    type Args = Job;
    type Output = ();
    const AVX512: bool = false;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        // SAFETY: the output has room for the rows.
        let all = unsafe { self.rows.row(job.outputs[0], 0) };
        for task in job.tasks {
            checkpoint();
            // SAFETY: input and output have as many blocks as there are tasks, and each task has its own.
            unsafe {
                let values = slice::from_raw_parts(job.inputs[0].cast::<f32>().add(task * F::LEN), F::LEN);
                let quants = slice::from_raw_parts_mut(all.quants.cast_mut().add(task * F::LEN), F::LEN);
                let sums = slice::from_raw_parts_mut(all.sums.cast_mut().add(task * F::LEN / 32), F::LEN / 32);
                all.scales.cast_mut().add(task).write(round::<F>(values, quants, sums));
            }
        }
    }
}

/// Rounds a block, and gives its scale: NaN where a value is not finite.
#[inline(always)]
fn round<F: Dots>(values: &[f32], quants: &mut [i8], sums: &mut [[u8; 4]]) -> f32 {
    let most = values.iter().fold(0.0f32, |most, value| most.max(value.abs()));
    let scale = most / 127.0 + poison(values);
    let inverse = inverse(scale);
    for (quant, value) in quants.iter_mut().zip(values) {
        *quant = nearest(value * inverse, -127.0, 127.0) as i8;
    }
    for (quants, sum) in quants.as_chunks::<32>().0.iter().zip(sums) {
        *sum = F::sums(quants, scale);
    }
    scale
}
