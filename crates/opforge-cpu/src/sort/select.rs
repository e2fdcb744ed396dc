//! The first few elements of an order (top-k), without sorting the rest.

use opforge_core::Result;
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Workspace;
use opforge_runtime::parallel::parallel_for;

use super::key::{self, Key, Packed};
use super::{ELEMENT, Order, write_index};
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::loops::work::grain;
use crate::memory::scratch::with_scratch;
use crate::simd::{Isa, Routine, Simd, resolve};

/// Elements of a row that are looked through at a time, where a row is so long that several threads share it.
const PART: usize = 1 << 16;
/// Elements that are compared with the limit at once.
const BLOCK: usize = 64;
/// Pairs that are kept beside twice the wanted before the worse are forgotten: few, for the limit is as old as the last time.
const SPARE: usize = 16;

/// The ways of one dtype.
#[derive(Clone, Copy)]
pub(super) struct Ways {
    /// Bytes of a key with its index.
    pair: usize,
    isa: Isa,
    /// Finds the first `count` of some elements of a row, in any order, with the greatest pairs after them if there are fewer.
    part: unsafe fn(&Order, Isa, std::ops::Range<usize>, *const u8, *mut u8, scratch: *mut u8),
    /// Writes the indices of the first of so many pairs, in order.
    finish: unsafe fn(&Order, *mut u8, usize, *mut u8),
}

impl Ways {
    pub fn of<T: Key>() -> Self {
        Ways { pair: size_of::<T::Packed>(), isa: Isa::current(), part: select_part::<T>, finish: finish::<T> }
    }
}

/// The indices of the first elements of each row's order.
pub(super) struct Select {
    pub order: Order,
    pub ways: Ways,
}

impl HostKernel for Select {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (order, ways) = (&self.order, &self.ways);
        let room = (2 * order.count + SPARE) * ways.pair;
        let (rows, len) = (order.nest.count(), order.row.len);
        let parts = len.div_ceil(PART.max(8 * order.count));
        let row_bytes = parts * order.count * ways.pair;
        let found = Workspace::new(rows * row_bytes)?;
        let (src, dst, found) = (Shared(inputs[0]), Shared(outputs[0]), Shared(found.as_ptr()));
        try_parallel_for(rows * parts, grain(ELEMENT * len), |range| {
            with_scratch(room, |scratch| {
                for task in range {
                    let (row, part) = (task / parts, task % parts);
                    let elements = part * len / parts..(part + 1) * len / parts;
                    order.nest.for_each(row..row + 1, |[s, _]| {
                        // SAFETY: offsets are within the tensors; every part has room of its own, and the scratch is what a part takes.
                        unsafe {
                            let to = found.get().add(row * row_bytes + part * order.count * ways.pair);
                            (ways.part)(order, ways.isa, elements.clone(), src.get().offset(s), to, scratch);
                        }
                    });
                }
            })
        })?;
        parallel_for(rows, grain(ELEMENT * parts * order.count), |range| {
            let mut row = range.start;
            order.nest.for_each(range, |[_, d]| {
                // SAFETY: every row has left `parts * count` pairs at its place, the offset is within the output, and rows of the output are disjoint.
                unsafe {
                    (ways.finish)(order, found.get().add(row * row_bytes), parts * order.count, dst.get().offset(d));
                }
                row += 1;
            });
        });
        Ok(())
    }

    fn cost(&self) -> u64 {
        20 + (self.order.nest.count() * self.order.row.len) as u64
    }
}

/// # Safety
/// The elements of the row are readable, `to` is writable for as many pairs as are wanted; `scratch` holds twice as many and [`SPARE`], initialised
/// and aligned to 64; the level is supported.
unsafe fn select_part<T: Key>(
    order: &Order,
    isa: Isa,
    elements: std::ops::Range<usize>,
    src: *const u8,
    to: *mut u8,
    scratch: *mut u8,
) {
    let room = 2 * order.count + SPARE;
    // SAFETY: the scratch holds `room` pairs, and every pattern of bits is an integer.
    let pairs = unsafe { std::slice::from_raw_parts_mut(scratch.cast::<T::Packed>(), room) };
    let mut best = Best::<T> { order, src, pairs, len: 0, limit: None };
    let worse = resolve::<Worse<T>>(isa);
    let contiguous = order.row.step[0] == size_of::<T>() as isize;
    let mut at = elements.start;
    while at < elements.end {
        // SAFETY: `at` and each block lie within `elements`, which the row has; `worse` gets whole blocks of what is left.
        unsafe {
            if let Some((_, limit)) = best.limit.filter(|_| contiguous) {
                let rest = (src.cast::<T>().add(at), (elements.end - at) / BLOCK);
                at += BLOCK * worse(&Worse { limit, descending: order.descending }, rest);
            }
            let block = at..elements.end.min(at + BLOCK);
            at = block.end;
            block.for_each(|i| best.offer(i));
        }
    }
    best.cut();
    let (found, n) = (to.cast::<T::Packed>(), best.len.min(order.count));
    for i in 0..order.count {
        // SAFETY: there is room for `count` pairs at `to`.
        unsafe { found.add(i).write_unaligned(if i < n { best.pairs[i] } else { T::Packed::MOST }) };
    }
}

