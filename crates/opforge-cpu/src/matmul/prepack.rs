//! Weights packed once for many products.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::parallel::parallel_for;
use opforge_runtime::{HostKernel, checkpoint};

use super::pack::{Matrix, pack as pack_strip};
use super::problem::Problem;
use crate::copy::Shared;
use crate::matmul::operand::Operand;

/// Rows from which packing is a small part of a product, and not worth the memory.
const MANY_ROWS: usize = 1024;

/// Whether a product gains from a `b` that is packed beforehand: all of its batch share it, and few rows use what each product would pack.
pub(super) fn is_worth_it(problem: &Problem) -> bool {
    problem.shares_b() && problem.m < MANY_ROWS && problem.k > 0
}

/// Where the strips of a packed `b` `[k, n]` lie: blocks of `depth` rows one after the other, in each the strips of `width` columns in order. The last
/// strip is filled up with zeros.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strips {
    pub width: usize,
    pub depth: usize,
    pub k: usize,
    pub n: usize,
}

impl Strips {
    /// Elements of the arrangement.
    pub fn elements(&self) -> usize {
        self.n.next_multiple_of(self.width) * self.k
    }

    /// The place of the strip that begins with a column, a multiple of the width, in the block that begins with a row.
    pub fn at(&self, row: usize, column: usize) -> usize {
        row * self.n.next_multiple_of(self.width) + column * self.depth.min(self.k - row)
    }
}

/// The kernel that packs `b`, whose row and column strides are given.
pub(super) fn pack<T: Operand>(strips: Strips, b: (usize, usize)) -> Arc<dyn HostKernel> {
    Arc::new(Packer::<T> { strips, b, marker: PhantomData })
}

struct Packer<T> {
    strips: Strips,
    b: (usize, usize),
    marker: PhantomData<T>,
}

impl<T: Operand> HostKernel for Packer<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let Strips { width, depth, k, n } = self.strips;
        let (from, to) = (Shared(inputs[0].cast::<T>()), Shared(outputs[0].cast::<T::Acc>()));
        let (across, down) = (n.div_ceil(width), k.div_ceil(depth));
        parallel_for(across * down, 8, |range| {
            for strip in range {
                // Blocks of the same columns follow each other: a weight's columns lie in memory one after the other.
                let (p, j) = (strip % down * depth, strip / down * width);
                checkpoint();
                let b = Matrix { at: from.get(), row: self.b.0, column: self.b.1 }.from(p, j);
                let to = to.get().wrapping_add(self.strips.at(p, j));
                // SAFETY: `b` has the rest of its rows and columns from `[p, j]` on; strips have places of their own, of the width times the block's rows.
                unsafe { pack_strip(b, depth.min(k - p), width.min(n - j), to, width) };
            }
        });
        Ok(())
    }

    fn cost(&self) -> u64 {
        (self.strips.elements() / 2) as u64
    }
}
