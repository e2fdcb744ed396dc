//! Products with a quantized matrix.

use std::marker::PhantomData;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

use opforge_runtime::{HostKernel, checkpoint};

use super::block::{Block, Other, Packing};
use super::dots::{LANES, add_products};
use crate::loops::tasks::{Job, prepare as prepare_tasks};
use crate::simd::{Routine, Simd};

/// Rows of the other factor that a block is multiplied with once it is read.
const TILE: usize = 16;
/// Products of two bytes that take as long as one element of a plain loop.
const PER_ELEMENT: usize = 8;

/// The kernel for `m` rows times `n` rows of `k` elements each; a task is a row of the matrix.
pub(super) fn prepare<F: Packing>(m: usize, n: usize, k: usize) -> Arc<dyn HostKernel> {
    let routine = Product::<F> { m, n, blocks: k / F::LEN, format: PhantomData };
    prepare_tasks(routine, n, (m.saturating_mul(k) / PER_ELEMENT).max(1), 0)
}

struct Product<F> {
    m: usize,
    n: usize,
    /// Blocks of a row.
    blocks: usize,
    format: PhantomData<F>,
}

impl<F: Packing> Routine for Product<F> {
    type Args = Job;
    type Output = ();
    const AVX512: bool = false;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let row_bytes = self.blocks * F::BYTES;
        let x_bytes = self.m * self.blocks * <F::Other>::BYTES;
        // SAFETY: the kernel's constructor checked that the inputs have m and n rows of as many blocks.
        let (x, w) = unsafe {
            (slice::from_raw_parts(job.inputs[0], x_bytes), slice::from_raw_parts(job.inputs[1], self.n * row_bytes))
        };
        let y = job.outputs[0].cast::<f32>();
        let mut block = Block::new();
        for j in job.tasks {
            let row = &w[j * row_bytes..(j + 1) * row_bytes];
            for first in (0..self.m).step_by(TILE) {
                checkpoint();
                let rows = TILE.min(self.m - first);
                let sums = self.tile::<S>(x, row, first..first + rows, &mut block);
                for (r, sum) in sums[..rows].iter().enumerate() {
                    // SAFETY: the output has m rows of n elements, and this task alone writes column j.
                    unsafe { y.add((first + r) * self.n + j).write(*sum) };
                }
            }
        }
    }
}

impl<F: Packing> Product<F> {
    /// The products of some rows of `x`, at most [`TILE`], with a row of the matrix.
    #[inline(always)]
    fn tile<S: Simd>(&self, x: &[u8], row: &[u8], rows: Range<usize>, block: &mut Block) -> [f32; TILE] {
        let size = <F::Other>::BYTES;
        let mut sums = [[0.0; LANES]; TILE];
        for (b, bytes) in row.chunks_exact(F::BYTES).enumerate() {
            F::unpack(bytes, block);
            for (r, sums) in rows.clone().zip(&mut sums) {
                let other = &x[(r * self.blocks + b) * size..][..size];
                let scale = <F::Other>::scale(other);
                let quants = [&block.quants[..F::LEN], <F::Other>::quants(other)];
                if F::SCALED {
                    add_products::<S, true>(sums, quants, &block.scales, block.scale * scale);
                } else {
                    add_products::<S, false>(sums, quants, &block.scales, block.scale * scale);
                }
                if F::OFFSET {
                    <F::Other>::subtract_sums::<S>(sums, other, &block.mins, block.offset * scale);
                }
            }
        }
        sums.map(|sums| sums.iter().sum())
    }
}
