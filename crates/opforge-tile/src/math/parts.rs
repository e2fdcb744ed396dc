//! The mantissa and the exponent of floats.

use super::pick;
use crate::{Bits, Float};

/// The number, scaled to be normal, by the power of this exponent; and where it has a mantissa of its own: it is neither 0 nor infinite nor NaN.
#[inline(always)]
fn normal<V: Float>(x: V) -> (V, V, V::Mask) {
    let (t, zero) = (x.abs(), V::splat(0.0));
    let subnormal = t.lt(pick(f32::MIN_POSITIVE as f64, f64::MIN_POSITIVE));
    let scaled = V::select(subnormal, x * pick(8388608.0, 4503599627370496.0), x);
    (scaled, V::select(subnormal, pick(23.0, 52.0), zero), t.gt(zero) & t.lt(V::splat(f64::INFINITY)))
}

/// The mantissa, from 1/2 to below 1 in magnitude; zeros, infinities and NaN are their own.
#[inline(always)]
pub fn mantissa<V: Float>(x: V) -> V {
    let (scaled, _, plain) = normal(x);
    let digits = if V::DOUBLE { (1 << 52) - 1 } else { (1 << 23) - 1 };
    let half = V::splat(0.5);
    let digits = scaled.to_bits() & V::Bits::splat(digits);
    V::select(plain, V::from_bits(digits | half.to_bits()).copysign(x), x)
}

/// The exponent of 2 that the [`mantissa`] is multiplied by; 0 for zeros, infinities and NaN.
#[inline(always)]
pub fn exponent<V: Float>(x: V) -> V {
    let (scaled, power, plain) = normal(x);
    let (mantissa, bias) = if V::DOUBLE { (52, 1022) } else { (23, 126) };
    let exponent = V::from_int((scaled.abs().to_bits() >> mantissa) - V::Bits::splat(bias));
    V::select(plain, exponent - power, V::splat(0.0))
}
