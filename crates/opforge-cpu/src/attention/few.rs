//! Attention of few queries, as of a text that grows token by token: keys and values are read as they lie, once for the queries that meet them together,
//! where strips of queries would be mostly empty. The softmax is carried from block to block of keys, as in `strip.rs`.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::{HostKernel, checkpoint};
use opforge_tile::math;

use super::mask::{HeadMask, Mask};
use super::strip::Element;
use super::{Block, Heads, Sizes};
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::loops::work;
use crate::matmul::{Matrix, folded, products};
use crate::memory::scratch::with_scratch;
use crate::simd::{Entry, Float, FloatElem, Isa, Routine, Simd, Vector, resolve};

/// The most queries of a head, and the fewest keys: a strip takes as long for one query as for many (`make bench`, the cases of few queries).
const QUERIES: usize = 8;
const KEYS: usize = 128;
/// Queries that meet keys together, at most: of a head, and of the heads that share its keys.
const TOGETHER: usize = 4;
/// Keys of a block, in whole vectors.
const BLOCK: usize = 512;

/// See [`attention`](super::attention).
pub(super) struct Few<T: Element> {
    sizes: Sizes,
    inputs: [Heads; 3],
    mask: Option<Mask<T>>,
    score: Entry<Score<T>>,
    weigh: Entry<Weigh<T>>,
}

/// Whether there are few queries of many keys, all of which they may see.
pub(super) fn are_few(sizes: &Sizes) -> bool {
    sizes.queries <= QUERIES && sizes.keys >= KEYS && !sizes.how.causal
}

/// Queries that meet keys together, and what is kept of each between blocks.
#[derive(Clone, Copy)]
struct State<T> {
    /// Scaled, one after the other.
    queries: *mut T,
    /// Scores of a block, then weights: [`BLOCK`] each.
    scores: *mut T,
    /// The sums of weighted values so far.
    values: *mut T,
    /// The sums of weights, and the greatest scores.
    sums: [T; TOGETHER],
    greatest: [T; TOGETHER],
}

impl<T: Element> Few<T> {
    /// The kernel for inputs whose rows of keys and values are contiguous.
    pub fn prepare(sizes: Sizes, inputs: [Heads; 3], mask: Option<Mask<T>>) -> Arc<dyn HostKernel> {
        let (score, weigh) = (resolve(Isa::current()), resolve(Isa::current()));
        Arc::new(Few { sizes, inputs, mask, score, weigh })
    }

    /// Elements of a task's working memory.
    fn room(&self) -> usize {
        TOGETHER * (self.sizes.width + BLOCK + self.sizes.size)
    }

    /// Attends to all keys of a head for `count` queries from `first` on, of those of all heads that share the keys.
    ///
    /// # Safety
    /// The pointers are to the first elements of q, k, v, the mask and the output, and `room` to [`Few::room`] elements.
    unsafe fn attend(
        &self,
        head: usize,
        [first, count]: [usize; 2],
        [q, k, v]: [*const T; 3],
        mask: *const u8,
        y: *mut T,
        room: *mut T,
    ) {
        let Sizes { width, size, keys, queries, group, how, .. } = self.sizes;
        let place = |i: usize| (head * group + (first + i) / queries, (first + i) % queries);
        let scores = room.wrapping_add(TOGETHER * width);
        let values = scores.wrapping_add(TOGETHER * BLOCK);
        let least = T::from_f64(f64::NEG_INFINITY);
        let mut state =
            State { queries: room, scores, values, sums: [T::default(); TOGETHER], greatest: [least; TOGETHER] };
        let [own, of_keys, of_values] = &self.inputs;
        let (k, v) = (of_keys.head(k, head), of_values.head(v, head));
        // SAFETY: places are rows of q, of the mask and of the output; blocks are of the head's keys and values; the room holds the state.
        unsafe {
            for i in 0..count {
                let (head, query) = place(i);
                let from = own.head(q, head).from(query, 0);
                for j in 0..width {
                    *room.add(i * width + j) = *from.from(0, j).at * T::from_f64(how.scale.to_f64());
                }
            }
            std::slice::from_raw_parts_mut(values, count * size).fill(T::default());
            for start in (0..keys).step_by(BLOCK) {
                checkpoint();
                let block = BLOCK.min(keys - start);
                (self.score)(&Score { width, element: PhantomData }, (state, count, k.from(start, 0), block));
                if let Some(mask_of_all) = &self.mask {
                    for i in 0..count {
                        let (head, query) = place(i);
                        let mask: HeadMask<'_, T> = mask_of_all.of_head(mask, head).beginning_at(start);
                        mask.apply(&Block { first: query, rows: 1, keys: block }, scores.add(i * BLOCK));
                    }
                }
                (self.weigh)(&Weigh { size, element: PhantomData }, (&mut state, count, v.from(start, 0), block));
            }
            for i in 0..count {
                let to = y.add(((head * group * queries) + first + i) * size);
                // A query that the mask lets nowhere.
                let blind = self.mask.is_some() && state.sums[i] == T::default();
                for j in 0..size {
                    *to.add(j) = if blind { T::default() } else { *values.add(i * size + j) / state.sums[i] };
                }
            }
        }
    }
}

