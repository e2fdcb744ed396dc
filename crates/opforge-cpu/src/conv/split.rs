//! Lines of input de-interleaved by the stride of a window: part `r` holds the positions `r`, `r + stride`, `r + 2 stride`, ..
//!
//! Neighbouring windows with a stride read every `stride`-th element. In a de-interleaved line these lie next to each other, so that convolutions and
//! pooling load whole vectors.

use crate::matmul::operand::{Operand, Summed};
use crate::simd::lines::widen;
use crate::simd::stored::{StoredFloat, VectorOf};
use crate::simd::{Bits, Simd, Vector};

/// A line in `step` parts of `part` elements: position `i` is in part `i % step`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Split {
    pub step: usize,
    pub part: usize,
}

impl Split {
    /// A line of `len` positions. A larger step than that is the same as one part a position.
    pub fn new(len: usize, step: usize) -> Self {
        let step = step.clamp(1, len.max(1));
        Split { step, part: len.div_ceil(step) }
    }

    /// Elements of all parts.
    pub fn len(&self) -> usize {
        self.step * self.part
    }

    /// Where a position is.
    #[inline(always)]
    pub fn at(&self, position: usize) -> usize {
        position % self.step * self.part + position / self.step
    }

    /// Copies `n` elements to the positions from `first` on.
    ///
    /// # Safety
    /// `from` is valid for `n` elements, `to` for the line, which has those positions.
    #[inline(always)]
    pub unsafe fn fill<S: Simd, E: Summed>(&self, from: *const E, to: *mut E::Compute, first: usize, n: usize) {
        // SAFETY: `from` has `n` elements; positions `first..first + n` are the line's, each at its place in `to`.
        unsafe {
            match self.step {
                1 => return widen::<S, E>(from, to.add(first), n),
                2 => return halve::<S, E>(from, n, [to.add(self.at(first)), to.add(self.at(first + 1))]),
                _ => {}
            }
            for part in 0..self.step {
                let skipped = (part + self.step - first % self.step) % self.step;
                let count = n.saturating_sub(skipped).div_ceil(self.step);
                let from = from.wrapping_add(skipped);
                let to = std::slice::from_raw_parts_mut(to.wrapping_add(self.at(first + skipped)), count);
                to.iter_mut().enumerate().for_each(|(i, to)| *to = Operand::widen(*from.add(self.step * i)));
            }
        }
    }

    /// Copies the first `n` positions to `to`, in order.
    ///
    /// # Safety
    /// `from` is valid for the line, which has `n` positions, and `to` for `n` elements.
    #[inline(always)]
    pub unsafe fn join<F: Copy>(&self, from: *const F, to: *mut F, n: usize) {
        // SAFETY: the line has `n` positions, the odd ones from `part` on; the pairs and the last one are the `n` elements of `to`.
        unsafe {
            if self.step == 2 {
                let (to, odd) = (std::slice::from_raw_parts_mut(to.cast::<[F; 2]>(), n / 2), from.add(self.part));
                to.iter_mut().enumerate().for_each(|(i, to)| *to = [*from.add(i), *odd.add(i)]);
                if n % 2 == 1 {
                    let last: *mut F = to.as_mut_ptr_range().end.cast();
                    *last = *from.add(n / 2);
                }
                return;
            }
            for part in 0..self.step {
                for i in 0..n.saturating_sub(part).div_ceil(self.step) {
                    *to.add(i * self.step + part) = *from.add(part * self.part + i);
                }
            }
        }
    }
}

/// Copies `n` elements, the even ones to one place and the odd ones to the other.
///
/// # Safety
/// `from` is valid for `n` elements, the places for half of them, the first for one more if there is one.
#[inline(always)]
unsafe fn halve<S: Simd, E: StoredFloat>(from: *const E, n: usize, [even, odd]: [*mut E::Compute; 2]) {
    let lanes = VectorOf::<E, S>::LANES;
    let number = VectorOf::<E, S>::numbers();
    let (evens, odds) = (number + number, number + number + Bits::splat(1));
    let whole = n / (2 * lanes) * (2 * lanes);
    // SAFETY: vectors begin below `whole <= n`, and half of what is read goes to each place; the rest is copied one by one.
    unsafe {
        for i in (0..whole).step_by(2 * lanes) {
            let (low, high) = (E::load::<S>(from.add(i)), E::load::<S>(from.add(i + lanes)));
            low.lookup(high, evens).store(even.add(i / 2));
            low.lookup(high, odds).store(odd.add(i / 2));
        }
        let (from, rest) = (from.add(whole), n - whole);
        let low = E::load_partial::<S>(from, rest.min(lanes));
        let high = match rest.saturating_sub(lanes) {
            0 => low,
            more => E::load_partial::<S>(from.add(lanes), more),
        };
        low.lookup(high, evens).store_partial(even.add(whole / 2), rest.div_ceil(2));
        low.lookup(high, odds).store_partial(odd.add(whole / 2), rest / 2);
    }
}
