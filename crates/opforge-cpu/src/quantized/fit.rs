//! Scales that fit values best, in the sense of least squares.

/// 0 where all values are finite, else NaN: added to a scale, it makes the block NaN.
#[inline(always)]
pub(super) fn poison(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |sum, value| sum + value * 0.0)
}

/// The value of the greatest magnitude.
#[inline(always)]
pub(super) fn extreme(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |most: f32, &value| if value.abs() > most.abs() { value } else { most })
}

/// The least and the greatest value.
#[inline(always)]
pub(super) fn range(values: &[f32]) -> (f32, f32) {
    values.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)))
}

/// `1 / x`, and 0 for 0.
#[inline(always)]
pub(super) fn inverse(x: f32) -> f32 {
    if x == 0.0 { 0.0 } else { 1.0 / x }
}

/// The nearest integer of a range between two integers below 2^21, the even one of two; the lowest for NaN.
///
/// Every processor does this in vectors: floats between 2^23 and 2^24 are the integers, so that adding 1.5 * 2^23 rounds.
#[inline(always)]
pub(super) fn nearest(x: f32, low: f32, high: f32) -> f32 {
    const ROUNDER: f32 = 12_582_912.0;
    x.max(low).min(high) + ROUNDER - ROUNDER
}

/// A scale `s` such that `s q` is near the values, q being integers in `-limit..limit`.
///
/// Of scales near `extreme / -limit`, each rounded by, the one whose least-squares refinement leaves the smallest error: for integers q the sum of
/// `w (x - s q)^2` is least at `s = sum(w x q) / sum(w q^2)`, where it is `sum(w x^2) - s sum(w x q)`. Weights w are `x^2`: large values matter more.
pub(super) fn symmetric(values: &[f32], limit: f32) -> f32 {
    let most = extreme(values);
    let (mut best, mut gain) = (0.0, 0.0);
    for step in -9..=9 {
        let inverse = -(limit + 0.1 * step as f32) * inverse(most);
        let (mut xq, mut qq) = (0.0f32, 0.0f32);
        for &x in values {
            let q = nearest(x * inverse, -limit, limit - 1.0);
            xq += x * x * x * q;
            qq += x * x * q * q;
        }
        if xq * xq > gain * qq {
            (best, gain) = (xq / qq, xq * xq / qq);
        }
    }
    best
}

/// A scale and a minimum, not negative, such that `scale q - min` is near the values, q being integers in `0..=steps`.
///
/// It begins with the range of the values, 0 included, and a few times rounds and solves the normal equations of `scale` and `min`.
pub(super) fn affine(values: &[f32], steps: f32) -> (f32, f32) {
    let (low, high) = range(values);
    let mut min = (-low).max(0.0);
    let mut scale = (high + min).max(0.0) / steps;
    let (mut best, mut least) = ((scale, min), error(values, steps, scale, min));
    for _ in 0..5 {
        (scale, min) = refined(values, steps, scale, min);
        let remaining = error(values, steps, scale, min);
        if remaining >= least {
            break;
        }
        (best, least) = ((scale, min), remaining);
    }
    best
}

/// The sum of squared errors.
fn error(values: &[f32], steps: f32, scale: f32, min: f32) -> f32 {
    let inverse = inverse(scale);
    let distance = |&x: &f32| x + min - scale * nearest((x + min) * inverse, 0.0, steps);
    values.iter().map(distance).map(|d| d * d).sum()
}

/// The least-squares scale and minimum for the integers that the present ones round to.
fn refined(values: &[f32], steps: f32, scale: f32, min: f32) -> (f32, f32) {
    let (inverse, n) = (inverse(scale), values.len() as f32);
    let [mut x1, mut q1, mut qq, mut xq] = [0.0f32; 4];
    for &x in values {
        let q = nearest((x + min) * inverse, 0.0, steps);
        x1 += x;
        q1 += q;
        qq += q * q;
        xq += x * q;
    }
    let determinant = n * qq - q1 * q1;
    if determinant <= 0.0 {
        return (scale, min);
    }
    let min = (q1 * xq - qq * x1) / determinant;
    if min > 0.0 { ((n * xq - q1 * x1) / determinant, min) } else { (xq / qq, 0.0) }
}
