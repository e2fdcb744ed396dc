//! Mathematical functions of f32 and f64.
//!
//! Errors are the greatest seen, in units in the last place (ULP) of the result. f32: against the standard library in f64, over every seventh
//! value. f64: against the standard library, itself within about one unit, over 700,000 values. "Portable" is the level without fused
//! multiply-add.
//! Signed zeros, infinities, NaN, subnormals, overflow and underflow are as in C's library unless said otherwise.

#![allow(clippy::excessive_precision, reason = "constants stand as published")]

mod activation;
mod airy;
mod bessel;
mod distance;
mod division;
mod erf;
mod exp;
mod gamma;
mod inverse;
mod lanes;
mod log;
mod modified_first;
mod modified_second;
mod normal;
mod parts;
mod pow;
mod quantile;
mod special;
mod trig;

pub use activation::{gelu_tanh, sigmoid, silu, tanh};
pub use airy::airy_ai;
pub use bessel::{bessel_j0, bessel_j1, bessel_y0, bessel_y1, spherical_j0};
pub use distance::hypot;
pub use division::fmod;
pub use erf::{erf, erfc, erfcx};
pub use exp::{exp, exp_m1, exp2};
pub use gamma::{digamma, lgamma, trigamma};
pub use inverse::{acos, acosh, asin, asinh, atan, atan2, atanh, cosh, log2, log10, sinh};
pub use lanes::{gamma_p, gamma_q, polygamma, zeta};
pub use log::{log, log_1p};
pub use modified_first::{bessel_i0, bessel_i0e, bessel_i1, bessel_i1e};
pub use modified_second::{bessel_k0, bessel_k0e, bessel_k1, bessel_k1e};
pub use normal::{gelu, gelu_slope, log_ndtr};
pub use parts::{exponent, mantissa};
pub use pow::{pow, power, recip, rsqrt};
pub use quantile::{erf_inv, ndtri};
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

/// The polynomial of f64: the short one where the result is rounded to f32 at last.
#[inline(always)]
fn fitted<V: Float, const N: usize, const M: usize>(x: V, short: bool, single: [f64; N], double: [f64; M]) -> V {
    if short { polynomial(x, single) } else { polynomial(x, double) }
}

/// Functions that are computed in f64, also of f32. The function named is told whether the result is rounded to f32, for which shorter series do.
macro_rules! in_double {
    ($($(#[doc = $doc:literal])* $name:ident = $function:ident;)*) => {
        $($(#[doc = $doc])*
        #[inline(always)]
        pub fn $name<V: Float>(x: V) -> V {
            if V::DOUBLE {
                return $function(x, false);
            }
            x.via_f64(#[inline(always)] |x| $function(x, true))
        })*
    };
}
use in_double;
