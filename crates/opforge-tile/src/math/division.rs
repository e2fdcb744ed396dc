//! What division leaves.

use super::lanes::intrinsic;
use super::pick;
use crate::{Float, Intrinsic};

/// What division leaves, with the dividend's sign: exact.
///
/// Where the quotient is so small that all its digits are known, it is subtracted in one rounding, which is none: the remainder is a number. The rounded
/// quotient may be the next integer, never the one before. Others are divided lane by lane.
#[inline(always)]
pub fn fmod<V: Float>(a: V, b: V) -> V {
    if !V::fused() {
        return by_lanes(a, b);
    }
    let (dividend, divisor, zero) = (a.abs(), b.abs(), V::splat(0.0));
    let quotient = (dividend / divisor).trunc();
    let left = (-quotient).mul_add(divisor, dividend);
    let left = V::select(left.lt(zero), left + divisor, left);
    let left = V::select(dividend.lt(divisor), dividend, left);
    let small = quotient.lt(pick(8388608.0, 4503599627370496.0));
    V::select_rarely(
        !small,
        #[inline(always)]
        || by_lanes(a, b),
        left.copysign(a),
    )
}

#[inline(always)]
fn by_lanes<V: Float>(a: V, b: V) -> V {
    a.call_2(b, intrinsic!("fmod", |a, b| a % b))
}