impl<T: Element> HostKernel for Few<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let Sizes { heads, group, queries, keys, width, size, .. } = self.sizes;
        let inputs_of_heads = [0, 1, 2].map(|i| Shared(inputs[i].cast::<T>()));
        let (y, mask) = (Shared(outputs[0].cast::<T>()), Shared(inputs.get(3).copied().unwrap_or_default()));
        let parts = (group * queries).div_ceil(TOGETHER);
        let grain = work::grain(keys * (width + size) * TOGETHER.min(group * queries) / 16);
        try_parallel_for(heads / group * parts, grain, |tasks| {
            with_scratch(self.room() * size_of::<T>(), |room| {
                for task in tasks {
                    let (head, first) = (task / parts, task % parts * TOGETHER);
                    let count = TOGETHER.min(group * queries - first);
                    let from = inputs_of_heads.map(Shared::get);
                    // SAFETY: the pointers are the tensors'; queries have results of their own, and the room is this thread's.
                    unsafe { self.attend(head, [first, count], from, mask.get(), y.get(), room.cast()) };
                }
            })
        })
    }

    fn cost(&self) -> u64 {
        self.sizes.cost()
    }
}

/// Writes the scores of queries with a block's keys; those after the last, to the end of its vector, are -infinity.
struct Score<T> {
    width: usize,
    element: PhantomData<T>,
}

impl<T: FloatElem> Routine for Score<T> {
    /// The state, the queries' number, the keys and theirs.
    type Args = (State<T>, usize, Matrix<T>, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (state, count, keys, block): Self::Args) {
        let hidden = T::from_f64(f64::NEG_INFINITY);
        for i in 0..count {
            let after = block..block.next_multiple_of(<T::Vector<S>>::LANES);
            for key in after {
                // SAFETY: a query has `BLOCK` scores, whole vectors.
                unsafe { *state.scores.add(i * BLOCK + key) = hidden };
            }
        }
        // SAFETY: the state has as many queries, and the matrix a block's keys.
        unsafe { self.scores::<S>(&state, count, keys, block) };
    }
}

impl<T: FloatElem> Score<T> {
    /// # Safety
    /// The state is of `count` queries at least, and the matrix has `block` contiguous rows of their width.
    #[inline(always)]
    unsafe fn scores<S: Simd>(&self, state: &State<T>, count: usize, keys: Matrix<T>, block: usize) {
        let lanes = <T::Vector<S>>::LANES;
        // Lanes change places by way of memory there.
        let together = if S::ISA == Isa::Portable { 0 } else { block / lanes * lanes };
        // SAFETY: keys are the block's, and each query has as many scores.
        unsafe {
            for key in (0..together).step_by(lanes) {
                for i in 0..count {
                    let query = state.queries.add(i * self.width);
                    folded::<T, S>(query, keys.from(key, 0), self.width).store(state.scores.add(i * BLOCK + key));
                }
            }
            for key in together..block {
                for i in 0..count {
                    let query = state.queries.add(i * self.width);
                    let [sum] = products::<T, S, 1>(query, keys.from(key, 0), self.width);
                    *state.scores.add(i * BLOCK + key) = sum.reduce_sum();
                }
            }
        }
    }
}

/// Makes weights of a block's scores, and adds the values with them.
struct Weigh<T> {
    size: usize,
    element: PhantomData<T>,
}

impl<T: FloatElem> Routine for Weigh<T> {
    /// The state, the queries' number, the values and theirs.
    type Args = (*mut State<T>, usize, Matrix<T>, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (state, count, values, block): Self::Args) {
        // SAFETY: the caller passes the only reference to the state.
        let state = unsafe { &mut *state };
        let mut factors = [T::default(); TOGETHER];
        for (i, factor) in factors.iter_mut().enumerate().take(count) {
            // SAFETY: each query has a block's scores, in whole vectors.
            *factor = unsafe { weights::<T, S>(state, i, block) };
        }
        // SAFETY: there are as many queries as each call is for.
        unsafe {
            match count {
                1 => self.values::<S, 1>(state, factors, values, block),
                2 => self.values::<S, 2>(state, factors, values, block),
                3 => self.values::<S, 3>(state, factors, values, block),
                _ => self.values::<S, TOGETHER>(state, factors, values, block),
            }
        }
    }
}

