//! Symmetric tridiagonal matrices, a lane each, by steps of the QL algorithm with implicit shifts (Dubrulle, Martin and Wilkinson, "The implicit QL
//! algorithm", 1968). The rotations of a step are applied to a few rows of the vectors at a time, from column to column, so that each element is
//! read and written once a step (Van Zee, van de Geijn and Quintana-Ortí, "Restructuring the tridiagonal and bidiagonal QR algorithms for
//! performance", 2014).
//!
//! Lanes take the same steps: one that has less to do is turned by nothing.

use std::ops::Range;

use opforge_core::WithDType;

use crate::simd::{Vector, VectorMask};

/// Matrices are given with a largest element of this power of two, so that squares neither overflow nor, of what counts, underflow.
pub(in crate::dense) const fn exponent(double: bool) -> i32 {
    if double { 200 } else { 30 }
}

/// Squares below this count as 0: they are too small to be told exactly.
#[inline(always)]
pub(in crate::dense) fn least_square<V: Vector>() -> V {
    V::splat(if V::DOUBLE { 1e-250 } else { 1e-30 })
}

/// The distance from 1 to the next number.
#[inline(always)]
pub(in crate::dense) fn epsilon<V: Vector>() -> V {
    V::splat(if V::DOUBLE { f64::EPSILON } else { f32::EPSILON.into() })
}

/// Steps for each eigenvalue after which the iteration is given up.
const STEPS: usize = 60;
/// Rows of the vectors that are turned together.
const ROWS: usize = 4;

/// Tridiagonal matrices of `n` rows: `n` elements on the diagonal and, of as many, `n - 1` beside it.
pub(in crate::dense) struct Tridiagonal<'a, V> {
    pub diagonal: &'a mut [V],
    pub beside: &'a mut [V],
}

/// The cosines and sines of a step, as many as the matrix has rows.
pub(in crate::dense) struct Rotations<'a, V> {
    pub cosines: &'a mut [V],
    pub sines: &'a mut [V],
}

/// Turns `T` to its eigenvalues, in any order, and `vectors`, rows of `n` elements, to `vectors Q` with `T = Q L Q^T`. The lanes that do not converge.
#[inline(always)]
pub(in crate::dense) fn diagonalise<V: Vector>(
    t: &mut Tridiagonal<'_, V>,
    vectors: &mut [V],
    rotations: &mut Rotations<'_, V>,
) -> u32 {
    for first in 0..t.diagonal.len() {
        let mut steps = 0;
        loop {
            let (end, last) = block(t, first);
            let active = end.gt(V::splat(first as f64));
            if !active.any() {
                break;
            }
            if steps == STEPS {
                return active.bitmask();
            }
            steps += 1;
            let top = end.reduce_max().to_f64() as usize;
            step(t, first..top, (end, last), rotations);
            turn(vectors, t.diagonal.len(), first..top, rotations);
        }
    }
    0
}

/// Where the first block from row `first` on ends that no negligible element divides, and the element there of the diagonal.
#[inline(always)]
fn block<V: Vector>(t: &mut Tridiagonal<'_, V>, first: usize) -> (V, V) {
    let n = t.diagonal.len();
    let (zero, epsilon) = (V::splat(0.0), epsilon::<V>());
    let least = epsilon * epsilon * V::splat(2f64.powi(exponent(V::DOUBLE)));
    let mut below = t.diagonal[n - 1];
    let (mut end, mut last) = (V::splat((n - 1) as f64), below);
    for i in (first..n - 1).rev() {
        let own = t.diagonal[i];
        let negligible = t.beside[i].abs().le((own.abs() + below.abs()).mul_add(epsilon, least));
        t.beside[i] = V::select(negligible, zero, t.beside[i]);
        end = V::select(negligible, V::splat(i as f64), end);
        last = V::select(negligible, own, last);
        below = own;
    }
    (end, last)
}

