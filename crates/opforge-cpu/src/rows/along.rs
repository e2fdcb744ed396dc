//! One row at a time: lanes are places of it.

use std::marker::PhantomData;

use opforge_core::WithDType;
use opforge_tile::{Float, Fold, RowFn};

use super::passes::{Lines, carry_out};
use super::{BLOCK, Places, Rows};
use crate::loops::plan::Walk;
use crate::loops::tasks::Job;
use crate::loops::work::look_again;
use crate::simd::stored::{StoredFloat, VectorOf, each_vector, load_strided, store_strided};
use crate::simd::{FloatElem, Routine, Simd, Vector};

/// With `FLAT`, places of a row lie side by side in all tensors.
pub(super) struct Along<E, F, const K: usize, const FLAT: bool>(pub Rows<E, F, K>);

impl<E: StoredFloat, F: RowFn<K>, const K: usize, const FLAT: bool> Routine for Along<E, F, K, FLAT> {
    type Args = Job;
    type Output = ();
    const AVX512: bool = FLAT;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let (rows, len) = (&self.0, self.0.space.along.len);
        let mut walk = Walk::new(&rows.space.outer, job.tasks.start);
        for _ in job.tasks.clone() {
            let (places, kept) = (rows.places(&job, walk.offset()), job.memory.cast());
            // SAFETY: the job's addresses are valid for the loops that it was planned with, its memory for a row of whole vectors.
            unsafe { carry_out(rows.f, OneRow::<E, S, K, FLAT> { places, len, kept, isa: PhantomData }) };
            walk.step();
        }
    }
}

/// One row. Lanes past its end are of no meaning.
struct OneRow<'a, E: StoredFloat, S: Simd, const K: usize, const FLAT: bool> {
    places: Places<'a, E, K>,
    len: usize,
    /// A number for each place, in whole vectors.
    kept: *mut E::Compute,
    isa: PhantomData<S>,
}

impl<E: StoredFloat, S: Simd, const K: usize, const FLAT: bool> Clone for OneRow<'_, E, S, K, FLAT> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: StoredFloat, S: Simd, const K: usize, const FLAT: bool> Copy for OneRow<'_, E, S, K, FLAT> {}

// SAFETY: passes end at `len`.
unsafe impl<E: StoredFloat, S: Simd, const K: usize, const FLAT: bool> Lines<K> for OneRow<'_, E, S, K, FLAT> {
    type Vector = VectorOf<E, S>;

    #[inline(always)]
    unsafe fn read(&self, i: usize, n: usize) -> [Self::Vector; K] {
        let mut elements = [VectorOf::<E, S>::splat(0.0); K];
        for (k, element) in elements.iter_mut().enumerate() {
            let step = if FLAT { 1 } else { self.places.step[k] };
            // SAFETY: the places are the row's.
            *element = unsafe { load_strided::<S, E>(self.places.input(k, i), n, step) };
        }
        elements
    }

    #[inline(always)]
    unsafe fn kept(&self, i: usize) -> Self::Vector {
        // SAFETY: `i` begins a vector of places, and the memory holds whole vectors of them.
        unsafe { Vector::load(self.kept.add(i)) }
    }

    #[inline(always)]
    unsafe fn keep(&self, i: usize, kept: Self::Vector) {
        // SAFETY: the memory has room for a vector from any place that a pass gives.
        unsafe { kept.store(self.kept.add(i)) }
    }

    #[inline(always)]
    fn fold(&self, by: Fold, term: impl Fn(usize, usize) -> Self::Vector) -> Self::Vector {
        let (lanes, len) = (VectorOf::<E, S>::LANES, self.len);
        let identity = VectorOf::<E, S>::splat(by.identity());
        let mut total = by.identity();
        for block in (0..len).step_by(BLOCK * lanes) {
            look_again(block);
            let (mut part, mut other, mut i) = (identity, identity, block);
            let end = len.min(block + BLOCK * lanes);
            // Two, so that one addition does not wait for the other.
            while i + 2 * lanes <= end {
                part = by.combine(part, term(i, lanes));
                other = by.combine(other, term(i + lanes, lanes));
                i += 2 * lanes;
            }
            if i + lanes <= end {
                part = by.combine(part, term(i, lanes));
                i += lanes;
            }
            part = by.combine(part, other);
            if i < end {
                part = by.combine(part, Float::select(VectorOf::<E, S>::first(end - i), term(i, end - i), identity));
            }
            if len <= BLOCK * lanes {
                // Found in every lane: to take it out of one and put it everywhere would take longer than to find it.
                return part.fold_in_each(
                    #[inline(always)]
                    |a, b| by.combine(a, b),
                );
            }
            total = match by {
                Fold::Sum => total + part.reduce_sum().to_f64(),
                Fold::Max => FloatElem::maximum(total, part.reduce_max().to_f64()),
            };
        }
        Float::splat(total)
    }

    #[inline(always)]
    fn write(&self, output: usize, element: impl Fn(usize, usize) -> Self::Vector) {
        let (lanes, (to, step)) = (VectorOf::<E, S>::LANES, self.places.output(output));
        for block in (0..self.len).step_by(BLOCK * lanes) {
            look_again(block);
            let step = if FLAT { 1 } else { step };
            each_vector(
                self.len.min(block + BLOCK * lanes) - block,
                lanes,
                #[inline(always)]
                |i, n| {
                    let i = block + i;
                    // SAFETY: the places are the row's.
                    unsafe { store_strided::<S, E>(element(i, n), n, to.add(i * step), step) };
                },
            );
        }
    }
}
