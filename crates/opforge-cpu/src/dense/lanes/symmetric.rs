//! Eigenvalues and eigenvectors of symmetric matrices, a lane each: reflections to tridiagonal matrices (Householder; Martin, Reinsch and Wilkinson,
//! "Householder's tridiagonalization of a symmetric matrix", 1968), whose product the [QL algorithm](super::super::symmetric::ql) turns to the vectors.

use super::super::symmetric::ql::{Rotations, Tridiagonal, diagonalise};
use super::reflect::{add, dot, reflection};
use super::scale::scale;
use crate::simd::{Vector, VectorMask};

/// Vectors that work on matrices of `n` rows takes: a matrix and lines.
pub(super) const fn room(n: usize) -> usize {
    n * n + 4 * n
}

/// Eigenvalues in any order, eigenvectors in the columns of a matrix, and the lanes whose matrices have none.
pub(super) struct Eigen<'a, V> {
    pub values: &'a [V],
    pub vectors: &'a [V],
    pub not_finite: u32,
    pub not_converged: u32,
}

/// Those of the matrices that the lower triangles at the beginning of `room` tell, in their place; the vectors are anything unless wanted.
#[inline(always)]
pub(super) fn eigen<V: Vector>(room: &mut [V], n: usize, wanted: bool) -> Eigen<'_, V> {
    let (a, lines) = room.split_at_mut(n * n);
    let (d, lines) = lines.split_at_mut(n);
    let (e, lines) = lines.split_at_mut(n);
    let (v, w) = lines.split_at_mut(n);
    let w = &mut w[..n];
    let (power, not_finite) = scale(a, n, |i| i + 1);
    tridiagonalise(a, n, &mut Tridiagonal { diagonal: d, beside: e }, (v, w));
    if wanted {
        multiply_reflections(a, n, (v, w));
    }
    let basis = if wanted { &mut *a } else { &mut [] };
    let mut rotations = Rotations { cosines: v, sines: w };
    let not_converged = diagonalise(&mut Tridiagonal { diagonal: d, beside: e }, basis, &mut rotations);
    for value in d.iter_mut() {
        *value = value.times_power(-power);
    }
    Eigen { values: d, vectors: a, not_finite: not_finite.bitmask(), not_converged }
}

/// Turns the matrix that the lower triangle tells to `T = H .. A .. H`, and keeps the reflections `H = I - t v v^T` in its place: `v`, which begins with a
/// 1, below the diagonal, `t` on it.
#[inline(always)]
fn tridiagonalise<V: Vector>(a: &mut [V], n: usize, t: &mut Tridiagonal<'_, V>, (v, w): (&mut [V], &mut [V])) {
    for k in 0..n - 1 {
        t.diagonal[k] = a[k * n + k];
        for i in k + 1..n {
            v[i] = a[i * n + k];
        }
        (a[k * n + k], t.beside[k]) = reflection(&mut v[k + 1..n]);
        let factor = a[k * n + k];
        for i in k + 2..n {
            a[i * n + k] = v[i];
        }
        if k + 2 < n {
            let rest = &mut a[(k + 1) * n..];
            symmetric_product(rest, n, k + 1, v, w);
            // w = t A v - (t^2 v^T A v / 2) v, with which H A H = A - v w^T - w v^T.
            let along = V::splat(-0.5) * factor * factor * dot(&v[k + 1..n], &w[k + 1..n]);
            for (w, v) in w[k + 1..].iter_mut().zip(&v[k + 1..]) {
                *w = v.mul_add(along, factor * *w);
            }
            subtract_products(rest, n, k + 1, v, w);
        }
    }
    t.diagonal[n - 1] = a[n * n - 1];
    a[n * n - 1] = V::splat(0.0);
}

/// `w = A v` of the matrix that a lower triangle tells, rows and columns from `first` on; `a` begins with row `first`.
#[inline(always)]
fn symmetric_product<V: Vector>(a: &[V], n: usize, first: usize, v: &[V], w: &mut [V]) {
    for (i, row) in (first..n).zip(a.chunks_exact(n)) {
        let (own, mut sum) = (v[i], V::splat(0.0));
        for ((x, v), w) in row[first..i].iter().zip(&v[first..i]).zip(&mut w[first..i]) {
            sum = x.mul_add(*v, sum);
            *w = x.mul_add(own, *w);
        }
        w[i] = row[i].mul_add(own, sum);
    }
}

/// `A -= v w^T + w v^T` in a lower triangle, as that of [`symmetric_product`].
#[inline(always)]
fn subtract_products<V: Vector>(a: &mut [V], n: usize, first: usize, v: &[V], w: &[V]) {
    for (i, row) in (first..n).zip(a.chunks_exact_mut(n)) {
        let (own_v, own_w) = (-v[i], -w[i]);
        for ((x, v), w) in row[first..=i].iter_mut().zip(&v[first..=i]).zip(&w[first..=i]) {
            *x = own_v.mul_add(*w, own_w.mul_add(*v, *x));
        }
    }
}

/// The product of the reflections that [`tridiagonalise`] keeps, in their place.
#[inline(always)]
fn multiply_reflections<V: Vector>(a: &mut [V], n: usize, (v, w): (&mut [V], &mut [V])) {
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    for k in (0..n).rev() {
        let factor = -a[k * n + k];
        a[k * n + k..(k + 1) * n].fill(zero);
        a[k * n + k] = one;
        if k + 1 == n {
            continue;
        }
        w[k + 1..n].fill(zero);
        v[k + 1] = one;
        (k + 2..n).for_each(|i| v[i] = a[i * n + k]);
        for (row, v) in a[(k + 1) * n..].chunks_exact_mut(n).zip(&v[k + 1..n]) {
            row[k] = zero;
            add(&mut w[k + 1..n], *v, &row[k + 1..]);
        }
        for (row, v) in a[(k + 1) * n..].chunks_exact_mut(n).zip(&v[k + 1..n]) {
            add(&mut row[k + 1..], factor * *v, &w[k + 1..n]);
        }
    }
}
