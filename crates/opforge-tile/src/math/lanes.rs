//! Functions of rare use, lane by lane in f64. Errors: f32 0.5 and a little; f64 those of the functions named.

use super::special;
use crate::{Float, Intrinsic};

/// The intrinsic of an expression, by name.
macro_rules! intrinsic {
    ($name:expr, |$($x:ident),+| $value:expr) => {{
        #[inline]
        extern "C" fn function($($x: f64),+) -> f64 {
            $value
        }
        Intrinsic { name: $name, function }
    }};
}
pub(super) use intrinsic;

macro_rules! lane_by_lane {
    ($($(#[doc = $doc:literal])* $name:ident = $function:path;)*) => {
        $($(#[doc = $doc])*
        #[inline(always)]
        pub fn $name<V: Float>(x: V) -> V {
            x.call(intrinsic!(stringify!($name), |x| $function(x)))
        })*
    };
}

macro_rules! pair_by_pair {
    ($($(#[doc = $doc:literal])* $name:ident = |$a:ident, $b:ident| $value:expr;)*) => {
        $($(#[doc = $doc])*
        #[inline(always)]
        pub fn $name<V: Float>(a: V, b: V) -> V {
            a.call_2(b, intrinsic!(stringify!($name), |$a, $b| $value))
        })*
    };
}

lane_by_lane! {
    /// 1 - erf(x), without cancellation.
    erfc = libm::erfc;
    /// The inverse of the error function.
    erf_inv = special::inverse_erf;
    /// The logarithm of the magnitude of the gamma function.
    lgamma = libm::lgamma;
    /// The slope of [`lgamma`].
    digamma = special::psi;
    /// `exp(x^2) erfc(x)`.
    erfcx = special::erfc_scaled;
    /// The logarithm of the normal distribution function.
    log_ndtr = special::log_normal_cdf;
    /// The inverse of the normal distribution function; NaN outside of 0 to 1.
    ndtri = special::normal_quantile;
    /// The modified Bessel function of the first kind and order 0.
    bessel_i0 = special::i0;
    /// That of order 1.
    bessel_i1 = special::i1;
    /// `I_0(x) exp(-|x|)`.
    bessel_i0e = special::i0_scaled;
    /// `I_1(x) exp(-|x|)`.
    bessel_i1e = special::i1_scaled;
    /// The modified Bessel function of the second kind and order 0; NaN below 0.
    bessel_k0 = special::k0;
    /// That of order 1.
    bessel_k1 = special::k1;
    /// `K_0(x) exp(x)`.
    bessel_k0e = special::k0_scaled;
    /// `K_1(x) exp(x)`.
    bessel_k1e = special::k1_scaled;
    /// The Bessel function of the first kind and order 0.
    bessel_j0 = libm::j0;
    /// That of order 1.
    bessel_j1 = libm::j1;
    /// The Bessel function of the second kind and order 0; NaN below 0.
    bessel_y0 = special::y0;
    /// That of order 1.
    bessel_y1 = special::y1;
    /// The spherical Bessel function of the first kind and order 0: `sin(x) / x`.
    spherical_j0 = special::spherical_j0;
    /// The Airy function Ai.
    airy_ai = special::ai;
}

pair_by_pair! {
    /// What division leaves, with the dividend's sign: exact.
    fmod = |a, b| a % b;
    /// The regularised lower incomplete gamma function P(a, b).
    gamma_p = |a, b| special::gamma_p(a, b);
    /// The regularised upper incomplete gamma function Q(a, b) = 1 - P(a, b).
    gamma_q = |a, b| special::gamma_q(a, b);
    /// The zeta function of Hurwitz, of the exponent `a` at `b`.
    zeta = |a, b| special::zeta(a, b);
}

/// The derivative of order `n` of [`digamma`]; of order 0 that itself.
#[inline(always)]
pub fn polygamma<V: Float>(n: u32, x: V) -> V {
    let order = V::splat(f64::from(n));
    order.call_2(x, intrinsic!("polygamma", |n, x| special::derivative_of_psi(n as u32, x)))
}
