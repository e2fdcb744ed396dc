//! Short rows that lie one after another: turned into columns in working memory, and back.

use std::marker::PhantomData;

use opforge_tile::{Float, RowFn};

use super::across::ManyRows;
use super::passes::carry_out;
use super::{COLUMNS, Places, Rows, TENSORS};
use crate::loops::plan::{LoopDim, Walk};
use crate::loops::tasks::Job;
use crate::simd::stored::{StoredFloat, VectorOf, load_strided, store_strided};
use crate::simd::{Routine, Simd, Vector};

pub(super) struct Turned<E, F, const K: usize> {
    pub rows: Rows<E, F, K>,
    /// The innermost loop over rows.
    pub next: LoopDim<TENSORS>,
}

impl<E: StoredFloat, F: RowFn<K>, const K: usize> Routine for Turned<E, F, K> {
    type Args = Job;
    type Output = ();
    // To turn sixteen rows takes longer than to compute them eight at a time.
    const AVX512: bool = false;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let (rows, next, lanes) = (&self.rows, &self.next, VectorOf::<E, S>::LANES);
        let (tensors, len, tiles) = (K + rows.outputs, rows.space.along.len, next.len.div_ceil(COLUMNS));
        let memory = |k: usize| job.memory.cast::<E::Compute>().wrapping_add(k * len * lanes);
        let mut columns = job.clone();
        for k in 0..K {
            columns.inputs[k] = memory(k).cast_const().cast();
        }
        for k in K..tensors {
            columns.outputs[k - K] = memory(k).cast();
        }
        let (at, step) = ([0; TENSORS], &[lanes; TENSORS]);
        for task in job.tasks.clone() {
            let from = Walk::new(&rows.space.outer, task / tiles).offset();
            let first = task % tiles * COLUMNS;
            for row in (first..next.len.min(first + COLUMNS)).step_by(lanes) {
                let count = lanes.min(next.len - row);
                let place = |k: usize| from[k] + row * next.stride[k];
                // SAFETY: the job's addresses are valid for the loops that it was planned with; its memory holds columns of all tensors, and what is kept.
                unsafe {
                    for k in 0..K {
                        let rows = job.inputs[k].cast::<E>().add(place(k));
                        turn_in::<S, E>(rows, next.stride[k], count, memory(k), len);
                    }
                    let places = Places { job: &columns, at, step, outputs: rows.outputs, element: PhantomData };
                    let kept = memory(tensors);
                    let lines = ManyRows::<E::Compute, S, K> { places, len, count: lanes, kept, isa: PhantomData };
                    carry_out(rows.f, lines);
                    for k in K..tensors {
                        let rows = job.outputs[k - K].cast::<E>().add(place(k));
                        turn_out::<S, E>(memory(k), len, rows, next.stride[k], count);
                    }
                }
            }
        }
    }
}

/// Writes rows as columns, of whole vectors: zeros after `count`.
///
/// # Safety
/// `rows` is readable for `count` rows of `len` elements, `step` elements apart, at most as many as there are lanes; `columns` is writable for `len`
/// vectors.
#[inline(always)]
unsafe fn turn_in<S: Simd, E: StoredFloat>(
    rows: *const E,
    step: usize,
    count: usize,
    columns: *mut E::Compute,
    len: usize,
) {
    let lanes = VectorOf::<E, S>::LANES;
    for i in (0..len).step_by(lanes) {
        let n = lanes.min(len - i);
        let mut vectors = [VectorOf::<E, S>::splat(0.0); 16];
        for (row, vector) in vectors[..count].iter_mut().enumerate() {
            // SAFETY: there are `count` rows, and `n` elements left in each.
            *vector = unsafe { load_strided::<S, E>(rows.add(row * step + i), n, 1) };
        }
        let vectors = Vector::transposed(vectors);
        for (j, vector) in vectors[..n].iter().enumerate() {
            // SAFETY: `i + j` is below `len`.
            unsafe { vector.store(columns.add((i + j) * lanes)) };
        }
    }
}

/// Writes columns as rows: the other way.
///
/// # Safety
/// As [`turn_in`], with reads and writes exchanged.
#[inline(always)]
unsafe fn turn_out<S: Simd, E: StoredFloat>(
    columns: *const E::Compute,
    len: usize,
    rows: *mut E,
    step: usize,
    count: usize,
) {
    let lanes = VectorOf::<E, S>::LANES;
    for i in (0..len).step_by(lanes) {
        let n = lanes.min(len - i);
        let mut vectors = [VectorOf::<E, S>::splat(0.0); 16];
        for (j, vector) in vectors[..n].iter_mut().enumerate() {
            // SAFETY: `i + j` is below `len`.
            *vector = unsafe { Vector::load(columns.add((i + j) * lanes)) };
        }
        let vectors = Vector::transposed(vectors);
        for (row, vector) in vectors[..count].iter().enumerate() {
            // SAFETY: there are `count` rows, and `n` elements left in each.
            unsafe { store_strided::<S, E>(*vector, n, rows.add(row * step + i), 1) };
        }
    }
}