/// How many blocks in a row have nothing that comes before the limit.
struct Worse<T> {
    limit: T,
    descending: bool,
}

impl<T: Key> Routine for Worse<T> {
    /// The first block, and the number of blocks.
    type Args = (*const T, usize);
    type Output = usize;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (first, blocks): Self::Args) -> usize {
        let mut i = 0;
        while i < blocks {
            // SAFETY: `i` is below `blocks`, the whole blocks that are readable from `first` on.
            let block = unsafe { first.add(i * BLOCK).cast::<[T; BLOCK]>().read_unaligned() };
            // NaN compares with nothing, and may be among the best; a loop without a choice inside is compiled to vectors.
            let mut worse = 0u32;
            if self.descending {
                block.iter().for_each(|x| worse += u32::from(x.is_below(self.limit)));
            } else {
                block.iter().for_each(|x| worse += u32::from(self.limit.is_below(*x)));
            }
            if worse < BLOCK as u32 {
                break;
            }
            i += 1;
        }
        i
    }
}

/// The best pairs so far, and some that may be.
struct Best<'a, T: Key> {
    order: &'a Order,
    src: *const u8,
    pairs: &'a mut [T::Packed],
    len: usize,
    /// What an element must come before: the last of the wanted, and its value.
    limit: Option<(T::Packed, T)>,
}

impl<T: Key> Best<'_, T> {
    /// # Safety
    /// The row has this element.
    unsafe fn value(&self, i: usize) -> T {
        // SAFETY: the row's `i`-th element is readable at its step from `src`.
        unsafe { self.src.offset(i as isize * self.order.row.step[0]).cast::<T>().read_unaligned() }
    }

    /// # Safety
    /// The row has this element.
    #[inline(always)]
    unsafe fn offer(&mut self, i: usize) {
        // SAFETY: `i` is an element of the row.
        let x = unsafe { self.value(i) };
        let after = |limit: T| if self.order.descending { x.is_below(limit) } else { limit.is_below(x) };
        if self.limit.is_some_and(|(_, limit)| after(limit)) {
            return;
        }
        let pair = T::Packed::new(x.key(), self.order.descending, i as u32);
        if self.limit.is_some_and(|(limit, _)| pair > limit) {
            return;
        }
        self.pairs[self.len] = pair;
        self.len += 1;
        if self.len == self.pairs.len() {
            self.cut();
        }
    }

    /// Forgets all but the best.
    fn cut(&mut self) {
        let count = self.order.count;
        if self.len <= count || count == 0 {
            self.len = self.len.min(count);
            return;
        }
        let (_, &mut last, _) = self.pairs[..self.len].select_nth_unstable(count - 1);
        self.len = count;
        // SAFETY: the index is one of the row's.
        self.limit = Some((last, unsafe { self.value(last.index() as usize) }));
    }
}

/// # Safety
/// `found` holds `n` pairs, aligned, at least as many as are wanted; `dst` is writable for the output's row.
unsafe fn finish<T: Key>(order: &Order, found: *mut u8, n: usize, dst: *mut u8) {
    // SAFETY: `found` holds `n` pairs, written by their finders and aligned.
    let pairs = unsafe { std::slice::from_raw_parts_mut(found.cast::<T::Packed>(), n) };
    if order.count == 0 {
        return;
    }
    key::select(pairs, order.count - 1);
    let first = &mut pairs[..order.count];
    key::by_comparison(first);
    for (i, pair) in first.iter().enumerate() {
        // SAFETY: `first` has `count` pairs, and the output's row as many places of the dtype that `wide` tells.
        unsafe { write_index(order.wide, dst.offset(i as isize * order.row.step[1]), pair.index()) };
    }
}
