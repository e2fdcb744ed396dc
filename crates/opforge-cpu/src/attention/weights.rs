//! The weights of a block of queries: scores, masked and normalised.

use std::sync::Arc;

use opforge_core::{Result, WithDType};
use opforge_runtime::HostKernel;
use opforge_tile::Softmax;

use super::mask::HeadMask;
use super::{Block, Sizes};
use crate::matmul::matmul;
use crate::rows::rows;

/// The kernels that make a block's weights.
pub(super) struct Weights {
    scores: Arc<dyn HostKernel>,
    softmax: Arc<dyn HostKernel>,
}

impl Weights {
    pub fn new(op: &'static str, sizes: &Sizes, block: &Block) -> Result<Self> {
        let scores = sizes.matrix(block.rows, block.keys);
        let (q, k) = (sizes.matrix(block.rows, sizes.width), sizes.turned(op, sizes.width, block.keys)?);
        Ok(Weights {
            scores: matmul(op, &q, &k, &scores)?,
            softmax: rows(op, Softmax::Plain, 1, [&scores], &[&scores])?,
        })
    }

    /// Writes the weights of a block, and the scaled queries.
    ///
    /// # Safety
    /// `q` is valid for the block's queries, `k` for all keys, turned, and the mask for its head; `scaled` and `weights` for what they are called.
    pub unsafe fn run<T: WithDType>(
        &self,
        sizes: &Sizes,
        block: &Block,
        [q, k]: [*const T; 2],
        mask: Option<&HeadMask<'_, T>>,
        [scaled, weights]: [*mut T; 2],
    ) -> Result<()> {
        // SAFETY: `scaled` and the scores have the block's size, for which the kernels were made; bits of `blind` are rows of the block.
        unsafe {
            std::ptr::copy_nonoverlapping(q, scaled, block.rows * sizes.width);
            scale(scaled, block.rows * sizes.width, sizes.how.scale.to_f64());
            self.scores.run(&[scaled.cast_const().cast(), k.cast()], &[weights.cast()])?;
            if sizes.how.causal {
                for row in 0..block.rows {
                    let seen = block.keys.min(block.first + row + 1);
                    let hidden =
                        std::slice::from_raw_parts_mut(weights.add(row * block.keys + seen), block.keys - seen);
                    hidden.fill(T::from_f64(f64::NEG_INFINITY));
                }
            }
            let blind = mask.map_or(0, |mask| mask.apply(block, weights));
            self.softmax.run(&[weights.cast_const().cast()], &[weights.cast()])?;
            // Of nothing but -inf, softmax makes NaN.
            for row in (0..block.rows).filter(|row| blind >> row & 1 == 1) {
                std::slice::from_raw_parts_mut(weights.add(row * block.keys), block.keys).fill(T::default());
            }
            Ok(())
        }
    }
}

/// # Safety
/// `at` is valid for `n` elements, which nobody else uses.
pub(super) unsafe fn scale<T: WithDType>(at: *mut T, n: usize, by: f64) {
    // SAFETY: `n` elements are valid at `at`, and nothing else refers to them.
    unsafe { std::slice::from_raw_parts_mut(at, n) }.iter_mut().for_each(|x| *x *= T::from_f64(by));
}
