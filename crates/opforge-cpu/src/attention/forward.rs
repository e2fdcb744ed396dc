//! Attention, block by block of queries.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{Result, WithDType};
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Workspace;

use super::mask::Mask;
use super::weights::Weights;
use super::{Block, Sizes};
use crate::copy::{Plan, Shared};
use crate::loops::fallible::try_parallel_for;
use crate::matmul::matmul;

/// See [`attention`](super::attention).
pub(super) struct Forward<T: WithDType> {
    sizes: Sizes,
    mask: Option<Mask<T>>,
    blocks: Vec<(Block, Weights, Arc<dyn HostKernel>)>,
    turn: Plan,
    /// Tasks that share a head's blocks; each turns the keys for itself.
    parts: usize,
    /// Elements of a task's working memory besides the keys.
    room: usize,
    element: PhantomData<T>,
}

impl<T: WithDType> Forward<T> {
    pub fn prepare(op: &'static str, sizes: Sizes, mask: Option<Mask<T>>) -> Result<Arc<dyn HostKernel>> {
        let prepared = |block: Block| {
            let (weights, v) = (sizes.matrix(block.rows, block.keys), sizes.matrix(block.keys, sizes.size));
            let product = matmul(op, &weights, &v, &sizes.matrix(block.rows, sizes.size))?;
            Ok((block, Weights::new(op, &sizes, &block)?, product))
        };
        let blocks = sizes.blocks()?.into_iter().map(prepared).collect::<Result<Vec<_>>>()?;
        let room = blocks.iter().map(|(block, ..)| block.rows * (block.keys + sizes.width)).max().unwrap_or(0);
        /// Tasks at least, where there are as many blocks.
        const TASKS: usize = 16;
        let parts = TASKS.div_ceil(sizes.heads.max(1)).clamp(1, blocks.len().max(1));
        let turn = sizes.turn(op, sizes.keys, sizes.width)?;
        Ok(Arc::new(Forward::<T> { sizes, mask, blocks, turn, parts, room, element: PhantomData }))
    }
}

impl<T: WithDType> HostKernel for Forward<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let sizes = &self.sizes;
        let [q, k, v] = [0, 1, 2].map(|i| Shared(inputs[i].cast::<T>()));
        let y = Shared(outputs[0].cast::<T>());
        let mask = self.mask.as_ref().map(|mask| (mask, Shared(inputs[3])));
        try_parallel_for(sizes.heads * self.parts, 1, |tasks| {
            let room = Workspace::new((self.room + sizes.keys * sizes.width) * size_of::<T>())?;
            for task in tasks {
                let (head, part) = (task / self.parts, task % self.parts);
                let keys = head / sizes.group;
                let mask = mask.as_ref().map(|(mask, at)| mask.of_head(at.get(), head));
                let mine = part * self.blocks.len() / self.parts..(part + 1) * self.blocks.len() / self.parts;
                // SAFETY: heads and blocks are the tensors', tasks write disjoint rows; the room has a block's scores, queries and keys.
                unsafe {
                    let scores = room.as_ptr().cast::<T>();
                    let turned = scores.add(self.room);
                    self.turn.run(k.get().add(keys * sizes.keys * sizes.width).cast(), turned.cast());
                    let v = v.get().add(keys * sizes.keys * sizes.size);
                    for (block, weights, product) in &self.blocks[mine] {
                        let row = head * sizes.queries + block.first;
                        let scaled = scores.add(block.rows * block.keys);
                        weights.run(
                            sizes,
                            block,
                            [q.get().add(row * sizes.width), turned],
                            mask.as_ref(),
                            [scaled, scores],
                        )?;
                        let to = y.get().add(row * sizes.size);
                        product.run(&[scores.cast_const().cast(), v.cast()], &[to.cast()])?;
                    }
                }
            }
            Ok(())
        })
    }

    fn cost(&self) -> u64 {
        self.sizes.cost()
    }
}
