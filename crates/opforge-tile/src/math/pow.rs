//! Powers and roots.

use super::exp::{exp_scaled, exp_to};
use super::lanes::intrinsic;
use super::log::{log_pair, log_to};
use crate::{Float, Intrinsic};

/// x to the power of y. Error: f32 0.51, f64 1; portable f64 is computed lane by lane by the standard library.
#[inline(always)]
pub fn pow<V: Float>(x: V, y: V) -> V {
    if V::DOUBLE && !V::fused() {
        return x.call_2(y, intrinsic!("pow", |x, y| x.powf(y)));
    }
    with_special_cases(x, y, power(x.abs(), y))
}

/// x to the power of y, finite and not 0, for x of 0 and more. Error: as [`pow`]'s.
#[inline(always)]
pub fn power<V: Float>(x: V, y: V) -> V {
    if !V::DOUBLE {
        return x.via_f64_2(
            y,
            #[inline(always)]
            |x, y| exp_to(y * log_to(x, true), true),
        );
    }
    if !V::fused() {
        return x.call_2(y, intrinsic!("pow", |x, y| x.powf(y)));
    }
    // By a logarithm of twice the digits.
    let (high, low) = log_pair(x);
    let product = y * high;
    let rest = y.mul_add(high, -product) + y * low;
    let finite = product.abs().lt(V::splat(1000.0));
    exp_scaled(product, V::select(finite, rest, V::splat(0.0)), V::splat(1.0), false)
}

/// The power of which this is the magnitude, but for the cases that have none.
#[inline(always)]
fn with_special_cases<V: Float>(x: V, y: V, magnitude: V) -> V {
    let (zero, one, infinity) = (V::splat(0.0), V::splat(1.0), V::splat(f64::INFINITY));
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
