//! The Airy function Ai.

use std::f64::consts::{FRAC_PI_4, PI};

use super::bessel::k_scaled;

/// Ai and its derivative at 0, -1, .. , -11, computed with 40 digits.
const POINTS: [(f64, f64); 12] = [
    (0.35502805388781724, -0.2588194037928068),
    (0.53556088329235212, -0.010160567116645209),
    (0.22740742820168558, 0.61825902074169104),
    (-0.37881429367765807, 0.31458376921659881),
    (-0.070265532949289515, -0.79062857536858138),
    (0.35076100902411432, 0.32719281855444314),
    (-0.32914517362982311, 0.34593548728134289),
    (0.18428083525050564, -0.77100816841012655),
    (-0.052705050356386203, 0.93556093819830655),
    (-0.022133721547341404, -0.97566398092633159),
    (0.040241238486443191, 0.99626504413279006),
    (-0.0087595892557023813, -1.0273278736645794),
];

/// `Ai(x)`: DLMF 9.6.2 from 1 on, Taylor's series about the nearest whole number down to -11, DLMF 9.7.9 below.
pub fn ai(x: f64) -> f64 {
    if x.is_infinite() {
        0.0
    } else if x > 1.0 {
        let zeta = 2.0 / 3.0 * x * x.sqrt();
        (x / 3.0).sqrt() / PI * k_scaled(1.0 / 3.0, zeta) * (-zeta).exp()
    } else if x > -11.0 {
        taylor(x)
    } else {
        oscillating(-x)
    }
}

/// From `y'' = x y`: the coefficients about c obey `(k + 2) (k + 1) a_(k+2) = c a_k + a_(k-1)`.
fn taylor(x: f64) -> f64 {
    let nearest = (-x).round().max(0.0);
    let (value, slope) = POINTS[nearest as usize];
    let h = x + nearest;
    let (mut before, mut a, mut next) = (0.0, value, slope);
    let (mut sum, mut power) = (value, 1.0);
    for k in 0..32 {
        power *= h;
        sum += next * power;
        let after = (before - nearest * a) / f64::from((k + 2) * (k + 1));
        (before, a, next) = (a, next, after);
    }
    sum
}

/// `Ai(-z)` for large z.
fn oscillating(z: f64) -> f64 {
    let zeta = 2.0 / 3.0 * z * z.sqrt();
    let (mut term, mut even, mut odd) = (1.0, 1.0, 0.0);
    for k in 1..24 {
        let n = f64::from(6 * k);
        term *= (n - 5.0) * (n - 3.0) * (n - 1.0) / (216.0 * f64::from(k) * (n / 3.0 - 1.0) * zeta);
        let sign = if k % 4 < 2 { 1.0 } else { -1.0 };
        *(if k % 2 == 0 { &mut even } else { &mut odd }) += sign * term;
        if term < 1e-17 {
            break;
        }
    }
    let phase = zeta - FRAC_PI_4;
    (even * phase.cos() + odd * phase.sin()) / (PI.sqrt() * z.sqrt().sqrt())
}
