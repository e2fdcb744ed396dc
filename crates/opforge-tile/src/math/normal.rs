//! The normal distribution: GELU and its slope, and the logarithm of the distribution function.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LOG2_E};

use super::erf::{normal_tail, scaled};
use super::exp::exp2_within;
use super::log::log_to;
use super::{exp, in_double, log_1p, polynomial};
use crate::Float;

/// e^(-t^2 / 2) and the probability that a normal variable is greater than `t`, for `t >= 0`; both 0 beyond 16 in f32.
///
/// Their quotient is smooth and falls slowly: f32 takes a rational approximation of it for t up to 16, fitted for this purpose, whose error relative to
/// the greatest density is 3e-9, and 5e-5 relative to the quotient itself.
#[inline(always)]
fn tail<V: Float>(t: V) -> (V, V) {
    if V::DOUBLE {
        return (exp(t * t * V::splat(-0.5)), normal_tail(t, false));
    }
    let t = t.clamp(V::splat(0.0), V::splat(16.0));
    let density = exp2_within(t * t * V::splat(-0.5 * LOG2_E));
    let p = polynomial(t, [0.012045880767530283, 0.09721866444754133, 0.3211063666903538, 0.4999999971364068]);
    let q = polynomial(t, [0.030220020722315173, 0.24296718061497538, 0.8434748939019667, 1.440096804050508, 1.0]);
    (density, (density * p).over(q))
}

/// x * P(normal <= x) = x / 2 * (1 + erf(x / sqrt 2)); NaN for minus infinity. Error: f32 3.6 units of the last place of the greater of the
/// result and 1/8, f64 6 units of the last place of the greater of the
/// result and 1/8.
#[inline(always)]
pub fn gelu<V: Float>(x: V) -> V {
    if V::DOUBLE {
        let above = normal_tail(x.abs(), false);
        return x * V::select(x.lt(V::splat(0.0)), above, V::splat(1.0) - above);
    }
    let (t, half) = (x.abs(), V::splat(0.5));
    let positive = x.mul_add(half, t * half);
    positive - t.clamp(V::splat(0.0), V::splat(16.0)) * tail(t).1
}

/// The slope of [`gelu`], P(normal <= x) + x * density(x). Error: f32 4.8, f64 9 units of the last place of the greater of the result and 1/8.
#[inline(always)]
pub fn gelu_slope<V: Float>(x: V) -> V {
    let t = x.abs();
    let (density, above) = tail(t);
    let cdf = V::select(x.lt(V::splat(0.0)), above, V::splat(1.0) - above);
    // x times the density is inf * 0 at infinite x; its limit is 0.
    let scaled = density * V::splat(0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2);
    cdf + V::select(density.eq(V::splat(0.0)), density, x * scaled)
}

in_double! {
    /// The logarithm of the normal distribution function. Error: f32 0.51, f64 8.
    log_ndtr = log_normal_cdf;
}

/// Of negative arguments the logarithm of the scaled tail, whose exponential is apart; of others that of 1 less the tail.
#[inline(always)]
fn log_normal_cdf<V: Float>(x: V, short: bool) -> V {
    let half = V::splat(0.5);
    let scaled = scaled(x.abs() * V::splat(FRAC_1_SQRT_2), short) * half;
    let below = log_to(scaled, short) - half * x * x;
    V::select_rarely(
        x.ge(V::splat(0.0)),
        #[inline(always)]
        || log_1p(-normal_tail(x.abs(), short)),
        below,
    )
}
