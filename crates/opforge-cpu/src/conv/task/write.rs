//! Lines of sums on their way into the target.

use crate::conv::Element;
use crate::simd::stored::{VectorOf, store_strided};
use crate::simd::{Bits, Simd, Vector};

/// Copies sums that are not rounded.
///
/// # Safety
/// `sums` is valid for `len` of them, `to` for as many.
#[inline(always)]
pub(super) unsafe fn copy<S: Simd, E: Element>(sums: *const E::Compute, to: *mut E::Compute, len: usize) {
    let lanes = VectorOf::<E, S>::LANES;
    for i in (0..len).step_by(lanes) {
        let n = lanes.min(len - i);
        // SAFETY: `n` are left from `i` on.
        unsafe { VectorOf::<E, S>::load_partial(sums.add(i), n).store_partial(to.add(i), n) };
    }
}

/// Rounds the sums of a line and writes them, `gap` apart.
///
/// # Safety
/// `sums` is valid for `len` of them, `to` for as many elements.
#[inline(always)]
pub(super) unsafe fn write_line<S: Simd, E: Element>(sums: *const E::Compute, len: usize, to: *mut E, gap: usize) {
    let lanes = VectorOf::<E, S>::LANES;
    for i in (0..len).step_by(lanes) {
        let n = lanes.min(len - i);
        // SAFETY: `n` of the `len` sums are left from `i` on, and as many elements, `gap` apart.
        unsafe { store_strided::<S, E>(VectorOf::<E, S>::load_partial(sums.add(i), n), n, to.add(i * gap), gap) };
    }
}

/// Rounds two lines of sums, the first as long as the second or one longer, and writes them in turns.
///
/// # Safety
/// Each is valid for its length, `to` for both together.
#[inline(always)]
pub(super) unsafe fn alternate<S: Simd, E: Element>(
    [(even, evens), (odd, odds)]: [(*const E::Compute, usize); 2],
    to: *mut E,
) {
    let lanes = VectorOf::<E, S>::LANES;
    let (number, one) = (VectorOf::<E, S>::numbers(), Bits::splat(1));
    let low = (number >> 1) + ((number & one) << lanes.trailing_zeros());
    let high = low + Bits::splat(lanes as i64 / 2);
    for i in (0..evens).step_by(lanes) {
        let (n, m) = (lanes.min(evens - i), lanes.min(odds.saturating_sub(i)));
        // SAFETY: `n` and `m` sums are left from `i` on, and `n + m` elements from `2 * i` on.
        unsafe {
            let even = VectorOf::<E, S>::load_partial(even.add(i), n);
            let odd = VectorOf::<E, S>::load_partial(odd.add(i), m);
            let to = to.add(2 * i);
            store_strided::<S, E>(even.lookup(odd, low), lanes.min(n + m), to, 1);
            if n + m > lanes {
                store_strided::<S, E>(even.lookup(odd, high), n + m - lanes, to.add(lanes), 1);
            }
        }
    }
}
