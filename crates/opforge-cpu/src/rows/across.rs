//! Rows that lie side by side, as columns of a matrix do: lanes are rows.

use std::marker::PhantomData;

use opforge_tile::{Float, Fold, RowFn};

use super::passes::{Lines, carry_out};
use super::{BLOCK, COLUMNS, Places, Rows};
use crate::loops::plan::Walk;
use crate::loops::tasks::Job;
use crate::loops::work::look_again;
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
        let (rows, len) = (&self.rows, self.rows.space.along.len);
        let (lanes, tiles) = (VectorOf::<E, S>::LANES, self.columns.div_ceil(COLUMNS));
        for task in job.tasks.clone() {
            let at = Walk::new(&rows.space.outer, task / tiles).offset();
            let first = task % tiles * COLUMNS;
            for column in (first..self.columns.min(first + COLUMNS)).step_by(lanes) {
                let (places, kept) = (rows.places(&job, at.map(|at| at + column)), job.memory.cast());
                let count = lanes.min(self.columns - column);
                // SAFETY: the job's addresses are valid for the loops that it was planned with, its memory for a vector at each place.
                unsafe { carry_out(rows.f, ManyRows::<E, S, K> { places, len, count, kept, isa: PhantomData }) };
            }
        }
    }
}

/// As many rows as a vector has lanes, or fewer.
pub(super) struct ManyRows<'a, E: StoredFloat, S: Simd, const K: usize> {
    pub places: Places<'a, E, K>,
    pub len: usize,
    /// Rows: lanes from there on are of no meaning.
    pub count: usize,
    /// A vector for each place.
    pub kept: *mut E::Compute,
    pub isa: PhantomData<S>,
}

impl<E: StoredFloat, S: Simd, const K: usize> Clone for ManyRows<'_, E, S, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: StoredFloat, S: Simd, const K: usize> Copy for ManyRows<'_, E, S, K> {}

/// A rounded sum, and what it has lost (Knuth).
#[inline(always)]
pub(crate) fn exact_sum<V: Float>(a: V, b: V) -> (V, V) {
    let sum = a + b;
    let added = sum - a;
    (sum, (a - (sum - added)) + (b - added))
}

// SAFETY: passes end at `len`.
unsafe impl<E: StoredFloat, S: Simd, const K: usize> Lines<K> for ManyRows<'_, E, S, K> {
    type Vector = VectorOf<E, S>;

    #[inline(always)]
    unsafe fn read(&self, i: usize, n: usize) -> [Self::Vector; K] {
        let mut elements = [VectorOf::<E, S>::splat(0.0); K];
        for (k, element) in elements.iter_mut().enumerate() {
            let from = self.places.input(k, i);
            // SAFETY: the places are the rows', which lie next to each other.
            *element = unsafe {
                if n == VectorOf::<E, S>::LANES { E::load::<S>(from) } else { E::load_partial::<S>(from, n) }
            };
        }
        elements
    }

    #[inline(always)]
    unsafe fn kept(&self, i: usize) -> Self::Vector {
        // SAFETY: the memory holds a vector for each place, of which `i` is one.
        unsafe { Vector::load(self.kept.add(i * VectorOf::<E, S>::LANES)) }
    }

    #[inline(always)]
    unsafe fn keep(&self, i: usize, kept: Self::Vector) {
        // SAFETY: place `i`, which a pass has given, has a vector of the memory of its own.
        unsafe { kept.store(self.kept.add(i * VectorOf::<E, S>::LANES)) }
    }

    /// What sums of blocks lose when they are added up is added at the end.
    #[inline(always)]
    fn fold(&self, by: Fold, term: impl Fn(usize, usize) -> Self::Vector) -> Self::Vector {
        let identity = VectorOf::<E, S>::splat(by.identity());
        let (mut total, mut lost) = (identity, VectorOf::<E, S>::splat(0.0));
        for block in (0..self.len).step_by(BLOCK) {
            look_again(block);
            let mut part = identity;
            for i in block..self.len.min(block + BLOCK) {
                part = by.combine(part, term(i, self.count));
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

    #[inline(always)]
    fn write(&self, output: usize, element: impl Fn(usize, usize) -> Self::Vector) {
        let (to, step) = self.places.output(output);
        for block in (0..self.len).step_by(BLOCK) {
            look_again(block);
            for i in block..self.len.min(block + BLOCK) {
                // SAFETY: the places are the rows'.
                unsafe { E::store_partial::<S>(element(i, self.count), to.add(i * step), self.count) };
            }
        }
    }
}
