//! Attention, a strip of queries and a block of keys at a time: a task packs each block of keys and values once for its strips.

use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::{HostKernel, checkpoint};

use super::mask::Mask;
use super::strip::{Packed, Strips, reach};
use super::{Heads, Sizes};
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::loops::work;
use crate::matmul::operand::Summed;
use crate::matmul::{Matrix, pack_strips};
use crate::memory::scratch::with_scratch;

/// Keys of a block: a strip's scores of them fill the half of a first-level cache or little more.
pub(super) const KEYS: usize = 192;
/// The most queries of a task, which share packed keys.
const QUERIES: usize = 512;
/// Tasks at least, where there are as many strips.
const TASKS: usize = 16;

/// See [`attention`](super::attention).
pub(super) struct Forward<E: Summed> {
    sizes: Sizes,
    inputs: [Heads; 3],
    mask: Option<Mask<E::Compute>>,
    strips: Strips<E>,
    /// Queries of a task, and tasks of a head.
    queries: usize,
    parts: usize,
}

impl<E: Summed> Forward<E> {
    /// The kernel for inputs whose rows are contiguous.
    pub fn prepare(sizes: Sizes, inputs: [Heads; 3], mask: Option<Mask<E::Compute>>) -> Arc<dyn HostKernel> {
        let strips = Strips::<E>::new(&sizes, mask.is_some());
        let parts = TASKS.div_ceil(sizes.heads.max(1));
        let queries = sizes.queries.div_ceil(parts).min(QUERIES).next_multiple_of(strips.width()).max(1);
        let parts = sizes.queries.div_ceil(queries);
        Arc::new(Forward { sizes, inputs, mask, strips, queries, parts })
    }

    /// Attends to all keys of a head for some of its queries, with working memory at `room`.
    ///
    /// # Safety
    /// `q`, `k`, `v` and `y` are the head's matrices, and `mask` its mask; the room has [`Forward::room`] elements.
    unsafe fn task(
        &self,
        head: usize,
        first: usize,
        [q, k, v]: [Matrix<E>; 3],
        mask: *const u8,
        y: *mut E,
        room: *mut E::Compute,
    ) {
        let (Sizes { width, size, queries, keys, how, .. }, packing) = (self.sizes, self.strips.packing);
        let rows = self.queries.min(queries - first);
        let mask = self.mask.as_ref().map(|m| m.of_head(mask, head));
        let strips = rows.div_ceil(self.strips.width());
        let scores = room.wrapping_add(strips * self.strips.state());
        let room_of_mask = scores.wrapping_add(KEYS * self.strips.width());
        let packed_keys = room_of_mask.wrapping_add(self.mask_room());
        let packed_values = packed_keys.wrapping_add(KEYS * packing.rows(width));
        let height = self.strips.height();
        let state = |strip: usize| self.strips.state_at(room.wrapping_add(strip * self.strips.state()));
        let _session = self.strips.session();
        let columns = |strip: usize| self.strips.width().min(rows - strip * self.strips.width());
        // SAFETY: strips begin within the task's queries, blocks within the keys; the room has a state for each strip, then a block's scores, keys and
        // values.
        unsafe {
            for strip in 0..strips {
                let from = q.from(first + strip * self.strips.width(), 0);
                self.strips.begin(from, columns(strip), &state(strip));
            }
            let seen = if how.causal { keys.min(reach(first + rows)) } else { keys };
            for start in (0..seen).step_by(KEYS) {
                checkpoint();
                let count = KEYS.min(seen - start);
                pack_strips(packing, k.from(start, 0), count, width, height, packed_keys);
                pack_strips(packing, v.from(start, 0).transposed(), size, count, height, packed_values);
                for strip in 0..strips {
                    let query = first + strip * self.strips.width();
                    let block = Packed {
                        first: start,
                        count,
                        keys: packed_keys,
                        values: packed_values,
                        scores,
                        mask: room_of_mask,
                    };
                    self.strips.attend(&block, query, columns(strip), mask.as_ref(), &state(strip));
                }
            }
            for strip in 0..strips {
                let to = y.wrapping_add((first + strip * self.strips.width()) * size);
                self.strips.end(&state(strip), columns(strip), scores, to);
            }
        }
    }

    /// Elements of the room for a block's mask.
    fn mask_room(&self) -> usize {
        if self.mask.is_some() { KEYS * self.strips.width() } else { 0 }
    }

    /// Elements of a task's working memory.
    fn room(&self) -> usize {
        let packing = &self.strips.packing;
        let strips = self.queries.min(self.sizes.queries).div_ceil(self.strips.width());
        strips * self.strips.state()
            + self.mask_room()
            + KEYS * (self.strips.width() + packing.rows(self.sizes.width))
            + packing.strips(self.sizes.size) * packing.rows(KEYS)
    }
}

impl<E: Summed> HostKernel for Forward<E> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let Sizes { heads, group, queries, keys, width, size, .. } = self.sizes;
        let [q, k, v] = [0, 1, 2].map(|i| Shared(inputs[i].cast::<E>()));
        let (y, mask) = (Shared(outputs[0].cast::<E>()), Shared(inputs.get(3).copied().unwrap_or_default()));
        let grain = work::grain(self.queries * keys * (width + size) / 16);
        try_parallel_for(heads * self.parts, grain, |tasks| {
            with_scratch(self.room() * size_of::<E::Compute>(), |room| {
                for task in tasks {
                    let (head, part) = (task / self.parts, task % self.parts);
                    let [own, keys, values] = &self.inputs;
                    let shared = head / group;
                    let from = [own.head(q.get(), head), keys.head(k.get(), shared), values.head(v.get(), shared)];
                    // SAFETY: these are the head's matrices, tasks write disjoint rows, and the room is this thread's.
                    unsafe {
                        let to = y.get().wrapping_add(head * queries * size);
                        self.task(head, part * self.queries, from, mask.get(), to, room.cast());
                    }
                }
            })
        })
    }

    fn cost(&self) -> u64 {
        self.sizes.cost()
    }
}
