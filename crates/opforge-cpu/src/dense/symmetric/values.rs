//! Eigenvalues alone of symmetric tridiagonal matrices, by the QL algorithm without square roots (of Pal, Walker and Kahan: Parlett, "The symmetric
//! eigenvalue problem", 1980, 8.15).

use std::ops::Range;

use super::super::Failure;

/// Steps for each eigenvalue after which the iteration is given up.
const STEPS: usize = 60;

/// Overwrites the diagonal with the eigenvalues, in ascending order. `e` holds as many elements, those beside the diagonal first.
pub(super) fn eigenvalues(d: &mut [f64], e: &mut [f64]) -> Result<(), Failure> {
    let n = d.len();
    let largest = d.iter().chain(&e[..n - 1]).fold(0f64, |largest, x| largest.max(x.abs()));
    let (epsilon, least) = (f64::EPSILON.powi(2), (f64::EPSILON.powi(2) * largest).powi(2));
    e.iter_mut().for_each(|e| *e *= *e);
    for first in 0..n {
        for steps in 0.. {
            let negligible = |&i: &usize| e[i] <= epsilon * (d[i] * d[i + 1]).abs() + least;
            let last = (first..n - 1).find(negligible).unwrap_or(n - 1);
            if last == first {
                break;
            }
            if steps == STEPS {
                return Err(Failure::NotConverged);
            }
            step(d, e, first..last);
        }
    }
    d.sort_unstable_by(f64::total_cmp);
    Ok(())
}

/// A step on rows from that of `range` to its end, the last included; `e` are squares.
fn step(d: &mut [f64], e: &mut [f64], range: Range<usize>) {
    let Range { start, end } = range;
    let root = e[start].sqrt();
    let ratio = (d[start + 1] - d[start]) / (2.0 * root);
    let shift = d[start] - root / (ratio + (ratio * ratio + 1.0).sqrt().copysign(ratio));
    let (mut c, mut s, mut gamma) = (1.0, 0.0, d[end] - shift);
    let mut p = gamma * gamma;
    for i in range.rev() {
        let (square, r) = (e[i], p + e[i]);
        if i + 1 < end {
            e[i + 1] = s * r;
        }
        let (old_c, old_gamma, inverse) = (c, gamma, r / p);
        (c, s) = (p / r, square / r);
        gamma = c * (d[i] - shift) - s * old_gamma;
        d[i + 1] = old_gamma + (d[i] - gamma);
        p = if c == 0.0 { old_c * square } else { gamma * gamma * inverse };
    }
    e[start] = s * p;
    d[start] = shift + gamma;
}
