//! The gradients of attention, block by block; scores are computed again.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{Result, WithDType};
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Workspace;
use opforge_tile::{Softmax, SoftmaxSlope};

use super::mask::{HeadMask, Mask};
use super::weights::{Weights, scale};
use super::{Block, Sizes};
use crate::copy::{Plan, Shared};
use crate::loops::fallible::try_parallel_for;
use crate::matmul::matmul;

/// The kernels of a block's gradients.
struct Backward {
    block: Block,
    weights: Weights,
    /// The gradients of weights from those of the output, of scores from those of weights, of queries from those of scores.
    by_weights: Arc<dyn HostKernel>,
    by_scores: Arc<dyn HostKernel>,
    by_queries: Arc<dyn HostKernel>,
    /// The block's share of the gradients of values and of keys.
    by_values: Arc<dyn HostKernel>,
    by_keys: Arc<dyn HostKernel>,
}

impl Backward {
    fn new(op: &'static str, sizes: &Sizes, block: Block) -> Result<Self> {
        let Block { rows, keys, .. } = block;
        let Sizes { width, size, .. } = *sizes;
        let (scores, turned) = (sizes.matrix(rows, keys), sizes.transposed(op, rows, keys)?);
        let (dy, q) = (sizes.matrix(rows, size), sizes.matrix(rows, width));
        Ok(Backward {
            block,
            weights: Weights::new(op, sizes, &block)?,
            by_weights: matmul(op, &dy, &sizes.turned(op, size, keys)?, &scores)?,
            by_scores: crate::rows::rows(op, SoftmaxSlope(Softmax::Plain), 1, [&scores; 2], &[&scores])?,
            by_queries: matmul(op, &scores, &sizes.matrix(keys, width), &q)?,
            by_values: matmul(op, &turned, &dy, &sizes.matrix(keys, size))?,
            by_keys: matmul(op, &turned, &q, &sizes.matrix(keys, width))?,
        })
    }
}

/// See [`attention_gradients`](super::attention_gradients).
pub(super) struct Gradients<T: WithDType> {
    sizes: Sizes,
    mask: Option<Mask<T>>,
    blocks: Vec<Backward>,
    turn_keys: Plan,
    turn_values: Plan,
    element: PhantomData<T>,
}

impl<T: WithDType> Gradients<T> {
    pub fn prepare(op: &'static str, sizes: Sizes, mask: Option<Mask<T>>) -> Result<Arc<dyn HostKernel>> {
        let blocks = sizes.blocks()?.into_iter().map(|block| Backward::new(op, &sizes, block));
        Ok(Arc::new(Gradients::<T> {
            blocks: blocks.collect::<Result<_>>()?,
            turn_keys: sizes.turn(op, sizes.keys, sizes.width)?,
            turn_values: sizes.turn(op, sizes.keys, sizes.size)?,
            sizes,
            mask,
            element: PhantomData,
        }))
    }

    /// The gradients of one head of keys, and of the heads of queries that it serves.
    ///
    /// # Safety
    /// The addresses are those of the heads' matrices.
    unsafe fn head(
        &self,
        head: usize,
        [q, k, v, dy]: [*const T; 4],
        mask: *const u8,
        [dq, dk, dv]: [*mut T; 3],
    ) -> Result<()> {
        let Sizes { width, size, keys, queries, group, .. } = self.sizes;
        let rows = self.blocks.first().map_or(0, |b| b.block.rows);
        let turned = keys * (width + size);
        let room = Workspace::new((rows * (2 * keys + width) + keys * width.max(size) + turned) * size_of::<T>())?;
        // SAFETY: each matrix of the group is valid for its size, which `add` never leaves; the room is the sum of its six parts.
        unsafe {
            let scaled = room.as_ptr().cast::<T>();
            let weights = scaled.add(rows * width);
            let slopes = weights.add(rows * keys);
            let share = slopes.add(rows * keys);
            let turned_k = share.add(keys * width.max(size));
            let turned_v = turned_k.add(keys * width);
            self.turn_keys.run(k.cast(), turned_k.cast());
            self.turn_values.run(v.cast(), turned_v.cast());
            std::slice::from_raw_parts_mut(dk, keys * width).fill(T::default());
            std::slice::from_raw_parts_mut(dv, keys * size).fill(T::default());
            let room = Room { scaled, weights, slopes, share, turned_k, turned_v };
            for one in 0..group {
                let mask = self.mask.as_ref().map(|m| m.of_head(mask, head * group + one));
                let (q, dy) = (q.add(one * queries * width), dy.add(one * queries * size));
                let dq = dq.add(one * queries * width);
                for step in &self.blocks {
                    self.block(step, &room, [q, k, dy], mask.as_ref(), [dq, dk, dv])?;
                }
            }
        }
        Ok(())
    }