/// Turns the scores of a query into weights less its greatest score so far, and gives the factor for what was summed less a lesser one.
///
/// # Safety
/// The query has a block's scores, in whole vectors.
#[inline(always)]
unsafe fn weights<T: FloatElem, S: Simd>(state: &mut State<T>, query: usize, block: usize) -> T {
    let scores = state.scores.wrapping_add(query * BLOCK);
    let lanes = <T::Vector<S>>::LANES;
    // SAFETY: whole vectors of scores are valid.
    unsafe {
        let old = state.greatest[query];
        let mut greatest = <T::Vector<S>>::splat_elem(old);
        for key in (0..block).step_by(lanes) {
            greatest = greatest.max(<T::Vector<S>>::load(scores.add(key)));
        }
        let greatest = greatest.reduce_max();
        // Of a query that has seen nothing yet, weights are 0, not NaN.
        let shift = if greatest == T::from_f64(f64::NEG_INFINITY) { T::default() } else { greatest };
        let mut sum = <T::Vector<S>>::splat(0.0);
        for key in (0..block).step_by(lanes) {
            let score = <T::Vector<S>>::load(scores.add(key));
            let weight = math::exp(score - <T::Vector<S>>::splat_elem(shift));
            weight.store(scores.add(key));
            sum = sum + weight;
        }
        let factor = math::exp(<T::Vector<S>>::splat_elem(old) - <T::Vector<S>>::splat_elem(shift)).first_lane();
        state.greatest[query] = greatest;
        state.sums[query] = state.sums[query] * factor + sum.reduce_sum();
        factor
    }
}

impl<T: FloatElem> Weigh<T> {
    /// # Safety
    /// The state is of `N` queries at least, and the matrix has `block` contiguous rows of a value's size.
    #[inline(always)]
    unsafe fn values<S: Simd, const N: usize>(
        &self,
        state: &State<T>,
        factors: [T; TOGETHER],
        values: Matrix<T>,
        block: usize,
    ) {
        let lanes = <T::Vector<S>>::LANES;
        let mut j = 0;
        // SAFETY: vectors end at or before a value's size.
        unsafe {
            while N == 1 && j + 8 * lanes <= self.size {
                self.columns::<S, N, 8>(state, factors, values.from(0, j), [block, j, lanes]);
                j += 8 * lanes;
            }
            while j + 4 * lanes <= self.size {
                self.columns::<S, N, 4>(state, factors, values.from(0, j), [block, j, lanes]);
                j += 4 * lanes;
            }
            while j < self.size {
                let last = lanes.min(self.size - j);
                self.columns::<S, N, 1>(state, factors, values.from(0, j), [block, j, last]);
                j += last;
            }
        }
    }

    /// Adds `C` vectors of columns, the first of which is number `j`; the last vector has `last` elements.
    ///
    /// # Safety
    /// As [`Weigh::values`], and the columns are values'.
    #[inline(always)]
    unsafe fn columns<S: Simd, const N: usize, const C: usize>(
        &self,
        state: &State<T>,
        factors: [T; TOGETHER],
        values: Matrix<T>,
        [block, j, last]: [usize; 3],
    ) {
        let lanes = <T::Vector<S>>::LANES;
        let whole = last == lanes;
        let mut sums = [[<T::Vector<S>>::splat(0.0); N]; C];
        // SAFETY: each key has `C` vectors of columns, the last of `last` elements, and each query as many sums and a weight for each key.
        unsafe {
            for key in 0..block {
                let row = values.from(key, 0).at;
                let mut weights = [<T::Vector<S>>::splat(0.0); N];
                for (i, weight) in weights.iter_mut().enumerate() {
                    *weight = Vector::splat_elem(*state.scores.add(i * BLOCK + key));
                }
                for (c, sums) in sums.iter_mut().enumerate() {
                    let at = row.add(c * lanes);
                    let value = if whole { <T::Vector<S>>::load(at) } else { <T::Vector<S>>::load_partial(at, last) };
                    for (sum, weight) in sums.iter_mut().zip(weights) {
                        *sum = weight.mul_add(value, *sum);
                    }
                }
            }
            for (c, sums) in sums.into_iter().enumerate() {
                for (i, (sum, factor)) in sums.into_iter().zip(factors).enumerate() {
                    let at = state.values.add(i * self.size + j + c * lanes);
                    let before = <T::Vector<S>>::load_partial(at, last);
                    before.mul_add(Vector::splat_elem(factor), sum).store_partial(at, last);
                }
            }
        }
    }
}
