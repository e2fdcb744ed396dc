//! Lines of stored floats: copied to and from the type that they are computed in, and summed.

use crate::simd::stored::{StoredFloat, VectorOf, load_strided};
use crate::simd::{Float, Simd, Vector};
use opforge_core::WithDType;

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
