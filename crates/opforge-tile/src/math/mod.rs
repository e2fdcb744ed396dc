//! Mathematical functions of f32 and f64.
//!
//! Errors are the greatest seen, in units in the last place (ULP) of the result. f32: against the standard library in f64, over every seventh
//! value. f64: against the standard library, itself within about one unit, over 700,000 values. "Portable" is the level without fused
//! multiply-add.
//! Signed zeros, infinities, NaN, subnormals, overflow and underflow are as in C's library unless said otherwise.

#![allow(clippy::excessive_precision, reason = "constants stand as published")]

mod activation;
mod erf;
mod exp;
mod inverse;
mod lanes;
mod log;
mod normal;
mod pow;
mod special;
mod trig;

pub use activation::{gelu_tanh, sigmoid, silu, tanh};
pub use erf::erf;
pub use exp::{exp, exp_m1, exp2};
pub use inverse::{acos, acosh, asin, asinh, atan, atan2, atanh, cosh, hypot, log2, log10, sinh};
pub use lanes::{
    airy_ai, bessel_i0, bessel_i0e, bessel_i1, bessel_i1e, bessel_j0, bessel_j1, bessel_k0, bessel_k0e, bessel_k1,
    bessel_k1e, bessel_y0, bessel_y1, digamma, erf_inv, erfc, erfcx, fmod, gamma_p, gamma_q, lgamma, log_ndtr, ndtri,
    polygamma, spherical_j0, zeta,
};
pub use log::{log, log_1p};
pub use normal::{gelu, gelu_slope};
pub use pow::{pow, recip, rsqrt};
pub use trig::{cos, sin, tan};

use crate::Float;

/// The constant of the elements' precision.
#[inline(always)]
fn pick<V: Float>(single: f64, double: f64) -> V {
    V::splat(if V::DOUBLE { double } else { single })
}

/// `coefficients[0] * x^(N-1) + .. + coefficients[N-1]`.
#[inline(always)]
fn polynomial<V: Float, const N: usize>(x: V, coefficients: [f64; N]) -> V {
    let mut sum = V::splat(coefficients[0]);
    for coefficient in &coefficients[1..] {
        sum = sum.mul_add(x, V::splat(*coefficient));
    }
    sum
}
