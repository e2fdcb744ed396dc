//! Reductions of floats.

use super::{Fold, STREAMS};
use crate::reduce::Reducer;
use crate::simd::stored::{StoredFloat, VectorOf, store_strided};
use crate::simd::{Float, Isa, Simd, Vector};
use std::marker::PhantomData;

/// A reduction of floats, or of the differences of two tensors' floats.
pub(in crate::reduce) struct FloatFold<R, E, const DIFFERENCES: bool = false> {
    reducer: R,
    /// How many bytes behind an element that lies which is taken away from it.
    apart: isize,
    element: PhantomData<E>,
}

impl<R: Copy, E, const DIFFERENCES: bool> Clone for FloatFold<R, E, DIFFERENCES> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Copy, E, const DIFFERENCES: bool> Copy for FloatFold<R, E, DIFFERENCES> {}

impl<R, E, const DIFFERENCES: bool> FloatFold<R, E, DIFFERENCES> {
    pub fn new(reducer: R) -> Self {
        FloatFold { reducer, apart: 0, element: PhantomData }
    }

    /// Where what is taken away from an element lies.
    #[inline(always)]
    fn other(self, ptr: *const E) -> *const E {
        std::ptr::with_exposed_provenance(ptr.addr().wrapping_add_signed(self.apart))
    }
}

impl<R: Reducer, E: StoredFloat, const DIFFERENCES: bool> Fold for FloatFold<R, E, DIFFERENCES> {
    type In = E;
    type Acc = E::Compute;
    type Vector<S: Simd> = VectorOf<E, S>;
    const AVX512: bool = true;

    #[inline(always)]
    fn lanes<S: Simd>() -> usize {
        VectorOf::<E, S>::LANES
    }
    #[inline(always)]
    fn identity<S: Simd>(self) -> VectorOf<E, S> {
        Float::splat(self.reducer.identity())
    }
    #[inline(always)]
    unsafe fn load<S: Simd>(self, ptr: *const E) -> VectorOf<E, S> {
        // SAFETY: a whole vector of elements is readable at `ptr`, and where the second tensor's lie.
        unsafe {
            let x = E::load::<S>(ptr);
            self.reducer.map(if DIFFERENCES { x - E::load::<S>(self.other(ptr)) } else { x })
        }
    }
    #[inline(always)]
    unsafe fn load_partial<S: Simd>(self, ptr: *const E, n: usize) -> VectorOf<E, S> {
        // SAFETY: `ptr` has `n` elements, no more than the vector has lanes, and so has the second tensor.
        let x = unsafe {
            let x = E::load_partial::<S>(ptr, n);
            if DIFFERENCES { x - E::load_partial::<S>(self.other(ptr), n) } else { x }
        };
        Float::select(VectorOf::<E, S>::first(n), self.reducer.map(x), self.identity::<S>())
    }
    #[inline(always)]
    fn combine<S: Simd>(self, a: VectorOf<E, S>, b: VectorOf<E, S>) -> VectorOf<E, S> {
        self.reducer.combine(a, b)
    }
    #[inline(always)]
    fn beside(self, apart: isize) -> Self {
        FloatFold { apart, ..self }
    }
    /// Where there are registers enough for all.
    #[inline(always)]
    fn streams<S: Simd>() -> usize {
        if S::ISA == Isa::Avx512 && size_of::<E>() >= size_of::<f32>() { STREAMS } else { 1 }
    }
    /// The bits are those of one block after the other.
    #[inline(always)]
    unsafe fn fold_blocks<S: Simd>(self, blocks: [*const E; STREAMS], n: usize) -> [VectorOf<E, S>; STREAMS] {
        const CHAINS: usize = 4;
        let lanes = VectorOf::<E, S>::LANES;
        let mut results = [self.identity::<S>(); STREAMS];
        // SAFETY: every read ends at or before element `n` of a block.
        unsafe {
            let mut sums = [[self.identity::<S>(); CHAINS]; STREAMS];
            for (sums, block) in sums.iter_mut().zip(blocks) {
                for (c, sum) in sums.iter_mut().enumerate() {
                    *sum = self.load::<S>(block.add(c * lanes));
                }
            }
            for i in (CHAINS * lanes..n).step_by(CHAINS * lanes) {
                for (sums, block) in sums.iter_mut().zip(blocks) {
                    for (c, sum) in sums.iter_mut().enumerate() {
                        *sum = self.combine::<S>(*sum, self.load::<S>(block.add(i + c * lanes)));
                    }
                }
            }
            for (result, [a, b, c, d]) in results.iter_mut().zip(sums) {
                *result = self.combine::<S>(self.combine::<S>(a, b), self.combine::<S>(c, d));
            }
        }
        results
    }
    #[inline(always)]
    fn fold_lanes<S: Simd>(self, v: VectorOf<E, S>) -> VectorOf<E, S> {
        Vector::splat_elem(v.fold(
            #[inline(always)]
            |a, b| self.reducer.combine(a, b),
        ))
    }
    #[inline(always)]
    unsafe fn fold_rows<S: Simd>(self, rows: *const E, step: usize, len: usize) -> Option<VectorOf<E, S>> {
        if S::ISA == Isa::Portable {
            return None;
        }
        let mut folded = [self.identity::<S>(); 16];
        for (i, folded) in folded[..VectorOf::<E, S>::LANES].iter_mut().enumerate() {
            // SAFETY: there is a row for each lane.
            *folded = unsafe { self.fold_block::<S>(rows.add(i * step), len) };
        }
        Some(Vector::fold_each(
            folded,
            #[inline(always)]
            |a, b| self.reducer.combine(a, b),
        ))
    }
    #[inline(always)]
    unsafe fn read<S: Simd>(self, ptr: *const E::Compute) -> VectorOf<E, S> {
        // SAFETY: as many accumulators as lanes are readable at `ptr`.
        unsafe { Vector::load(ptr) }
    }
    #[inline(always)]
    unsafe fn write<S: Simd>(self, v: VectorOf<E, S>, ptr: *mut E::Compute) {
        // SAFETY: as many accumulators as lanes are writable at `ptr`.
        unsafe { v.store(ptr) }
    }
    #[inline(always)]
    unsafe fn finish<S: Simd>(self, v: VectorOf<E, S>, n: usize, count: usize, out: *mut u8, out_stride: usize) {
        // SAFETY: `out` has room for `n` outputs of type `E` at this stride, and `n` is at most the lanes.
        unsafe {
            let results = self.reducer.finish(v, count as f64);
            store_strided::<S, E>(results, n, out.cast(), out_stride);
        }
    }
    #[inline(always)]
    fn out_size(self) -> usize {
        size_of::<E>()
    }
}
