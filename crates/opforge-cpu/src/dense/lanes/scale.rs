//! Powers of two by which matrices are multiplied, so that the squares of their elements can be told.

use opforge_core::WithDType;

use super::super::symmetric::ql::exponent;
use crate::simd::Vector;

/// Multiplies rows of `n` elements, of row `i` the first `counted(i)`, so that the largest is as [`exponent`] says. The powers, and where there is NaN or
/// infinity, which become zeros.
#[inline(always)]
pub(super) fn scale<V: Vector>(a: &mut [V], n: usize, counted: impl Fn(usize) -> usize) -> (V, V::Mask) {
    let zero = V::splat(0.0);
    let mut most = zero;
    for (i, row) in a.chunks_exact(n).enumerate() {
        for x in &row[..counted(i)] {
            most = most.max(x.abs());
        }
    }
    let finite = most.lt(V::splat(f64::INFINITY));
    let most = V::select(finite, most, zero);
    let power = most.map_lanes(|most| {
        let of_most = if most.to_f64() > 0.0 { most.to_f64().log2().floor() } else { 0.0 };
        V::Elem::from_f64(f64::from(exponent(V::DOUBLE)) - of_most)
    });
    for (i, row) in a.chunks_exact_mut(n).enumerate() {
        for x in &mut row[..counted(i)] {
            *x = V::select(finite, x.times_power(power), zero);
        }
    }
    (power, !finite)
}
