//! Functions of rare use, lane by lane in f64. Errors: f32 0.5 and a little; f64 those of the functions named.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

use opforge_core::WithDType;

use crate::simd::Float;

macro_rules! lane_by_lane {
    ($($(#[doc = $doc:literal])* $name:ident = $function:expr;)*) => {
        $($(#[doc = $doc])*
        #[inline(always)]
        pub fn $name<V: Float>(x: V) -> V {
            x.map_lanes(|x| V::Elem::from_f64($function(x.to_f64())))
        })*
    };
}

macro_rules! pair_by_pair {
    ($($(#[doc = $doc:literal])* $name:ident = $function:expr;)*) => {
        $($(#[doc = $doc])*
        #[inline(always)]
        pub fn $name<V: Float>(a: V, b: V) -> V {
            a.zip_lanes(b, |a, b| V::Elem::from_f64($function(a.to_f64(), b.to_f64())))
        })*
    };
}

lane_by_lane! {
    /// The arc sine.
    asin = f64::asin;
    /// The arc cosine.
    acos = f64::acos;
    /// The arc tangent.
    atan = f64::atan;
    /// The hyperbolic sine.
    sinh = f64::sinh;
    /// The hyperbolic cosine.
    cosh = f64::cosh;
    /// The inverse of the hyperbolic sine.
    asinh = libm::asinh;
    /// The inverse of the hyperbolic cosine.
    acosh = libm::acosh;
    /// The inverse of the hyperbolic tangent.
    atanh = libm::atanh;
    /// The logarithm to base 2, exact for powers of 2.
    log2 = f64::log2;
    /// The logarithm to base 10.
    log10 = f64::log10;
    /// 1 - erf(x), without cancellation.
    erfc = libm::erfc;
    /// The inverse of the error function.
    erf_inv = inverse_erf;
    /// The logarithm of the magnitude of the gamma function.
    lgamma = libm::lgamma;
    /// The slope of [`lgamma`].
    digamma = psi;
}

pair_by_pair! {
    /// The angle of the point `(b, a)`.
    atan2 = f64::atan2;
    /// The distance of the point `(a, b)` from the origin.
    hypot = f64::hypot;
    /// What division leaves, with the dividend's sign: exact.
    fmod = |a: f64, b: f64| a % b;
}

/// The derivative of order `n` of [`digamma`]; of order 0 that itself.
#[inline(always)]
pub fn polygamma<V: Float>(n: u32, x: V) -> V {
    x.map_lanes(|x| V::Elem::from_f64(derivative_of_psi(n, x.to_f64())))
}

/// Giles, "Approximating the erfinv function" (2012), refined by two steps of Newton's method.
fn inverse_erf(y: f64) -> f64 {
    let target = y.abs();
    if target >= 1.0 {
        return if target == 1.0 { f64::INFINITY.copysign(y) } else { f64::NAN };
    }
    let w = -((1.0 - target) * (1.0 + target)).ln();
    let start = if w < 5.0 {
        let central = [
            2.81022636e-08,
            3.43273939e-07,
            -3.5233877e-06,
            -4.39150654e-06,
            0.00021858087,
            -0.00125372503,
            -0.00417768164,
            0.246640727,
            1.50140941,
        ];
        horner(w - 2.5, central)
    } else {
        let outer = [
            -0.000200214257,
            0.000100950558,
            0.00134934322,
            -0.00367342844,
            0.00573950773,
            -0.0076224613,
            0.00943887047,
            1.00167406,
            2.83297682,
        ];
        horner(w.sqrt() - 3.0, outer)
    };
    let newton = |x: f64| {
        let excess = if x < 0.5 { libm::erf(x) - target } else { (1.0 - target) - libm::erfc(x) };
        x - excess / (FRAC_2_SQRT_PI * (-x * x).exp())
    };
    newton(newton(start * target)).copysign(y)
}

/// `coefficients[0] * x^(N-1) + .. + coefficients[N-1]`.
fn horner<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    coefficients.into_iter().fold(0.0, |sum, c| sum * x + c)
}

/// Reflection for negative arguments, recurrence up to 10, then the asymptotic series (Abramowitz and Stegun, 6.3.18).
fn psi(mut x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        let fraction = x - x.trunc();
        return if fraction == 0.0 { f64::NAN } else { psi(1.0 - x) - PI / (PI * fraction).tan() };
    }
    let mut sum = 0.0;
    while x < 10.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let tail = [-1.0 / 12.0, 691.0 / 32760.0, -1.0 / 132.0, 1.0 / 240.0, -1.0 / 252.0, 1.0 / 120.0, -1.0 / 12.0];
    sum + x.ln() - 0.5 / x + square * horner(square, tail)
}

/// `(-1)^(n+1) n! zeta(n + 1, x)`, for n of 1 and more.
fn derivative_of_psi(n: u32, x: f64) -> f64 {
    if n == 0 {
        return psi(x);
    }
    let factorial: f64 = (1..=n).map(f64::from).product();
    let sign = if n % 2 == 1 { 1.0 } else { -1.0 };
    sign * factorial * zeta(f64::from(n) + 1.0, x)
}

/// The zeta function of Hurwitz for whole exponents `s` above 1, by the formula of Euler and Maclaurin. NaN below -10^4, where the sum is too
/// long, and infinite at 0 and negative integers.
fn zeta(s: f64, mut q: f64) -> f64 {
    if q.is_nan() || q <= -1e4 {
        return f64::NAN;
    }
    let mut sum = 0.0;
    while q < 12.0 {
        sum += q.powi(-s as i32);
        q += 1.0;
    }
    if q.is_infinite() {
        return 0.0;
    }
    // B_2j / (2j)!.
    let bernoulli =
        [1.0 / 12.0, -1.0 / 720.0, 1.0 / 30240.0, -1.0 / 1209600.0, 1.0 / 47900160.0, -691.0 / 1307674368000.0];
    let mut term = q.powi(-s as i32);
    sum += term * (q / (s - 1.0) + 0.5);
    for (j, b) in bernoulli.into_iter().enumerate() {
        let k = 2.0 * j as f64;
        term *= if j == 0 { s / q } else { (s + k - 1.0) * (s + k) / (q * q) };
        sum += b * term;
    }
    sum
}
