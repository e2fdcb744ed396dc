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

/// As [`nearest`], of two integers that are equally near the one farther from 0.
#[inline(always)]
pub(super) fn nearest_outward(x: f32, low: f32, high: f32) -> f32 {
    let x = x.max(low).min(high);
    let even = nearest(x, low, high);
    // The difference is exact.
    if x - even == 0.5f32.copysign(x) { even + 1f32.copysign(x) } else { even }
}

/// The next integer of a range that is not above, between two integers from 0 to 2^21; the lowest for NaN.
#[inline(always)]
pub(super) fn lower(x: f32, low: f32, high: f32) -> f32 {
    let x = x.max(low).min(high);
    let even = nearest(x, low, high);
    if even > x { even - 1.0 } else { even }
}

/// The sum, as a tree, which vectors can add.
#[inline(always)]
fn total<const N: usize>(mut values: [f32; N]) -> f32 {
    let mut half = N / 2;
    while half > 0 {
        let (low, high) = values.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(low, high)| *low += *high);
        half /= 2;
    }
    values[0]
}

/// The integers that values divided by a scale round to.
#[inline(always)]
fn quants<const N: usize>(values: &[f32; N], inverse: f32, low: f32, high: f32) -> [f32; N] {
    std::array::from_fn(|i| nearest(values[i] * inverse, low, high))
}

/// A scale `s` such that `s q` is near the values, q being integers in `-limit..limit`.
///
/// Of scales near `extreme / -limit`, each rounded by, the one whose least-squares refinement leaves the smallest error: for integers q the sum of
/// `w (x - s q)^2` is least at `s = sum(w x q) / sum(w q^2)`, where it is `sum(w x^2) - s sum(w x q)`. Weights w are `x^2`: large values matter more.
pub(super) fn symmetric<const N: usize>(values: &[f32; N], limit: f32) -> f32 {
    // Of values up to 1 no power overflows.
    let (most, to_unit) = (extreme(values), inverse(extreme(values)));
    let values = values.map(|x| x * to_unit);
    let (mut best, mut gain) = (0.0, 0.0);
    for step in -9..=9 {
        let q = quants(&values, -(limit + 0.1 * step as f32), -limit, limit - 1.0);
        let weighted: [f32; N] = std::array::from_fn(|i| values[i] * values[i] * q[i]);
        let xq = total::<N>(std::array::from_fn(|i| weighted[i] * values[i]));
        let qq = total::<N>(std::array::from_fn(|i| weighted[i] * q[i]));
        if xq * xq > gain * qq {
            (best, gain) = (xq / qq, xq * xq / qq);
        }
    }
    best * most
}

/// A scale and a minimum, not negative, such that `scale q - min` is near the values, q being integers in `0..=steps`.
///
/// It begins with the range of the values, 0 included, and a few times rounds and solves the normal equations of `scale` and `min`.
pub(super) fn affine<const N: usize>(values: &[f32; N], steps: f32) -> (f32, f32) {
    let (low, high) = range(values);
    let mut min = (-low).max(0.0);
    let mut scale = (high + min).max(0.0) / steps;
    let (mut best, mut least) = ((scale, min), f32::INFINITY);
    for _ in 0..6 {
        let shifted = values.map(|x| x + min);
        let q = quants(&shifted, inverse(scale), 0.0, steps);
        let error = total::<N>(std::array::from_fn(|i| (shifted[i] - scale * q[i]).powi(2)));
        if error >= least {
            break;
        }
        (best, least) = ((scale, min), error);
        (scale, min) = refined(values, &q, (scale, min));
    }
    best
}

/// The least-squares scale and minimum for given integers; those given where all are equal.
fn refined<const N: usize>(x: &[f32; N], q: &[f32; N], present: (f32, f32)) -> (f32, f32) {
    let (n, x1, q1) = (N as f32, total(*x), total(*q));
    let qq = total::<N>(std::array::from_fn(|i| q[i] * q[i]));
    let xq = total::<N>(std::array::from_fn(|i| x[i] * q[i]));
    let determinant = n * qq - q1 * q1;
    if determinant <= 0.0 {
        return present;
    }
    let min = (q1 * xq - qq * x1) / determinant;
    if min > 0.0 { ((n * xq - q1 * x1) / determinant, min) } else { (xq / qq, 0.0) }
}
