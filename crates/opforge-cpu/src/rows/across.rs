//! Rows that lie side by side, as columns of a matrix do: lanes are rows.

use std::marker::PhantomData;

use opforge_runtime::checkpoint;
use opforge_tile::{Float, Fold, Row, RowFn};

use super::{BLOCK, COLUMNS, Inputs, Outputs, Rows};
use crate::loops::plan::Walk;
use crate::loops::tasks::Job;
use crate::simd::stored::{StoredFloat, VectorOf};
use crate::simd::{Routine, Simd, Vector};

pub(super) struct Across<E, F, const K: usize> {
    pub rows: Rows<E, F, K>,
    /// Rows that lie side by side.
    pub columns: usize,
}

impl<E: StoredFloat, F: RowFn<K>, const K: usize> Routine for Across<E, F, K> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let Rows { f, space, .. } = &self.rows;
        let (lanes, tiles) = (VectorOf::<E, S>::LANES, self.columns.div_ceil(COLUMNS));
        for task in job.tasks.clone() {
            let at = Walk::new(&space.outer, task / tiles).offset();
            let first = task % tiles * COLUMNS;
            for column in (first..self.columns.min(first + COLUMNS)).step_by(lanes) {
                let at = at.map(|at| at + column);
                let count = lanes.min(self.columns - column);
                let mut rows = ManyRows::<E, S, K> {
                    inputs: self.rows.inputs(&job, at),
                    outputs: Outputs { job: &job, at, step: space.along.stride },
                    len: space.along.len,
                    count,
                    kept: job.memory.cast(),
                    has_kept: false,
                    isa: PhantomData,
                };
                f.row(&mut rows);
            }
        }
    }
}

/// As many rows as a vector has lanes, or fewer. Addresses are as those of a single row; a vector is kept for each place.
struct ManyRows<'a, E: StoredFloat, S: Simd, const K: usize> {
    inputs: Inputs<E, K>,
    outputs: Outputs<'a, K>,
    len: usize,
    /// Rows: lanes from there on are of no meaning.
    count: usize,
    kept: *mut E::Compute,
    has_kept: bool,
    isa: PhantomData<S>,
}

impl<E: StoredFloat, S: Simd, const K: usize> Clone for ManyRows<'_, E, S, K> {
    fn clone(&self) -> Self {
        *self
    }
}
/// Passes work on copies, of which the compiler sees that no store changes them.
impl<E: StoredFloat, S: Simd, const K: usize> Copy for ManyRows<'_, E, S, K> {}

impl<E: StoredFloat, S: Simd, const K: usize> ManyRows<'_, E, S, K> {
    /// The elements of place `i` of every row, and what was kept there.
    ///
    /// # Safety
    /// There is a place `i`.
    #[inline(always)]
    unsafe fn at(&self, i: usize) -> ([VectorOf<E, S>; K], VectorOf<E, S>) {
        let mut elements = [VectorOf::<E, S>::splat(0.0); K];
        for (k, element) in elements.iter_mut().enumerate() {
            // SAFETY: the places are the rows', which lie next to each other.
            unsafe {
                let from = self.inputs.from[k].add(i * self.inputs.step[k]);
                *element = if self.count == VectorOf::<E, S>::LANES {
                    E::load::<S>(from)
                } else {
                    E::load_partial::<S>(from, self.count)
                };
            }
        }
        // SAFETY: a vector is kept for each place, and passes before this one have kept all of them.
        let kept = if self.has_kept { unsafe { Vector::load(self.kept_at(i)) } } else { Float::splat(0.0) };
        (elements, kept)
    }

    #[inline(always)]
    fn kept_at(&self, i: usize) -> *mut E::Compute {
        self.kept.wrapping_add(i * VectorOf::<E, S>::LANES)
    }

    /// Folds what `term` gives for every place. What sums of blocks lose when they are added up is added at the end.
    #[inline(always)]
    fn pass(&self, by: Fold, term: impl Fn(usize) -> VectorOf<E, S>) -> VectorOf<E, S> {
        let identity = VectorOf::<E, S>::splat(by.identity());
        let (mut total, mut lost) = (identity, VectorOf::<E, S>::splat(0.0));
        for block in (0..self.len).step_by(BLOCK) {
            checkpoint();
            let mut part = identity;
            for i in block..self.len.min(block + BLOCK) {
                part = by.combine(part, term(i));
            }
            match by {
                Fold::Max => total = total.max(part),
                Fold::Sum => {
                    let error;
                    (total, error) = exact_sum(total, part);
                    lost = lost + error;
                }
            }
        }
        // Where a sum is not finite, neither is what it lost.
        Float::select(lost.eq(lost), total + lost, total)
    }
}

/// A rounded sum, and what it has lost (Knuth).
#[inline(always)]
fn exact_sum<V: Float>(a: V, b: V) -> (V, V) {
    let sum = a + b;
    let added = sum - a;
    (sum, (a - (sum - added)) + (b - added))
}

impl<E: StoredFloat, S: Simd, const K: usize> Row<K> for ManyRows<'_, E, S, K> {
    type Element = VectorOf<E, S>;

    #[inline(always)]
    fn fold(&mut self, by: Fold, term: impl Fn([Self::Element; K], Self::Element) -> Self::Element) -> Self::Element {
        let rows = *self;
        self.pass(
            by,
            #[inline(always)]
            |i| {
                // SAFETY: passes go over the rows' places.
                let (elements, kept) = unsafe { rows.at(i) };
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
        let rows = *self;
        let found = self.pass(
            by,
            #[inline(always)]
            |i| {
                // SAFETY: passes go over the rows' places, and there is room for a vector of each.
                unsafe {
                    let (elements, kept) = rows.at(i);
                    let [term, kept] = place(elements, kept);
                    kept.store(rows.kept_at(i));
                    term
                }
            },
        );
        self.has_kept = true;
        found
    }

    #[inline(always)]
    fn write(&mut self, output: usize, element: impl Fn([Self::Element; K], Self::Element) -> Self::Element) {
        let (rows, (to, step)) = (*self, self.outputs.of::<E>(output));
        for block in (0..rows.len).step_by(BLOCK) {
            checkpoint();
            for i in block..rows.len.min(block + BLOCK) {
                // SAFETY: passes go over the rows' places.
                unsafe {
                    let (elements, kept) = rows.at(i);
                    E::store_partial::<S>(element(elements, kept), to.add(i * step), rows.count);
                }
            }
        }
    }
}
