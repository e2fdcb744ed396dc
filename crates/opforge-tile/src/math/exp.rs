//! Exponentials.

use std::f64::consts::{LN_2, LOG2_E};

use super::{pick, polynomial};
use crate::Float;

/// `x = n * ln 2 + r`, with an integer `n` and `|r| <= ln 2 / 2`.
struct Reduced<V: Float> {
    n: V,
    r: V,
}

/// Needs `|x| < 1500`, or NaN.
#[inline(always)]
fn reduce<V: Float>(x: V) -> Reduced<V> {
    // Adding 1.5 * 2^(mantissa bits) rounds to an integer.
    let magic = pick::<V>(12582912.0, 6755399441055744.0);
    let shifted = x.mul_add(V::splat(LOG2_E), magic);
    let n = shifted - magic;
    // The high part of ln 2 has trailing zeros enough for n * high to be exact.
    let r = n.mul_add(pick(-0.693359375, -6.93147180369123816490e-01), x);
    let r = n.mul_add(pick(2.12194440e-4, -1.90821492927058770002e-10), r);
    Reduced { n, r }
}

/// `(e^r - 1 - r) / r^2` for `|r| <= ln 2 / 2`: for f32 the minimax polynomial of Cephes, for f64 the Taylor series.
#[inline(always)]
fn tail<V: Float>(r: V) -> V {
    if V::DOUBLE {
        polynomial(
            r,
            [
                1.0 / 6227020800.0,
                1.0 / 479001600.0,
                1.0 / 39916800.0,
                1.0 / 3628800.0,
                1.0 / 362880.0,
                1.0 / 40320.0,
                1.0 / 5040.0,
                1.0 / 720.0,
                1.0 / 120.0,
                1.0 / 24.0,
                1.0 / 6.0,
                0.5,
            ],
        )
    } else {
        polynomial(
            r,
            [1.9875691500E-4, 1.3981999507E-3, 8.3334519073E-3, 4.1665795894E-2, 1.6666665459E-1, 5.0000001201E-1],
        )
    }
}

/// e^x. Error: f32 1.01, f64 1; approximated 4.
#[inline(always)]
pub fn exp<V: Float>(x: V) -> V {
    if V::approximates() {
        return exp_by_power(x);
    }
    // Beyond these every result is 0 or infinity.
    let Reduced { n, r } = reduce(x.clamp(pick(-104.5, -746.0), pick(89.0, 710.0)));
    (tail(r).mul_add(r * r, r) + V::splat(1.0)).times_power(n)
}

/// [`exp`] of machines with powers of two: of `x log2 e` as a sum of two numbers, of which the second is small.
#[inline(always)]
fn exp_by_power<V: Float>(x: V) -> V {
    let x = x.clamp(V::splat(-104.5), V::splat(89.0));
    let log2_e = V::splat(LOG2_E);
    let high = x * log2_e;
    // What log2 e loses as f32 is the last number.
    let low = x.mul_add(log2_e, -high) + x * V::splat(LOG2_E - f64::from(LOG2_E as f32));
    high.exp2_or(exp2) * low.mul_add(V::splat(LN_2), V::splat(1.0))
}

/// e^x of f64; where it is rounded to f32 at last (`short`), with a relative error of 5e-11.
#[inline(always)]
pub(super) fn exp_to<V: Float>(x: V, short: bool) -> V {
    if short { exp_scaled(x, V::splat(0.0), V::splat(1.0), true) } else { exp(x) }
}

/// `factor * e^(x + rest)` of f64, where rest is small beside 1: infinite from x of 720 on, and rounded once where it is subnormal. `short` as in [`exp_to`].
#[inline(always)]
pub(super) fn exp_scaled<V: Float>(x: V, rest: V, factor: V, short: bool) -> V {
    let Reduced { n, r } = reduce(x.clamp(V::splat(-800.0), V::splat(720.0)));
    let sum = r + rest;
    let lost = (r - sum) + rest;
    let tail = if short { short_tail(sum) } else { tail(sum) };
    let power = V::splat(1.0) + (sum + tail.mul_add(sum * sum, lost));
    (power * factor).times_power(n)
}

/// As [`tail`]: a polynomial fitted for this purpose.
#[inline(always)]
fn short_tail<V: Float>(r: V) -> V {
    polynomial(
        r,
        [
            0.00019913903613183272,
            0.0013946206522618392,
            0.00833327286573058,
            0.0416662674502094,
            0.16666666822019185,
            0.5000000079000356,
        ],
    )
}

/// 2^x. Error: f32 1.1, f64 1.
#[inline(always)]
pub fn exp2<V: Float>(x: V) -> V {
    // Beyond these every result is 0 or infinity.
    exp2_within(x.clamp(pick(-151.0, -1076.0), pick(128.0, 1024.0)))
}

/// [`exp2`] of arguments from -1000 to 128 (-1076 to 1024), or NaN: for f32 a minimax polynomial fitted for this purpose, whose relative error is 2e-9.
#[inline(always)]
pub(super) fn exp2_within<V: Float>(x: V) -> V {
    x.exp2_or(
        #[inline(always)]
        |x| exp2_exact(x),
    )
}

#[inline(always)]
fn exp2_exact<V: Float>(x: V) -> V {
    let n = x.round_ties_even();
    if V::DOUBLE {
        let r = (x - n) * V::splat(LN_2);
        return (tail(r).mul_add(r * r, r) + V::splat(1.0)).times_power(n);
    }
    let power = polynomial(
        x - n,
        [
            0.0001535336144998789,
            0.0013398874570970248,
            0.009618437360766327,
            0.0555033247062974,
            0.24022647913583176,
            0.6931472028553793,
            1.0,
        ],
    );
    power.times_power(n)
}

/// e^x - 1, precise near 0. Error: f32 1.6, f64 2.
#[inline(always)]
pub fn exp_m1<V: Float>(x: V) -> V {
    // Below -17 (-37) the result rounds to -1; 2^n overflows before the result does, hence the halves.
    let limited = x.clamp(pick(-30.0, -50.0), pick(89.0, 710.0));
    let Reduced { n, r } = reduce(limited);
    let y = tail(r).mul_add(r * r, r);
    let (a, b, inverse_b) = n.powers();
    // 2^n * y + (2^n - 1), divided by the second factor while that may overflow.
    let scaled = y.mul_add(a, a - inverse_b) * b;
    // r * r may underflow, and -0 must stay.
    V::select(x.abs().lt(pick(1e-10, 1e-20)), x, scaled)
}
