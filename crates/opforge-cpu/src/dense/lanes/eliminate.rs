//! Gauss's elimination and Cholesky's factorisation, a matrix a lane. Pivots are found lane by lane, rows exchanged under a mask.

use opforge_tile::math;

use super::reflect::{add, dot};
use crate::simd::{Vector, VectorMask};

/// Gauss's elimination of `A`, in whose exchanges and steps `B` takes part; the sign that the exchanges make.
#[inline(always)]
fn eliminate<V: Vector>(a: &mut [V], b: &mut [V], n: usize, columns: usize) -> V {
    let (mut sign, zero) = (V::splat(1.0), V::splat(0.0));
    for step in 0..n {
        let (mut most, mut pivot) = (a[step * n + step].abs(), V::splat(step as f64));
        for i in step + 1..n {
            let size = a[i * n + step].abs();
            let larger = size.gt(most);
            most = V::select(larger, size, most);
            pivot = V::select(larger, V::splat(i as f64), pivot);
        }
        sign = V::select(pivot.eq(V::splat(step as f64)), sign, -sign);
        for i in step + 1..n {
            let chosen = pivot.eq(V::splat(i as f64));
            if chosen.any() {
                exchange(a, n, (step, i), step, chosen);
                exchange(b, columns, (step, i), 0, chosen);
            }
        }
        let pivot = a[step * n + step];
        let none = pivot.eq(zero);
        let (above, below) = a.split_at_mut((step + 1) * n);
        let (b_above, b_below) = b[..n * columns].split_at_mut((step + 1) * columns);
        for (i, row) in below.chunks_exact_mut(n).take(n - step - 1).enumerate() {
            let factor = V::select(none, zero, -(row[step] / pivot));
            add(&mut row[step + 1..], factor, &above[step * n + step + 1..]);
            add(&mut b_below[i * columns..(i + 1) * columns], factor, &b_above[step * columns..]);
        }
    }
    sign
}

/// Exchanges two rows of `n` elements, from column `first` on.
#[inline(always)]
fn exchange<V: Vector>(x: &mut [V], n: usize, (upper, lower): (usize, usize), first: usize, mask: V::Mask) {
    let (above, below) = x.split_at_mut(lower * n);
    for (x, y) in above[upper * n + first..(upper + 1) * n].iter_mut().zip(&mut below[first..n]) {
        (*x, *y) = (V::select(mask, *y, *x), V::select(mask, *x, *y));
    }
}

/// As `lu::log_determinant`, to the first elements of `result`.
#[inline(always)]
pub(super) fn log_determinant<V: Vector>(a: &mut [V], n: usize, result: &mut [V]) {
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    let mut determinant = eliminate(a, &mut [], n, 0);
    let (mut sign, mut log) = (determinant, zero);
    for step in 0..n {
        let pivot = a[step * n + step];
        let own = V::select(pivot.eq(zero), zero, V::select(pivot.is_nan(), pivot, one.copysign(pivot)));
        (sign, log, determinant) = (sign * own, log + math::log(pivot.abs()), determinant * pivot);
    }
    (result[0], result[1], result[2]) = (sign, log, determinant);
}

/// `X` of `A X = B` in place of `B`; the lanes of singular matrices.
#[inline(always)]
pub(super) fn solve<V: Vector>(a: &mut [V], b: &mut [V], n: usize, columns: usize) -> u32 {
    eliminate(a, b, n, columns);
    let mut singular = 0;
    for step in (0..n).rev() {
        let pivot = a[step * n + step];
        singular |= pivot.eq(V::splat(0.0)).bitmask();
        let (above, own) = b.split_at_mut(step * columns);
        let own = &mut own[..columns];
        for x in own.iter_mut() {
            *x = *x / pivot;
        }
        for (i, row) in above.chunks_exact_mut(columns.max(1)).enumerate() {
            add(row, -a[i * n + step], own);
        }
    }
    singular
}

/// Cholesky's factor in place of `A`; the lanes of matrices that are not positive definite.
#[inline(always)]
pub(super) fn cholesky<V: Vector>(a: &mut [V], n: usize) -> u32 {
    let (zero, infinity) = (V::splat(0.0), V::splat(f64::INFINITY));
    let mut good = u32::MAX;
    // Row by row: what lies before the diagonal of the rows above is done.
    for i in 0..n {
        let (above, own) = a.split_at_mut(i * n);
        let own = &mut own[..n];
        for (j, row) in above.chunks_exact(n).enumerate() {
            own[j] = (own[j] - dot(&own[..j], row)) / row[j];
        }
        let (before, rest) = own.split_at_mut(i);
        let pivot = rest[0] - dot(before, before);
        good &= (pivot.gt(zero) & pivot.lt(infinity)).bitmask();
        rest[0] = pivot.sqrt();
        rest[1..].fill(zero);
    }
    !good
}
