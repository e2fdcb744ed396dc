//! Preparing nested loops: dimensions with the strides of several operands, ordered, merged and walked.

use opforge_core::MAX_RANK;
use smallvec::SmallVec;
use std::mem::MaybeUninit;

/// One loop over `len` positions; `stride[k]` is how far operand `k` moves each time, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopDim<const N: usize> {
    /// How many positions.
    pub len: usize,
    /// How far each operand moves.
    pub stride: [usize; N],
}

/// Nested loops, outermost first.
pub type LoopDims<const N: usize> = SmallVec<[LoopDim<N>; 6]>;

/// Orders the loops by the first operand's strides, largest (and repeated) outermost, and merges what is one loop for every operand.
pub fn order_and_merge<const N: usize>(dims: &mut LoopDims<N>) {
    dims.sort_by_key(|d| std::cmp::Reverse(if d.stride[0] == 0 { usize::MAX } else { d.stride[0] }));
    merge(dims);
}

/// Drops loops of length 1 and merges neighbours that are one loop for every operand.
pub(crate) fn merge<const N: usize>(dims: &mut LoopDims<N>) {
    let mut merged = LoopDims::<N>::new();
    for dim in dims.iter().filter(|d| d.len != 1) {
        match merged.last_mut() {
            Some(outer) if (0..N).all(|k| outer.stride[k] == dim.stride[k].wrapping_mul(dim.len)) => {
                *outer = LoopDim { len: outer.len * dim.len, stride: dim.stride };
            }
            _ => merged.push(*dim),
        }
    }
    *dims = merged;
}

/// How many times the innermost body runs.
pub(crate) fn iterations<const N: usize>(dims: &[LoopDim<N>]) -> usize {
    dims.iter().map(|d| d.len).product()
}

/// A position in nested loops, with every operand's offset.
pub struct Walk<'a, const N: usize> {
    dims: &'a [LoopDim<N>],
    /// The position in each loop; only those of `dims` are initialised, because most walks are short.
    at: [MaybeUninit<usize>; MAX_RANK],
    offset: [usize; N],
}

impl<'a, const N: usize> Walk<'a, N> {
    /// The position after `start` steps, `start < iterations(dims)` (or 0 where there are none).
    #[inline(always)]
    pub fn new(dims: &'a [LoopDim<N>], start: usize) -> Self {
        let mut walk = Walk { dims, at: [MaybeUninit::uninit(); MAX_RANK], offset: [0; N] };
        for at in &mut walk.at[..dims.len()] {
            at.write(0);
        }
        if start > 0 {
            walk.advance_to(start);
        }
        walk
    }

    fn advance_to(&mut self, mut start: usize) {
        for d in (0..self.dims.len()).rev() {
            let dim = &self.dims[d];
            let at = start % dim.len;
            start /= dim.len;
            self.at[d].write(at);
            for (offset, stride) in self.offset.iter_mut().zip(dim.stride) {
                *offset += at * stride;
            }
        }
    }

    /// The operands' offsets here, in elements.
    #[inline(always)]
    pub fn offset(&self) -> [usize; N] {
        self.offset
    }

    /// Moves one position on; from the last back to the first.
    #[inline(always)]
    pub fn step(&mut self) {
        for d in (0..self.dims.len()).rev() {
            let dim = &self.dims[d];
            // SAFETY: `new` has initialised as many positions as there are loops.
            let at = unsafe { self.at[d].assume_init_mut() };
            *at += 1;
            if *at < dim.len {
                for (offset, stride) in self.offset.iter_mut().zip(dim.stride) {
                    *offset += stride;
                }
                return;
            }
            *at = 0;
            for (offset, stride) in self.offset.iter_mut().zip(dim.stride) {
                *offset -= (dim.len - 1) * stride;
            }
        }
    }
}
