//! The regularised incomplete gamma functions, P and Q of DLMF 8.2.4.

use std::f64::consts::PI;
use std::sync::LazyLock;

use super::gamma::psi;
use super::horner;

/// `P(a, x)`; NaN for negative arguments and where both are 0 or infinite.
pub fn gamma_p(a: f64, x: f64) -> f64 {
    match at_the_edge(a, x) {
        Some(p) => p,
        None if x > 1.0 && x >= a => 1.0 - upper(a, x),
        None => lower(a, x),
    }
}

/// `Q(a, x) = 1 - P(a, x)`.
pub fn gamma_q(a: f64, x: f64) -> f64 {
    match at_the_edge(a, x) {
        Some(p) => 1.0 - p,
        None if x > 1.0 && x >= a => upper(a, x),
        // Where P is above a half or so, its complement would lose digits.
        None if x <= 1.0 && a < if x > 0.5 { 1.1 * x } else { -0.4 / x.ln() } => upper_near_zero(a, x),
        None => 1.0 - lower(a, x),
    }
}

/// P where an argument is out of range, 0 or infinite.
fn at_the_edge(a: f64, x: f64) -> Option<f64> {
    let indefinite = a == 0.0 && x == 0.0 || a.is_infinite() && x.is_infinite();
    if a.is_nan() || x.is_nan() || a < 0.0 || x < 0.0 || indefinite {
        Some(f64::NAN)
    } else if a == 0.0 || x.is_infinite() {
        Some(1.0)
    } else if x == 0.0 || a.is_infinite() {
        Some(0.0)
    } else {
        None
    }
}

/// `P(a, x)` for x below a, or small: DLMF 8.11.4, or where that converges slowly, the integral.
fn lower(a: f64, x: f64) -> f64 {
    if a > 100.0 {
        return factor(a, x) * a * integral(a, x, -1.0);
    }
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..500 {
        term *= x / (a + f64::from(n));
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
    }
    factor(a, x) * sum
}

/// `Q(a, x)` for x of a and of 1 and more: the integral, or where that is not smooth, the fraction.
fn upper(a: f64, x: f64) -> f64 {
    factor(a, x) * a * if a > 100.0 { integral(a, x, 1.0) } else { fraction(a, x) }
}

/// Legendre's continued fraction (DLMF 8.9.2, contracted), by Lentz's method.
fn fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (f64::MAX, 1.0 / b);
    let mut product = d;
    for n in 1..300 {
        let n = f64::from(n);
        let numerator = n * (a - n);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        product *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    product
}

/// `Q(a, x)` for x up to 1, from DLMF 8.7.1 without cancellation.
fn upper_near_zero(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 0.0);
    for n in 1..30 {
        term *= -x / f64::from(n);
        sum += term / (a + f64::from(n));
    }
    let logarithm = a * x.ln() - ln_gamma_1p(a);
    -logarithm.exp_m1() - logarithm.exp() * a * sum
}

/// `ln gamma(1 + a)`, precise for the smallest a.
fn ln_gamma_1p(a: f64) -> f64 {
    let rounded = 1.0 + a;
    libm::lgamma(rounded) + psi(rounded) * (a - (rounded - 1.0))
}

/// `x^a e^-x / gamma(a + 1)`.
fn factor(a: f64, x: f64) -> f64 {
    if a < 10.0 {
        // In halves, neither of which overflows or underflows early.
        let half = x.powf(0.5 * a) * (-0.5 * x).exp();
        return half / libm::tgamma(a + 1.0) * half;
    }
    // Stirling's series (DLMF 5.11.1) and the deviance of x from a.
    let square = 1.0 / (a * a);
    let series = [1.0 / 156.0, -691.0 / 360360.0, 1.0 / 1188.0, -1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0];
    (-a * deviance((x - a) / a, x / a) - horner(square, series) / a).exp() / (2.0 * PI * a).sqrt()
}

/// `excess - ln(ratio)`, where `ratio = 1 + excess`.
fn deviance(excess: f64, ratio: f64) -> f64 {
    if excess.abs() > 0.4 {
        return excess - ratio.ln();
    }
    // ln((1 + r) / (1 - r)) = 2 (r + r^3 / 3 + ..).
    let r = excess / (2.0 + excess);
    let square = r * r;
    let series = (1..=16).rev().fold(0.0, |sum, k| (sum + 1.0 / f64::from(2 * k + 1)) * square);
    r * (excess - 2.0 * series)
}

/// Nodes `u` and weights of a double exponential formula for integrals from 0 to infinity of what falls exponentially: `u = exp(v - e^-v)`.
static NODES: LazyLock<[(f64, f64); 72]> = LazyLock::new(|| {
    const STEP: f64 = 0.125;
    std::array::from_fn(|k| {
        let v = -4.0 + STEP * k as f64;
        let u = (v - (-v).exp()).exp();
        (u, STEP * u * (1.0 + (-v).exp()))
    })
});

/// The integral over u of `exp(sign a u - x (e^(sign u) - 1))`: with `t = x e^(sign u)`, that of the gamma function on one side of x, divided by
/// its integrand there. It falls from 1 when `sign (x - a)` is not negative.
fn integral(a: f64, x: f64, sign: f64) -> f64 {
    let slope = sign * (x - a);
    let width = 1.0 / (slope + x.max(a).sqrt());
    let mut sum = 0.0;
    for (u, weight) in NODES.iter() {
        let u = u * width;
        let term = (-slope * u - x * exp_m1_less(sign * u)).exp();
        sum += weight * term;
        if term < 1e-18 {
            break;
        }
    }
    width * sum
}

/// `e^z - 1 - z`.
fn exp_m1_less(z: f64) -> f64 {
    if z.abs() > 0.5 {
        return z.exp_m1() - z;
    }
    z * z * (3..=16).rev().fold(1.0, |sum, k| 1.0 + sum * z / f64::from(k)) * 0.5
}
