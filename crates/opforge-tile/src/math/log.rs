//! Logarithms.

use super::{pick, polynomial};
use crate::{Bits, Float};

/// The parts of `x = 2^e * (1 + f)`, with sqrt(1/2) <= 1 + f < sqrt(2), of positive normal numbers.
#[inline(always)]
fn split<V: Float>(x: V) -> (V, V) {
    let (mantissa, bias, sqrt_half) =
        if V::DOUBLE { (52, 1023, 0x3fe6a09e_667f3bcdi64) } else { (23, 127, 0x3f3504f3) };
    let one = V::splat(1.0).to_bits();
    // Adding the distance from sqrt(1/2) to 1 carries into the exponent exactly where the fraction is at least sqrt(1/2).
    let carried = x.to_bits() + (one - V::Bits::splat(sqrt_half));
    let e = V::from_int((carried >> mantissa) - V::Bits::splat(bias));
    let f = V::from_bits((carried & V::Bits::splat((1 << mantissa) - 1)) + V::Bits::splat(sqrt_half)) - V::splat(1.0);
    (e, f)
}

/// As [`split`], of positive numbers that may be subnormal.
#[inline(always)]
fn split_any<V: Float>(x: V) -> (V, V) {
    let subnormal = x.lt(pick(f32::MIN_POSITIVE as f64, f64::MIN_POSITIVE));
    let (e, f) = split(V::select(subnormal, x * pick(8388608.0, 4503599627370496.0), x));
    (e + V::select(subnormal, pick(-23.0, -52.0), V::splat(0.0)), f)
}

/// A and b whose product is `log(1 + f) - f + f^2 / 2`: f32 by the polynomial of Cephes, f64 by the series in f / (2 + f) of fdlibm.
#[inline(always)]
fn excess<V: Float>(f: V, half_square: V) -> (V, V) {
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
        (s, half_square + r)
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
        (p * f, f * f)
    }
}

/// ln 2 in two parts; the products of the first and exponents are exact.
#[inline(always)]
fn ln_2<V: Float>() -> (V, V) {
    (pick(0.693359375, 6.93147180369123816490e-01), pick(-2.12194440e-4, 1.90821492927058770002e-10))
}

/// log of `2^e * (1 + f)`, plus `correction`.
#[inline(always)]
fn log_of_parts<V: Float>((e, f): (V, V), correction: V) -> V {
    let (high, low) = ln_2::<V>();
    let half_square = V::splat(0.5) * f * f;
    let (a, b) = excess(f, half_square);
    let small = a.mul_add(b, e.mul_add(low, correction));
    e.mul_add(high, f - (half_square - small))
}

/// Puts right what [`log_of_parts`] gives for 0, infinity, NaN and negative numbers.
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
    with_special_cases(x, log_of_parts(split_any(x), V::splat(0.0)))
}

/// [`log`] of f64; where the result is rounded to f32 at last (`short`), of normal numbers with a relative error of 5e-13.
#[inline(always)]
pub(super) fn log_to<V: Float>(x: V, short: bool) -> V {
    if !short {
        return log(x);
    }
    let (e, f) = split(x);
    // Fitted for this purpose.
    let p = polynomial(
        f,
        [
            0.043764172676019626,
            -0.08559224695232916,
            0.08742510727051019,
            -0.08292529863680602,
            0.0895164356464861,
            -0.09989988595175896,
            0.11119819701827838,
            -0.1250094144419189,
            0.14285435865425206,
            -0.16666635631935575,
            0.20000004319088824,
            -0.2500000039479204,
            0.33333333307274626,
            -0.49999999998643097,
            1.0000000000002698,
        ],
    );
    with_special_cases(x, e.mul_add(V::splat(std::f64::consts::LN_2), p * f))
}

/// The logarithm to a base: 1 / ln(base) in two parts, and log(2) in two, of which the first ones have few digits.
#[inline(always)]
pub(super) fn log_to_base<V: Float>(x: V, [scale, scale_rest]: [f64; 2], [of_2, of_2_rest]: [f64; 2]) -> V {
    let ((e, f), scale) = (split_any(x), V::splat(scale));
    let half_square = V::splat(0.5) * f * f;
    let (a, b) = excess(f, half_square);
    // As fdlibm has it: the first digits, whose products are exact, and what is left.
    let high = V::from_bits((f - half_square).to_bits() & V::Bits::splat(-1 << 32));
    let low = a.mul_add(b, (f - high) - half_square);
    let (whole, product) = (e * V::splat(of_2), high * scale);
    let rest = low.mul_add(scale, (low + high).mul_add(V::splat(scale_rest), e * V::splat(of_2_rest)));
    let sum = whole + product;
    with_special_cases(x, sum + (rest + ((whole - sum) + product)))
}

/// The logarithm of f64s from 0 on in two parts, with a relative error of 2^-65, for powers. Needs a multiply-add that rounds once.
///
/// `log(1 + f) = 2 artanh(s)`, `s = f / (2 + f)`, whose series is `s + s^3 / 3 + ..`; the first terms are computed with twice the digits.
#[inline(always)]
pub(super) fn log_pair<V: Float>(x: V) -> (V, V) {
    let ((e, f), two) = (split_any(x), V::splat(2.0));
    let below = two + f;
    let inverse = V::splat(1.0) / below;
    let s = f * inverse;
    let s_rest = ((-s).mul_add(below, f) - s * (f - (below - two))) * inverse;
    let z = s * s;
    let z_rest = s.mul_add(s, -z) + two * s * s_rest;
    // Fitted for this purpose.
    let p = z * polynomial(
        z,
        [
            0.058620585206541245,
            0.05853069368671911,
            0.06667404340656607,
            0.07692297440875635,
            0.09090909168116226,
            0.11111111110825865,
            0.14285714285714687,
            0.2,
        ],
    );
    let third = V::splat(1.0 / 3.0);
    let w = third + p;
    let w_rest = ((third - w) + p) + V::splat(1.850371707708594e-17);
    let u = z * w;
    let u_rest = z.mul_add(w, -u) + (z * w_rest + z_rest * w);
    let q = s * u;
    let q_rest = s.mul_add(u, -q) + (s * u_rest + s_rest * u);
    let sum = s + q;
    let sum_rest = ((s - sum) + q) + (q_rest + s_rest);
    let (ln_2, ln_2_rest) = ln_2::<V>();
    let (whole, of_f) = (e * ln_2, two * sum);
    let high = whole + of_f;
    let low = ((whole - high) + of_f) + e.mul_add(ln_2_rest, two * sum_rest);
    let (infinity, zero) = (V::splat(f64::INFINITY), V::splat(0.0));
    let plain = x.gt(zero) & x.lt(infinity);
    (with_special_cases(x, high), V::select(plain, low, zero))
}

/// log(1 + x), precise near 0. Error: f32 0.85, f64 1.
#[inline(always)]
pub fn log_1p<V: Float>(x: V) -> V {
    let one = V::splat(1.0);
    let u = one + x;
    // What the rounding of 1 + x lost; the greater summand comes first.
    let lost = V::select(x.lt(one), x - (u - one), one - (u - x));
    let y = with_special_cases(u, log_of_parts(split(u), lost / u));
    // Where nothing of x remains in u, and -0 must stay.
    V::select(x.abs().lt(pick(1e-8, 1e-17)), x, y)
}
