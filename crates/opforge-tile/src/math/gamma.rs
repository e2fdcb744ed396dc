//! The logarithm of the gamma function, its slope, and that one's.
//!
//! Rational approximations fitted for this purpose where the functions have zeros; further out the remainders of the asymptotic series (DLMF 5.11.1
//! and 5.11.2); DLMF 5.5.3 and 5.5.4 for negative arguments. The slope of the slope has no zeros that are not its factors': the asymptotic series (DLMF
//! 5.15.8) alone, after steps of the recurrence (DLMF 5.15.5), and DLMF 5.15.6 for negative arguments.

use std::f64::consts::PI;

use super::log::log_to;
use super::{fitted, in_double, polynomial, sin, tan};
use crate::Float;

in_double! {
    /// The logarithm of the magnitude of the gamma function. Error: f32 0.51, f64 8; of negative arguments near its zeros so many units of what it is of `1 - x`.
    lgamma = log_gamma;
    /// The slope of [`lgamma`]; NaN for negative integers. Error: f32 0.51, f64 6; of negative arguments near its zeros so many units of what it is of `1 - x`.
    digamma = psi;
    /// The slope of [`digamma`]; infinite for 0 and negative integers. Error: f32 0.51, f64 4.
    trigamma = slope_of_psi;
}

#[inline(always)]
fn log_gamma<V: Float>(x: V, short: bool) -> V {
    let t = x.abs();
    let log_t = log_to(t, short);
    let y = log_gamma_positive(t, log_t, short);
    V::select_rarely(
        x.lt(V::splat(0.0)),
        #[inline(always)]
        || {
            let turn = (t - t.round_ties_even()).abs();
            let reflected = V::splat(PI.ln()) - log_to(sin(turn * V::splat(PI)), short) - log_t - y;
            let reflected = V::select(t.trunc().eq(t), V::splat(f64::INFINITY), reflected);
            // The sine of the smallest has lost digits.
            V::select(t.lt(V::splat(1e-20)), y, reflected)
        },
        y,
    )
}

/// Of `t` from 0 on: `(y - 1) (y - 2)` times a smooth function of y, where y is t or, below 1, t + 1.
#[inline(always)]
fn log_gamma_positive<V: Float>(t: V, log_t: V, short: bool) -> V {
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    let low = t.lt(one);
    let from_one = V::select(low, t, t - one);
    let from_two = from_one - one;
    let p = fitted(
        from_one,
        short,
        [0.0002649192111116263, 0.03621532337705317, 0.3402365998131081, 0.8358858112746733, 0.5772156648373976],
        [
            1.3245440389570088e-06,
            0.0006058417494206418,
            0.019155133999998422,
            0.19043167772785713,
            0.8131620560525551,
            1.6591717317975097,
            1.5928312542270924,
            0.5772156649015329,
        ],
    );
    let q = fitted(
        from_one,
        short,
        [0.012383101588507715, 0.23201888789572306, 1.1159841880024544, 1.873021188371387, 1.0],
        [
            0.0001563845193998052,
            0.008097466875253784,
            0.12128606117849595,
            0.7730380397096388,
            2.4325220388182487,
            3.9581647092689463,
            3.1843949056081637,
            1.0,
        ],
    );
    let near = from_one * from_two * (p / q) - V::select(low, log_t, zero);
    V::select_rarely(
        t.gt(V::splat(3.0)),
        #[inline(always)]
        || {
            let inverse = one / t;
            let z = inverse * inverse;
            let p = fitted(
                z,
                short,
                [
                    0.0005072847287005229,
                    -0.0005677967256518199,
                    0.000792654366900076,
                    -0.0027777647462487154,
                    0.0833333333058487,
                ],
                [0.05098790917709657, 0.776778080019183, 1.496855293173723, 0.7120349801875986, 0.0833333333333333],
            );
            let q = fitted(
                z,
                short,
                [1.0],
                [0.8178147324476769, 9.85474240270484, 18.238664811932455, 8.577753095583901, 1.0],
            );
            // Half of log(2 pi), less a half.
            let rest = (p / q).mul_add(inverse, V::splat(0.4189385332046727418));
            (t - V::splat(0.5)).mul_add(log_t - one, rest)
        },
        near,
    )
}

/// The zero of [`digamma`], less 1: its nearest f64, and the rest.
const ZERO: (f64, f64) = (0.46163214496836236, -1.5522348162858677e-17);

