//! Attention of few queries, as of a text that grows token by token: products with a vector read keys and values as they lie, where strips of queries
//! would be mostly empty.

use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::alloc::Workspace;
use opforge_runtime::{HostKernel, checkpoint};
use opforge_tile::Softmax;

use super::mask::Mask;
use super::strip::Element;
use super::weights::scale;
use super::{Block, Sizes};
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::loops::work;
use crate::matmul::matmul;
use crate::rows::rows;

/// The most queries of a head, and the fewest keys. A strip takes as long for one query as for many: of more queries, and of fewer keys, where the calls of
/// three kernels a query are most of the time, strips are faster (`make bench`, the cases of 1 and 2 queries).
const QUERIES: usize = 2;
const KEYS: usize = 128;

/// See [`attention`](super::attention).
pub(super) struct Few<T: Element> {
    sizes: Sizes,
    mask: Option<Mask<T>>,
    /// Of one query: scores, weights, and the sum of values.
    scores: Arc<dyn HostKernel>,
    softmax: Arc<dyn HostKernel>,
    values: Arc<dyn HostKernel>,
}

/// Whether there are few queries of many keys, all of which they may see.
pub(super) fn are_few(sizes: &Sizes) -> bool {
    sizes.queries <= QUERIES && sizes.keys >= KEYS && !sizes.how.causal
}

impl<T: Element> Few<T> {
    pub fn prepare(op: &'static str, sizes: Sizes, mask: Option<Mask<T>>) -> Result<Arc<dyn HostKernel>> {
        let Sizes { keys, width, size, .. } = sizes;
        let scores = sizes.matrix(1, keys);
        Ok(Arc::new(Few {
            scores: matmul(op, &sizes.matrix(1, width), &sizes.transposed(op, keys, width)?, &scores)?,
            softmax: rows(op, Softmax::Plain, 1, [&scores], &[&scores])?,
            values: matmul(op, &scores, &sizes.matrix(keys, size), &sizes.matrix(1, size))?,
            sizes,
            mask,
        }))
    }

    /// Writes the result of one query, a number of all heads'.
    ///
    /// # Safety
    /// `q` and `y` are all heads' matrices, `k` and `v` those of the query's head, `mask` is the mask; the room is for the query and its scores.
    unsafe fn query(
        &self,
        query: usize,
        [q, k, v]: [*const T; 3],
        mask: *const u8,
        y: *mut T,
        room: *mut T,
    ) -> Result<()> {
        let Sizes { width, size, keys, queries, how, .. } = self.sizes;
        let weights = room.wrapping_add(width);
        // SAFETY: there is a row of q and of y for each query; kernels are of these sizes.
        unsafe {
            std::ptr::copy_nonoverlapping(q.add(query * width), room, width);
            scale(room, width, how.scale.to_f64());
            self.scores.run(&[room.cast_const().cast(), k.cast()], &[weights.cast()])?;
            let block = Block { first: query % queries, rows: 1, keys };
            let sees_nothing = match &self.mask {
                Some(all) => all.of_head(mask, query / queries).apply(&block, weights) != 0,
                None => false,
            };
            let read = weights.cast_const().cast::<u8>();
            if sees_nothing {
                std::slice::from_raw_parts_mut(weights, keys).fill(T::default());
            } else {
                self.softmax.run(&[read], &[weights.cast()])?;
            }
            self.values.run(&[read, v.cast()], &[y.add(query * size).cast()])
        }
    }
}

impl<T: Element> HostKernel for Few<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let Sizes { heads, group, queries, keys, width, size, .. } = self.sizes;
        let [q, k, v] = [0, 1, 2].map(|i| Shared(inputs[i].cast::<T>()));
        let (y, mask) = (Shared(outputs[0].cast::<T>()), Shared(inputs.get(3).copied().unwrap_or_default()));
        try_parallel_for(heads * queries, work::grain(keys * (width + size) / 16), |numbers| {
            let room = Workspace::new((width + keys) * size_of::<T>())?;
            for query in numbers {
                checkpoint();
                let shared = query / queries / group * keys;
                let (k, v) = (k.get().wrapping_add(shared * width), v.get().wrapping_add(shared * size));
                // SAFETY: keys and values are the head's; queries have results of their own, and the room is this task's.
                unsafe { self.query(query, [q.get(), k, v], mask.get(), y.get(), room.as_ptr().cast())? };
            }
            Ok(())
        })
    }

    fn cost(&self) -> u64 {
        self.sizes.cost()
    }
}
