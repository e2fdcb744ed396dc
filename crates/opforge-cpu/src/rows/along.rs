//! One row at a time: lanes are places of it.

use std::marker::PhantomData;

use opforge_core::WithDType;
use opforge_runtime::checkpoint;
use opforge_tile::{Float, Fold, Row, RowFn};

use super::{BLOCK, Inputs, Outputs, Rows};
use crate::loops::plan::Walk;
use crate::loops::tasks::Job;
use crate::simd::stored::{StoredFloat, VectorOf, load_strided, store_strided};
use crate::simd::{FloatElem, Routine, Simd, Vector};

pub(super) struct Along<E, F, const K: usize>(pub Rows<E, F, K>);

impl<E: StoredFloat, F: RowFn<K>, const K: usize> Routine for Along<E, F, K> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let Rows { f, space, .. } = &self.0;
        let mut walk = Walk::new(&space.outer, job.tasks.start);
        for _ in job.tasks.clone() {
            let at = walk.offset();
            let mut row = OneRow::<E, S, K> {
                inputs: self.0.inputs(&job, at),
                outputs: Outputs { job: &job, at, step: space.along.stride },
                len: space.along.len,
                kept: job.memory.cast(),
                has_kept: false,
                isa: PhantomData,
            };
            f.row(&mut row);
            walk.step();
        }
    }
}

/// One row. Its addresses are those of the job, which are valid for the loops that it was planned with; the working memory holds a row of whole
/// vectors if the function keeps anything.
struct OneRow<'a, E: StoredFloat, S: Simd, const K: usize> {
    inputs: Inputs<E, K>,
    outputs: Outputs<'a, K>,
    len: usize,
    kept: *mut E::Compute,
    has_kept: bool,
    isa: PhantomData<S>,
}

impl<E: StoredFloat, S: Simd, const K: usize> Clone for OneRow<'_, E, S, K> {
    fn clone(&self) -> Self {
        *self
    }
}
/// Passes work on copies, of which the compiler sees that no store changes them.
impl<E: StoredFloat, S: Simd, const K: usize> Copy for OneRow<'_, E, S, K> {}

impl<E: StoredFloat, S: Simd, const K: usize> OneRow<'_, E, S, K> {
    /// The elements of up to a vector of places from `i` on, and what was kept there; lanes past the row's end are of no meaning.
    ///
    /// # Safety
    /// There are `n` places from `i` on.
    #[inline(always)]
    unsafe fn at(&self, i: usize, n: usize) -> ([VectorOf<E, S>; K], VectorOf<E, S>) {
        let mut elements = [VectorOf::<E, S>::splat(0.0); K];
        for (k, element) in elements.iter_mut().enumerate() {
            let step = self.inputs.step[k];
            // SAFETY: the places are the row's.
            *element = unsafe { load_strided::<S, E>(self.inputs.from[k].add(i * step), n, step) };
        }
        // SAFETY: whole vectors are kept, and those before this pass have kept all of them.
        let kept = if self.has_kept { unsafe { Vector::load(self.kept.add(i)) } } else { Float::splat(0.0) };
        (elements, kept)
    }

    /// Folds what `term` gives for every vector of places.
    #[inline(always)]
    fn pass(&self, by: Fold, term: impl Fn(usize, usize) -> VectorOf<E, S>) -> VectorOf<E, S> {
        let (lanes, len) = (VectorOf::<E, S>::LANES, self.len);
        let identity = VectorOf::<E, S>::splat(by.identity());
        let mut total = by.identity();
        for block in (0..len).step_by(BLOCK * lanes) {
            checkpoint();
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
            total = match by {
                Fold::Sum => total + part.reduce_sum().to_f64(),
                Fold::Max => FloatElem::maximum(total, part.reduce_max().to_f64()),
            };
        }
        Float::splat(total)
    }
}

impl<E: StoredFloat, S: Simd, const K: usize> Row<K> for OneRow<'_, E, S, K> {
    type Element = VectorOf<E, S>;

    #[inline(always)]
    fn fold(&mut self, by: Fold, term: impl Fn([Self::Element; K], Self::Element) -> Self::Element) -> Self::Element {
        let row = *self;
        self.pass(
            by,
            #[inline(always)]
            |i, n| {
                // SAFETY: passes go over the row's places.
                let (elements, kept) = unsafe { row.at(i, n) };
                term(elements, kept)
            },
        )
    }

    #[inline(always)]
    fn fold_keeping(
        &mut self,
        by: Fold,
        place: impl Fn([Self::Element; K], Self::Element) -> [Self::Element; 2],
    ) -> Self::Element {
        let row = *self;
        let found = self.pass(
            by,
            #[inline(always)]
            |i, n| {
                // SAFETY: passes go over the row's places; there is room for whole vectors.
                unsafe {
                    let (elements, kept) = row.at(i, n);
                    let [term, kept] = place(elements, kept);
                    kept.store(row.kept.add(i));
                    term
                }
            },
        );
        self.has_kept = true;
        found
    }

    #[inline(always)]
    fn write(&mut self, output: usize, element: impl Fn([Self::Element; K], Self::Element) -> Self::Element) {
        let (row, lanes, (to, step)) = (*self, VectorOf::<E, S>::LANES, self.outputs.of::<E>(output));
        for block in (0..self.len).step_by(BLOCK * lanes) {
            checkpoint();
            for i in (block..self.len.min(block + BLOCK * lanes)).step_by(lanes) {
                let n = lanes.min(self.len - i);
                // SAFETY: passes go over the row's places.
                unsafe {
                    let (elements, kept) = row.at(i, n);
                    store_strided::<S, E>(element(elements, kept), n, to.add(i * step), step);
                }
            }
        }
    }
}
