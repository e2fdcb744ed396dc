//! The derivatives of the gamma function's logarithm, and the zeta function.

use std::f64::consts::PI;

use super::horner;

/// Reflection for negative arguments, recurrence up to 10, then the asymptotic series (DLMF 5.11.2).
pub fn psi(mut x: f64) -> f64 {
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

/// `(-1)^(n+1) n! zeta(n + 1, x)`, for n of 1 and more (DLMF 5.15.1).
pub fn derivative_of_psi(n: u32, x: f64) -> f64 {
    if n == 0 {
        return psi(x);
    }
    let factorial: f64 = (1..=n).map(f64::from).product();
    let sign = if n % 2 == 1 { 1.0 } else { -1.0 };
    sign * factorial * zeta(f64::from(n) + 1.0, x)
}

/// `B_2j / (2j)!`, of DLMF 2.10.1.
const BERNOULLI: [f64; 10] = [
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30240.0,
    -1.0 / 1209600.0,
    1.0 / 47900160.0,
    -691.0 / 1307674368000.0,
    1.0 / 74724249600.0,
    -3617.0 / 10670622842880000.0,
    43867.0 / 5109094217170944000.0,
    -174611.0 / 802857662698291200000.0,
];

/// The zeta function of Hurwitz by the formula of Euler and Maclaurin (DLMF 25.11.5). Infinite for `s = 1` and for `q` 0 or a negative
/// integer; NaN for `s` below 1, for other negative `q` with a fractional `s`, and for those below -10^4, where the sum is too long.
pub fn zeta(s: f64, mut q: f64) -> f64 {
    if s == 1.0 {
        return f64::INFINITY;
    }
    if q.is_nan() || s < 1.0 {
        return f64::NAN;
    }
    if q <= 0.0 {
        if q == q.floor() {
            return f64::INFINITY;
        }
        if s != s.floor() || q <= -1e4 {
            return f64::NAN;
        }
    }
    if s.is_nan() || q.is_infinite() {
        return if s.is_nan() { s } else { 0.0 };
    }
    let mut sum = 0.0;
    while q < 12.0 + s {
        let term = q.powf(-s);
        sum += term;
        // What follows is too small to matter, or the sum is not a number.
        if q > 0.0 && (sum.is_nan() || term <= 1e-18 * sum.abs()) {
            return sum;
        }
        q += 1.0;
    }
    let mut term = q.powf(-s);
    sum += term * (q / (s - 1.0) + 0.5);
    for (j, b) in BERNOULLI.into_iter().enumerate() {
        let k = 2.0 * j as f64;
        term *= if j == 0 { s / q } else { (s + k - 1.0) / q * ((s + k) / q) };
        sum += b * term;
    }
    sum
}
