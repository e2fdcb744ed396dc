//! The error function and its complement.

use std::f64::consts::FRAC_2_SQRT_PI;

use super::exp::exp_scaled;
use super::{exp, fitted, in_double, polynomial};
use crate::{Bits, Float};

/// Between the polynomial for small arguments and the exponential for large ones (475/512).
const BORDER: f64 = 0.927734375;

/// erf for magnitudes up to the border (Juffa's minimax polynomial), of `x` and its square.
#[inline(always)]
fn near<V: Float>(x: V, square: V) -> V {
    let p = polynomial(
        square,
        [-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1],
    );
    p.mul_add(x, x)
}

/// 1 - erf for magnitudes `t` above the border: e to Juffa's minimax polynomial.
#[inline(always)]
fn complement<V: Float>(t: V) -> V {
    let p = polynomial(
        t,
        [-1.72853470e-5, 3.83197126e-4, -3.88396438e-3, 2.42546219e-2, -1.06777877e-1, -6.34846687e-1, -1.28717512e-1],
    );
    exp(p.mul_add(t, -t))
}

/// The error function. Error: f32 1.2, f64 1.
#[inline(always)]
pub fn erf<V: Float>(x: V) -> V {
    let t = x.abs();
    if V::DOUBLE {
        let near = x * polynomial(
            x * x,
            [
                -7.779399430483308e-10,
                1.3710942194540973e-08,
                -1.620630462650793e-07,
                1.6447130336829077e-06,
                -1.492471219830557e-05,
                0.00012055293571298513,
                -0.0008548325929119904,
                0.005223977606114254,
                -0.02686617064311093,
                0.11283791670944181,
                -0.3761263890318352,
                FRAC_2_SQRT_PI,
            ],
        );
        let far = (V::splat(1.0) - complement_within(t, false)).copysign(x);
        return V::select(t.gt(V::splat(1.0)), far, near);
    }
    let far = (V::splat(1.0) - complement(t)).copysign(x);
    let y = V::select(t.gt(V::splat(BORDER)), far, near(x, x * x));
    V::select(x.is_nan(), x, y)
}

in_double! {
    /// 1 - erf(x), without cancellation. Error: f32 0.51, f64 6 (portable 9).
    erfc = complementary;
    /// `exp(x^2) erfc(x)`. Error: f32 0.51, f64 5 (portable 8).
    erfcx = scaled_complementary;
}

#[inline(always)]
fn complementary<V: Float>(x: V, short: bool) -> V {
    let y = complement_within(x.abs(), short);
    V::select(x.lt(V::splat(0.0)), V::splat(2.0) - y, y)
}

#[inline(always)]
fn scaled_complementary<V: Float>(x: V, short: bool) -> V {
    let y = scaled(x.abs(), short);
    V::select_rarely(
        x.lt(V::splat(0.0)),
        #[inline(always)]
        || {
            let (square, rest) = square(limited(x.abs(), short), short);
            exp_scaled(square, rest, V::splat(2.0), short) - y
        },
        y,
    )
}

/// The greatest argument of [`rational`]: of greater ones erfc is 0.
fn limit(short: bool) -> f64 {
    if short { 10.5 } else { 28.0 }
}

#[inline(always)]
fn limited<V: Float>(t: V, short: bool) -> V {
    t.clamp(V::splat(0.0), V::splat(limit(short)))
}

/// `t^2`, for t up to 30, and what rounding it has lost, if it matters.
#[inline(always)]
fn square<V: Float>(t: V, short: bool) -> (V, V) {
    if short {
        return (t * t, V::splat(0.0));
    }
    // The square of 26 bits is exact.
    let high = V::from_bits(t.to_bits() & V::Bits::splat(-1 << 27));
    (high * high, (t - high) * (t + high))
}

/// erfc of `t` from 0 on.
#[inline(always)]
fn complement_within<V: Float>(t: V, short: bool) -> V {
    let t = limited(t, short);
    let (square, rest) = square(t, short);
    exp_scaled(-square, -rest, rational(t, short), short)
}

/// The probability that a normal variable is greater than `t`, which is 0 or more.
#[inline(always)]
pub(super) fn normal_tail<V: Float>(t: V, short: bool) -> V {
    let root = V::splat(std::f64::consts::SQRT_2);
    let t = t.clamp(V::splat(0.0), V::splat(limit(short)) * root);
    let (square, rest) = square(t, short);
    let half = V::splat(0.5);
    exp_scaled(square * -half, rest * -half, rational(t / root, short) * half, short)
}

/// `exp(t^2) erfc(t)` for t from 0 on; beyond the rational approximation by DLMF 7.12.1.
#[inline(always)]
pub(super) fn scaled<V: Float>(t: V, short: bool) -> V {
    V::select_rarely(
        t.gt(V::splat(limit(short))),
        #[inline(always)]
        || {
            let inverse = V::splat(1.0) / t;
            let series = polynomial(
                inverse * inverse,
                [10395.0 / 64.0, -945.0 / 32.0, 105.0 / 16.0, -15.0 / 8.0, 0.75, -0.5, 1.0],
            );
            V::splat(0.5 * FRAC_2_SQRT_PI) * series * inverse
        },
        rational(limited(t, short), short),
    )
}

/// `exp(t^2) erfc(t)` for t from 0 to the limit: rational approximations fitted for this purpose, with relative errors of 9e-11 and 1e-18.
#[inline(always)]
fn rational<V: Float>(t: V, short: bool) -> V {
    let p = fitted(
        t,
        short,
        [
            0.01011235664810426,
            0.09347455915918283,
            0.40441125621573937,
            1.0040030642505309,
            1.4368927330134937,
            0.9999999999133875,
        ],
        [
            1.4426199550285249e-05,
            0.00031716470857868107,
            0.0034238326843962523,
            0.023604922193996826,
            0.11428524578788402,
            0.4044610687675022,
            1.0582933339286908,
            2.0242202005590206,
            2.720974372962231,
            2.3428739595713948,
            1.0,
        ],
    );
    let q = fitted(
        t,
        short,
        [
            0.017923706779366465,
            0.16567832098507934,
            0.7257839146353227,
            1.8621128545033752,
            2.898602675818849,
            2.5652718883897627,
            1.0,
        ],
        [
            2.556977294682904e-05,
            0.0005621598090925153,
            0.006081370312719263,
            0.04211971515076475,
            0.20558683172623668,
            0.7375268188693018,
            1.9740563866791303,
            3.9260651128699786,
            5.666868232169831,
            5.637864084808314,
            3.4712531266669076,
            1.0,
        ],
    );
    p / q
}
