//! Lines of input de-interleaved by the stride of a window: part `r` holds the positions `r`, `r + stride`, `r + 2 stride`, ..
//!
//! Neighbouring windows with a stride read every `stride`-th element. In a de-interleaved line these lie next to each other, so that convolutions and
//! pooling load whole vectors.

use crate::matmul::operand::{Accumulator, Operand};
use crate::simd::stored::{StoredFloat, VectorOf, load_strided};
use crate::simd::{Bits, Float, Simd, Vector};
use opforge_core::WithDType;

/// A stored float whose sums are in the type that it is computed in.
pub(crate) trait Summed:
    StoredFloat<Compute: Accumulator + Operand<Acc = <Self as StoredFloat>::Compute>>
    + Operand<Acc = <Self as StoredFloat>::Compute>
{
}
impl<E> Summed for E where
    E: StoredFloat<Compute: Accumulator + Operand<Acc = <E as StoredFloat>::Compute>>
        + Operand<Acc = <E as StoredFloat>::Compute>
{
}

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

/// Copies `n` elements into the type of the arithmetic.
///
/// # Safety
/// Both sides are valid for `n` elements.
#[inline(always)]
pub(crate) unsafe fn widen<S: Simd, E: StoredFloat>(from: *const E, to: *mut E::Compute, n: usize) {
    let lanes = VectorOf::<E, S>::LANES;
    let whole = n / lanes * lanes;
    // SAFETY: vectors begin below `whole`, which is at most `n`; the rest is `n - whole` elements, fewer than a vector's.
    unsafe {
        for i in (0..whole).step_by(lanes) {
            E::load::<S>(from.add(i)).store(to.add(i));
        }
        if whole < n {
            E::load_partial::<S>(from.add(whole), n - whole).store_partial(to.add(whole), n - whole);
        }
    }
}

/// Adds `n` elements to sums.
///
/// # Safety
/// Both sides are valid for `n` elements.
#[inline(always)]
pub(crate) unsafe fn add_line<S: Simd, E: StoredFloat>(from: *const E, sums: *mut E::Compute, n: usize) {
    let lanes = VectorOf::<E, S>::LANES;
    let whole = n / lanes * lanes;
    // SAFETY: whole vectors end at `whole <= n`; the partial one is what both sides have left of `n`.
    unsafe {
        for i in (0..whole).step_by(lanes) {
            (VectorOf::<E, S>::load(sums.add(i)) + E::load::<S>(from.add(i))).store(sums.add(i));
        }
        if whole < n {
            let (sums, rest) = (sums.add(whole), n - whole);
            let sum = VectorOf::<E, S>::load_partial(sums, rest) + E::load_partial::<S>(from.add(whole), rest);
            sum.store_partial(sums, rest);
        }
    }
}

/// The sum of `n` elements, in blocks whose sums are added up in f64: errors do not grow with their number.
///
/// # Safety
/// `from` is valid for `n` elements.
#[inline(always)]
pub(crate) unsafe fn sum_line<S: Simd, E: StoredFloat>(from: *const E, n: usize) -> E::Compute {
    const BLOCK: usize = 1024;
    let lanes = VectorOf::<E, S>::LANES;
    let mut total = 0.0;
    for block in (0..n).step_by(BLOCK) {
        let end = n.min(block + BLOCK);
        let mut sum = VectorOf::<E, S>::splat(0.0);
        for i in (block..end).step_by(lanes) {
            // SAFETY: the line has elements up to `end`.
            sum = sum + unsafe { load_strided::<S, E>(from.add(i), lanes.min(end - i), 1) };
        }
        total += sum.reduce_sum().to_f64();
    }
    E::Compute::from_f64(total)
}

/// Rounds `n` sums to elements.
///
/// # Safety
/// Both sides are valid for `n` elements.
#[inline(always)]
pub(crate) unsafe fn narrow<S: Simd, E: StoredFloat>(sums: *const E::Compute, to: *mut E, n: usize) {
    let lanes = VectorOf::<E, S>::LANES;
    let whole = n / lanes * lanes;
    // SAFETY: whole vectors of sums and elements end at `whole <= n`; partial ones touch `n - whole` of both.
    unsafe {
        for i in (0..whole).step_by(lanes) {
            E::store::<S>(VectorOf::<E, S>::load(sums.add(i)), to.add(i));
        }
        if whole < n {
            E::store_partial::<S>(VectorOf::<E, S>::load_partial(sums.add(whole), n - whole), to.add(whole), n - whole);
        }
    }
}