#[inline(always)]
fn psi<V: Float>(x: V, short: bool) -> V {
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    let negative = x.lt(zero);
    let t = V::select(negative, one - x, x);
    let low = t.lt(one);
    let v = V::select(low, t, t - one);
    let p = fitted(
        v,
        short,
        [0.0025097815007964863, 0.21075195938520616, 1.1311409759766822, 1.2503801370661423],
        [
            -5.439726148074032e-07,
            4.9987023815156255e-05,
            0.008690171544620031,
            0.14492766203784396,
            0.8040009332693473,
            1.742048303226177,
            1.2503801375034054,
        ],
    );
    let q = fitted(
        v,
        short,
        [0.06361882805271832, 0.6523581281718938, 1.5881844397504505, 1.0],
        [0.0021403834943097065, 0.05422235895632057, 0.4360976617429212, 1.460777486807793, 2.07676176703574, 1.0],
    );
    let from_zero = (v - V::splat(ZERO.0)) - V::splat(ZERO.1);
    let near = from_zero * (p / q) - V::select(low, one / t, zero);
    let y = V::select_rarely(
        t.gt(V::splat(2.0)),
        #[inline(always)]
        || {
            let inverse = one / t;
            let z = inverse * inverse;
            let p = fitted(
                z,
                short,
                [
                    -0.003690056147982715,
                    0.004737765732196186,
                    -0.0038871146976083605,
                    0.003954381361653086,
                    -0.008333069892818675,
                    0.08333333251172437,
                ],
                [
                    0.0844270592358712,
                    1.7471788743750356,
                    4.852602598890563,
                    3.882166235216981,
                    1.0510595215595284,
                    0.08333333333332671,
                ],
            );
            let q = fitted(
                z,
                short,
                [1.0],
                [2.0743353791708685, 25.479924993333007, 62.456828113462656, 47.8096472071446, 12.712714258672317, 1.0],
            );
            log_to(t, short) - (p / q).mul_add(z, inverse * V::splat(0.5))
        },
        near,
    );
    let y = V::select_rarely(
        negative,
        #[inline(always)]
        || {
            let turn = x - x.round_ties_even();
            let reflected = y - V::splat(PI) / tan(turn * V::splat(PI));
            V::select(turn.eq(zero), V::splat(f64::NAN), reflected)
        },
        y,
    );
    V::select(x.eq(zero), V::splat(f64::INFINITY).copysign(-x), y)
}

/// Arguments from which the series has all digits.
const FAR: f64 = 10.0;

/// The series' Bernoulli numbers, from that of order 18 down to that of order 2.
const BERNOULLI: [f64; 9] = [
    43867.0 / 798.0,
    -3617.0 / 510.0,
    7.0 / 6.0,
    -691.0 / 2730.0,
    5.0 / 66.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    1.0 / 6.0,
];

#[inline(always)]
fn slope_of_psi<V: Float>(x: V, _: bool) -> V {
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    let negative = x.lt(zero);
    let t = V::select(negative, one - x, x);
    let low = t.lt(V::splat(FAR));
    let far = V::select(low, t + V::splat(FAR), t);
    let inverse = one / far;
    let square = inverse * inverse;
    let series = polynomial(square, BERNOULLI) * square;
    let series = inverse.mul_add(series, square.mul_add(V::splat(0.5), inverse));
    let y = V::select_rarely(
        low,
        #[inline(always)]
        || steps_of_slope(t) + series,
        series,
    );
    V::select_rarely(
        negative,
        #[inline(always)]
        || {
            let turn = x - x.round_ties_even();
            let ratio = V::splat(PI) / sin(turn * V::splat(PI));
            V::select(x.trunc().eq(x), V::splat(f64::INFINITY), ratio.mul_add(ratio, -y))
        },
        y,
    )
}

/// The sum of `1 / (t + k)^2` for k of 0 to 9, after the first in pairs that share a division.
#[inline(always)]
fn steps_of_slope<V: Float>(t: V) -> V {
    let shifted = |k: usize| t + V::splat(k as f64);
    let last = shifted(9);
    let mut sum = V::splat(1.0) / (last * last);
    for k in [7, 5, 3, 1] {
        let (a, b) = (shifted(k), shifted(k + 1));
        let product = a * b;
        sum = sum + a.mul_add(a, b * b) / (product * product);
    }
    V::splat(1.0) / (t * t) + sum
}
