//! Logarithms.

use super::{pick, polynomial};
use crate::{Bits, Float};

/// log of positive normal numbers, plus `correction`.
///
/// x = 2^e * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); f32 by the polynomial of Cephes, f64 by the series in f / (2 + f) of fdlibm.
#[inline(always)]
fn log_normal<V: Float>(x: V, exponent_shift: V, correction: V) -> V {
    let (mantissa, bias, sqrt_half) =
        if V::DOUBLE { (52, 1023, 0x3fe6a09e_667f3bcdi64) } else { (23, 127, 0x3f3504f3) };
    let one = V::splat(1.0).to_bits();
    // Adding the distance from sqrt(1/2) to 1 carries into the exponent exactly where the fraction is at least sqrt(1/2).
    let carried = x.to_bits() + (one - V::Bits::splat(sqrt_half));
    let e = V::from_int((carried >> mantissa) - V::Bits::splat(bias)) + exponent_shift;
    let f = V::from_bits((carried & V::Bits::splat((1 << mantissa) - 1)) + V::Bits::splat(sqrt_half)) - V::splat(1.0);
    let (high, low) =
        (pick::<V>(0.693359375, 6.93147180369123816490e-01), pick::<V>(-2.12194440e-4, 1.90821492927058770002e-10));
    let half_square = V::splat(0.5) * f * f;
    if V::DOUBLE {
        let s = f / (V::splat(2.0) + f);
        let z = s * s;
        let r = z * polynomial(
            z,
            [
                1.479819860511658591e-01,
                1.531383769920937332e-01,
                1.818357216161805012e-01,
                2.222219843214978396e-01,
                2.857142874366239149e-01,
                3.999999999940941908e-01,
                6.666666666666735130e-01,
            ],
        );
        let small = s.mul_add(half_square + r, e.mul_add(low, correction));
        e.mul_add(high, f - (half_square - small))
    } else {
        let p = polynomial(
            f,
            [
                7.0376836292E-2,
                -1.1514610310E-1,
                1.1676998740E-1,
                -1.2420140846E-1,
                1.4249322787E-1,
                -1.6668057665E-1,
                2.0000714765E-1,
                -2.4999993993E-1,
                3.3333331174E-1,
            ],
        );
        let small = (p * f).mul_add(f * f, e.mul_add(low, correction));
        e.mul_add(high, f - (half_square - small))
    }
}

/// Puts right what [`log_normal`] gives for 0, infinity, NaN and negative numbers.
#[inline(always)]
fn with_special_cases<V: Float>(x: V, log: V) -> V {
    let infinity = V::splat(f64::INFINITY);
    let log = V::select(x.lt(infinity), log, x); // Infinity and NaN.
    let log = V::select(x.eq(V::splat(0.0)), -infinity, log);
    V::select(x.lt(V::splat(0.0)), V::splat(f64::NAN), log)
}

/// The natural logarithm. Error: f32 0.82, f64 1.
#[inline(always)]
pub fn log<V: Float>(x: V) -> V {
    let least_normal = pick::<V>(f32::MIN_POSITIVE as f64, f64::MIN_POSITIVE);
    let subnormal = x.lt(least_normal);
    let scale = pick::<V>(8388608.0, 4503599627370496.0);
    let scaled = V::select(subnormal, x * scale, x);
    let shift = V::select(subnormal, pick(-23.0, -52.0), V::splat(0.0));
    with_special_cases(x, log_normal(scaled, shift, V::splat(0.0)))
}

/// log(1 + x), precise near 0. Error: f32 0.85, f64 1.
#[inline(always)]
pub fn log_1p<V: Float>(x: V) -> V {
    let one = V::splat(1.0);
    let u = one + x;
    // What the rounding of 1 + x lost; the greater summand comes first.
    let lost = V::select(x.lt(one), x - (u - one), one - (u - x));
    let y = with_special_cases(u, log_normal(u, V::splat(0.0), lost / u));
    // Where nothing of x remains in u, and -0 must stay.
    V::select(x.abs().lt(pick(1e-8, 1e-17)), x, y)
}
