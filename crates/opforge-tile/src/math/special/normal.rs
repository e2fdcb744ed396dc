//! The error function's kin, and the normal distribution.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};

use super::horner;

/// `exp(x^2) erfc(x)`; from 25 on by DLMF 7.12.1.
pub fn erfc_scaled(x: f64) -> f64 {
    let square = x * x;
    if x < 25.0 {
        // With what rounding the square has lost: the exponential makes it large.
        let exp = square.exp();
        let lost = if exp.is_finite() { libm::fma(x, x, -square) } else { 0.0 };
        return exp * (1.0 + lost) * libm::erfc(x);
    }
    let series = (1..=8).rev().fold(1.0, |sum, k| 1.0 - sum * (f64::from(k) - 0.5) / square);
    0.5 * FRAC_2_SQRT_PI * series / x
}

/// The logarithm of the normal distribution function.
pub fn log_normal_cdf(x: f64) -> f64 {
    if x < -1.0 {
        (0.5 * erfc_scaled(-x * FRAC_1_SQRT_2)).ln() - 0.5 * x * x
    } else {
        (-0.5 * libm::erfc(x * FRAC_1_SQRT_2)).ln_1p()
    }
}

/// The inverse of the normal distribution function; NaN outside of 0 to 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    if p.is_nan() || p < 0.0 {
        return f64::NAN;
    }
    if p > 0.05 {
        return SQRT_2 * inverse_erf(2.0 * p - 1.0);
    }
    // erfc(x) = 2 p, by Newton's method on the logarithms, from the right of the root: the function is concave.
    let target = (2.0 * p).ln();
    let mut x = (-target).sqrt();
    for _ in 0..12 {
        let scaled = erfc_scaled(x);
        let step = (scaled.ln() - x * x - target) * scaled / FRAC_2_SQRT_PI;
        x += step;
        if step.abs() < 1e-15 * x {
            break;
        }
    }
    -SQRT_2 * x
}

/// Giles, "Approximating the erfinv function" (2012), refined by two steps of Newton's method.
pub fn inverse_erf(y: f64) -> f64 {
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
