//! Groups of channels with one element each: a vector holds elements of several channels, with their weights beside each other.

use super::sets::{Normalized, Sets, only};
use crate::loops::tasks::Job;
use crate::simd::stored::{StoredFloat, VectorOf, load_strided, store_strided};
use crate::simd::{Float, Simd, Vector};
use opforge_core::WithDType;

/// Whether the sets are such groups.
pub(super) fn has(sets: &Sets) -> bool {
    sets.by_run && sets.len == 1
}

/// A vector of parameters, or what stands for them where there are none.
///
/// # Safety
/// If `given`, at least `n` elements are readable from `at.add(i)` on.
#[inline(always)]
unsafe fn parameters<E: StoredFloat, S: Simd>(
    given: bool,
    at: *const u8,
    i: usize,
    n: usize,
    otherwise: f64,
) -> VectorOf<E, S> {
    // SAFETY: parameters that are given have `n` numbers from `i` on.
    if given { unsafe { load_strided::<S, E>(at.cast::<E>().add(i), n, 1) } } else { Float::splat(otherwise) }
}

/// Writes the result of a group.
///
/// # Safety
/// The tensors of the job are those of batch norm's kernel.
#[inline(always)]
pub(super) unsafe fn write<E: StoredFloat, S: Simd>(
    sets: &Sets,
    job: &Job,
    set: usize,
    given: [bool; 2],
    normal: Normalized<E, S>,
) {
    let (lanes, start, channel) = (VectorOf::<E, S>::LANES, sets.start(set, 0), sets.parameter(set, 0));
    for i in (0..sets.runs).step_by(lanes) {
        let n = lanes.min(sets.runs - i);
        // SAFETY: `n` elements of the group from the `i`-th on, and their parameters.
        unsafe {
            let weight = parameters::<E, S>(given[0], job.inputs[1], channel + i, n, 1.0);
            let bias = parameters::<E, S>(given[1], job.inputs[1 + usize::from(given[0])], channel + i, n, 0.0);
            let y = normal.load(start + i, n).mul_add(weight, bias);
            store_strided::<S, E>(y, n, job.outputs[0].cast::<E>().add(start + i), 1);
        }
    }
}

/// Writes what the gradients of the parameters are summed of, and gives the sums of `g` and `g h`.
///
/// # Safety
/// The tensors of the job are those of the kernel of batch norm's gradient.
#[inline(always)]
pub(super) unsafe fn sums<E: StoredFloat, S: Simd>(
    sets: &Sets,
    job: &Job,
    set: usize,
    given: bool,
    normal: Normalized<E, S>,
) -> [f64; 2] {
    let (lanes, start, channel) = (VectorOf::<E, S>::LANES, sets.start(set, 0), sets.parameter(set, 0));
    let mut totals = [0.0; 2];
    for i in (0..sets.runs).step_by(lanes) {
        let (n, at) = (lanes.min(sets.runs - i), start + i);
        // SAFETY: as in `write`; the sums have a slot for each element.
        unsafe {
            let dy = load_strided::<S, E>(job.inputs[1].cast::<E>().add(at), n, 1);
            let h = normal.load(at, n);
            store_strided::<S, E::Compute>(dy * h, n, job.outputs[1].cast::<E::Compute>().add(at), 1);
            store_strided::<S, E::Compute>(dy, n, job.outputs[2].cast::<E::Compute>().add(at), 1);
            let g = dy * parameters::<E, S>(given, job.inputs[4], channel + i, n, 1.0);
            let products = only(g * h, n);
            totals = [totals[0] + g.reduce_sum().to_f64(), totals[1] + products.reduce_sum().to_f64()];
        }
    }
    totals
}

/// Writes the gradient of a group's elements, of the means of `g` and `g h`.
///
/// # Safety
/// As [`sums`].
#[inline(always)]
pub(super) unsafe fn write_gradient<E: StoredFloat, S: Simd>(
    sets: &Sets,
    job: &Job,
    set: usize,
    given: bool,
    normal: Normalized<E, S>,
    means: [f64; 2],
) {
    let (lanes, start, channel) = (VectorOf::<E, S>::LANES, sets.start(set, 0), sets.parameter(set, 0));
    let (mean, mean_h) = (VectorOf::<E, S>::splat(means[0]), VectorOf::<E, S>::splat(means[1]));
    for i in (0..sets.runs).step_by(lanes) {
        let (n, at) = (lanes.min(sets.runs - i), start + i);
        // SAFETY: as in `sums`.
        unsafe {
            let dy = load_strided::<S, E>(job.inputs[1].cast::<E>().add(at), n, 1);
            let g = dy * parameters::<E, S>(given, job.inputs[4], channel + i, n, 1.0);
            let dx = (g - mean - normal.load(at, n) * mean_h) * normal.scale;
            store_strided::<S, E>(dx, n, job.outputs[0].cast::<E>().add(at), 1);
        }
    }
}