    /// The gradients of one block of queries, and its share of those of keys and values.
    ///
    /// # Safety
    /// As [`Self::head`].
    unsafe fn block(
        &self,
        step: &Backward,
        room: &Room<T>,
        [q, k, dy]: [*const T; 3],
        mask: Option<&HeadMask<'_, T>>,
        [dq, dk, dv]: [*mut T; 3],
    ) -> Result<()> {
        let Sizes { width, size, .. } = self.sizes;
        let Block { first, rows, keys } = step.block;
        let Room { scaled, weights, slopes, share, turned_k, turned_v } = *room;
        let read = |at: *mut T| at.cast_const().cast::<u8>();
        // SAFETY: the block's rows are within `q`, `dy` and `dq`; its kernels are of these sizes, the room of the largest block's.
        unsafe {
            let (q, dy, dq) = (q.add(first * width), dy.add(first * size), dq.add(first * width));
            step.weights.run(&self.sizes, &step.block, [q, turned_k.cast_const()], mask, [scaled, weights])?;
            step.by_values.run(&[read(weights), dy.cast()], &[share.cast()])?;
            add(dv, share, keys * size);
            step.by_weights.run(&[dy.cast(), read(turned_v)], &[slopes.cast()])?;
            step.by_scores.run(&[read(weights), read(slopes)], &[slopes.cast()])?;
            step.by_queries.run(&[read(slopes), k.cast()], &[dq.cast()])?;
            scale(dq, rows * width, self.sizes.how.scale.to_f64());
            step.by_keys.run(&[read(slopes), read(scaled)], &[share.cast()])?;
            add(dk, share, keys * width);
        }
        Ok(())
    }
}

/// A head's working memory.
struct Room<T> {
    scaled: *mut T,
    weights: *mut T,
    slopes: *mut T,
    share: *mut T,
    turned_k: *mut T,
    turned_v: *mut T,
}

/// # Safety
/// Both are valid for `n` elements.
unsafe fn add<T: WithDType>(to: *mut T, share: *const T, n: usize) {
    // SAFETY: both have `n` elements; the share is working memory, apart from the gradient.
    let (to, share) = unsafe { (std::slice::from_raw_parts_mut(to, n), std::slice::from_raw_parts(share, n)) };
    to.iter_mut().zip(share).for_each(|(to, share)| *to += *share);
}

impl<T: WithDType> HostKernel for Gradients<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let sizes = &self.sizes;
        let mask = Shared(inputs.get(4).copied().unwrap_or_default());
        let inputs = [0, 1, 2, 3].map(|i| Shared(inputs[i].cast::<T>()));
        let outputs = [0, 1, 2].map(|i| Shared(outputs[i].cast::<T>()));
        let (key, value) = (sizes.keys * sizes.width, sizes.keys * sizes.size);
        let queries = sizes.group * sizes.queries;
        let steps = [queries * sizes.width, key, value, queries * sizes.size];
        try_parallel_for(sizes.heads / sizes.group, 1, |heads| {
            for head in heads {
                let inputs = std::array::from_fn(|i| inputs[i].get().wrapping_add(head * steps[i]));
                let outputs = std::array::from_fn(|i| outputs[i].get().wrapping_add(head * steps[i]));
                // SAFETY: inputs and outputs are moved to the matrices of this head, which no other task writes.
                unsafe { self.head(head, inputs, mask.get(), outputs)? };
            }
            Ok(())
        })
    }

    fn cost(&self) -> u64 {
        4 * self.sizes.cost()
    }
}
