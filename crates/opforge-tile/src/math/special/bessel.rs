//! Bessel functions.

use std::f64::consts::PI;

use super::horner;

/// Above this, the asymptotic series reaches full precision.
const LARGE: f64 = 20.0;
const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;

/// `I_0(x)`.
pub fn i0(x: f64) -> f64 {
    i(0, x)
}

/// `I_1(x)`.
pub fn i1(x: f64) -> f64 {
    i(1, x).copysign(x)
}

/// `I_0(x) e^-|x|`.
pub fn i0_scaled(x: f64) -> f64 {
    i_scaled(0, x.abs())
}

/// `I_1(x) e^-|x|`.
pub fn i1_scaled(x: f64) -> f64 {
    i_scaled(1, x.abs()).copysign(x)
}

/// `I_n(|x|)`. The exponential is applied in halves: it overflows before its product does.
fn i(n: i32, x: f64) -> f64 {
    let x = x.abs();
    if x <= LARGE {
        return i_series(n, x);
    }
    let half = (0.5 * x).exp();
    if half.is_infinite() { half } else { i_scaled(n, x) * half * half }
}

fn i_scaled(n: i32, x: f64) -> f64 {
    if x <= LARGE { i_series(n, x) * (-x).exp() } else { hankel(f64::from(n), -x) / (2.0 * PI * x).sqrt() }
}

/// DLMF 10.25.2, for x of 0 and more: no term is negative.
fn i_series(n: i32, x: f64) -> f64 {
    let square = 0.25 * x * x;
    let mut term = (0.5 * x).powi(n);
    let mut sum = term;
    for k in 1..80 {
        term *= square / f64::from(k * (k + n));
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
    }
    sum
}

/// The sum of DLMF 10.40.2 in 1/x, that of 10.40.1 for negative x; |x| of [`LARGE`] and more.
fn hankel(order: f64, x: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 1..40 {
        let odd = f64::from(2 * k - 1);
        term *= (4.0 * order * order - odd * odd) / (f64::from(8 * k) * x);
        sum += term;
        if term.abs() < 1e-17 {
            break;
        }
    }
    sum
}

/// `K_0(x)`.
pub fn k0(x: f64) -> f64 {
    k_from_scaled(k0_scaled(x), x)
}

/// `K_1(x)`.
pub fn k1(x: f64) -> f64 {
    k_from_scaled(k1_scaled(x), x)
}

fn k_from_scaled(scaled: f64, x: f64) -> f64 {
    if x == 0.0 { scaled } else { scaled * (-x).exp() }
}

/// `K_0(x) e^x`; NaN below 0.
pub fn k0_scaled(x: f64) -> f64 {
    if x > 0.0 && x <= 1.0 { k0_series(x) * x.exp() } else { k_scaled(0.0, x) }
}

/// `K_1(x) e^x`; NaN below 0. The Wronskian (DLMF 10.28.2) gives it near 0.
pub fn k1_scaled(x: f64) -> f64 {
    if x > 0.0 && x <= 1.0 {
        (1.0 / x - i_series(1, x) * k0_series(x)) / i_series(0, x) * x.exp()
    } else {
        k_scaled(1.0, x)
    }
}

/// DLMF 10.31.2.
fn k0_series(x: f64) -> f64 {
    let square = 0.25 * x * x;
    let (mut term, mut harmonic, mut sum) = (1.0, 0.0, 0.0);
    for k in 1..20 {
        let k = f64::from(k);
        term *= square / (k * k);
        harmonic += 1.0 / k;
        sum += term * harmonic;
    }
    sum - ((0.5 * x).ln() + EULER_GAMMA) * i_series(0, x)
}

/// `K_order(x) e^x` for orders up to 1 and x of a half and more: DLMF 10.32.9 by the trapezoidal rule, which converges exponentially here.
pub fn k_scaled(order: f64, x: f64) -> f64 {
    const STEP: f64 = 0.0625;
    if x > LARGE {
        return (0.5 * PI / x).sqrt() * hankel(order, x);
    }
    if x.is_nan() || x <= 0.0 {
        return if x == 0.0 { f64::INFINITY } else { f64::NAN };
    }
    let mut sum = 0.5;
    for k in 1..100 {
        let t = STEP * f64::from(k);
        let half = (0.5 * t).sinh();
        let term = (-2.0 * x * half * half).exp() * (order * t).cosh();
        sum += term;
        if term < 1e-18 {
            break;
        }
    }
    STEP * sum
}

/// `Y_0(x)`; minus infinity at 0 and NaN below.
pub fn y0(x: f64) -> f64 {
    if x < 0.0 { f64::NAN } else { libm::y0(x) }
}

/// `Y_1(x)`; minus infinity at 0 and NaN below.
pub fn y1(x: f64) -> f64 {
    if x < 0.0 { f64::NAN } else { libm::y1(x) }
}

/// `sin(x) / x`, 1 at 0 and 0 at infinity.
pub fn spherical_j0(x: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    if x.abs() < 0.5 {
        let taylor =
            [1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0];
        return horner(x * x, taylor);
    }
    x.sin() / x
}
