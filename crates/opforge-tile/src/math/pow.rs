//! Powers and roots.

use super::lanes::intrinsic;
use super::{exp, log};
use crate::{Float, Intrinsic};

/// x to the power of y. Error: f32 0.5, f64 that of the standard library. f64 is computed lane by lane.
#[inline(always)]
pub fn pow<V: Float>(x: V, y: V) -> V {
    if V::DOUBLE {
        return x.call_2(y, intrinsic!("pow", |x, y| x.powf(y)));
    }
    let (zero, one, infinity) = (V::splat(0.0), V::splat(1.0), V::splat(f64::INFINITY));
    let magnitude = x.abs().via_f64_2(
        y,
        #[inline(always)]
        |x, y| exp(y * log(x)),
    );
    let half = y * V::splat(0.5);
    let whole = y.trunc().eq(y);
    let odd = whole & half.trunc().ne(half);
    let signed = V::select(odd, magnitude.copysign(x), magnitude);
    // A negative finite number has no real power that is not whole.
    let refused = x.lt(zero) & x.gt(-infinity) & !whole;
    let signed = V::select(refused, V::splat(f64::NAN), signed);
    // -1 to infinity is 1, as is anything to 0 and 1 to anything, NaN included.
    let unit = x.abs().eq(one) & y.abs().eq(infinity);
    V::select(y.eq(zero) | x.eq(one) | unit, one, signed)
}

/// 1 / x, correctly rounded.
#[inline(always)]
pub fn recip<V: Float>(x: V) -> V {
    V::splat(1.0) / x
}

/// 1 / sqrt(x). Error: f32 1.5, f64 1.
#[inline(always)]
pub fn rsqrt<V: Float>(x: V) -> V {
    recip(x.sqrt())
}