/// A step on rows from that of `range` to `end`, with the shift of Wilkinson: the eigenvalue of the first two rows that is nearer to the first.
#[inline(always)]
fn step<V: Vector>(
    t: &mut Tridiagonal<'_, V>,
    range: Range<usize>,
    (end, last): (V, V),
    rotations: &mut Rotations<'_, V>,
) {
    let (zero, one, two, least) = (V::splat(0.0), V::splat(1.0), V::splat(2.0), least_square::<V>());
    let first = range.start;
    let (d, e) = (&mut *t.diagonal, &mut *t.beside);
    let active = end.gt(V::splat(first as f64));
    let beside = V::select(active, e[first], one);
    let ratio = (d[first + 1] - d[first]) / (two * beside);
    let root = ratio.mul_add(ratio, one).sqrt();
    let mut g = last - d[first] + beside / (ratio + root.copysign(ratio));
    let (mut s, mut c, mut p) = (one, one, zero);
    for i in range.rev() {
        let on = end.gt(V::splat(i as f64));
        let (f, b) = (s * e[i], c * e[i]);
        let square = f.mul_add(f, g * g);
        let length = square.sqrt();
        let none = square.lt(least);
        let cosine = V::select(none, one, g / length);
        let sine = V::select(none, zero, f / length);
        let within = end.gt(V::splat((i + 1) as f64));
        e[i + 1] = V::select(within, V::select(none, zero, length), e[i + 1]);
        let own = d[i + 1] - p;
        let change = (d[i] - own).mul_add(sine, two * cosine * b);
        let part = sine * change;
        d[i + 1] = V::select(on, own + part, d[i + 1]);
        (c, s, p) = (V::select(on, cosine, c), V::select(on, sine, s), V::select(on, part, p));
        g = V::select(on, cosine.mul_add(change, -b), g);
        rotations.cosines[i] = V::select(on, cosine, one);
        rotations.sines[i] = V::select(on, sine, zero);
    }
    d[first] = V::select(active, d[first] - p, d[first]);
    e[first] = V::select(active, g, e[first]);
}

/// Applies a step's rotations to rows of `n` elements.
#[inline(always)]
fn turn<V: Vector>(vectors: &mut [V], n: usize, range: Range<usize>, rotations: &Rotations<'_, V>) {
    let mut groups = vectors.chunks_exact_mut(ROWS * n);
    for rows in &mut groups {
        turn_rows::<V, ROWS>(rows, n, range.clone(), rotations);
    }
    for row in groups.into_remainder().chunks_exact_mut(n) {
        turn_rows::<V, 1>(row, n, range.clone(), rotations);
    }
}

#[inline(always)]
fn turn_rows<V: Vector, const COUNT: usize>(
    rows: &mut [V],
    n: usize,
    range: Range<usize>,
    rotations: &Rotations<'_, V>,
) {
    assert!(rows.len() == COUNT * n && range.end < n, "rows of as many elements");
    let (first, last) = (range.start, range.end);
    let (cosines, sines) = (&rotations.cosines[..last], &rotations.sines[..last]);
    let at = rows.as_mut_ptr();
    // SAFETY: rows below `COUNT` and columns below `n`, as has just been seen, are within the slice.
    let place = |row: usize, column: usize| unsafe { &mut *at.add(row * n + column) };
    let mut carried = [V::splat(0.0); COUNT];
    for (row, carried) in carried.iter_mut().enumerate() {
        *carried = *place(row, last);
    }
    for i in range.rev() {
        let (c, s) = (cosines[i], sines[i]);
        for (row, carried) in carried.iter_mut().enumerate() {
            let own = *place(row, i);
            *place(row, i + 1) = s.mul_add(own, c * *carried);
            *carried = c.mul_add(own, -(s * *carried));
        }
    }
    for (row, carried) in carried.into_iter().enumerate() {
        *place(row, first) = carried;
    }
}
