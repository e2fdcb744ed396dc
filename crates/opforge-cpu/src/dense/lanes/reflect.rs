//! Reflections, a matrix a lane (Householder; Golub and Van Loan, "Matrix computations", 5.1), and orthogonal and triangular factors by them.

use super::super::symmetric::ql::least_square;
use super::scale::scale;
use crate::simd::Vector;

/// The reflection `I - t v v^T` that leaves of a vector its first element alone: `v`, which begins with a 1, in place of the vector, `t`, and what becomes
/// of the first element.
#[inline(always)]
pub(super) fn reflection<V: Vector>(x: &mut [V]) -> (V, V) {
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    let (first, below) = x.split_first_mut().expect("a vector");
    let rest = dot(below, below);
    let none = rest.lt(least_square());
    let turned = -first.mul_add(*first, rest).sqrt().copysign(*first);
    let scale = V::select(none, zero, one / (*first - turned));
    for x in below {
        *x = *x * scale;
    }
    let found = (V::select(none, zero, (turned - *first) / turned), V::select(none, *first, turned));
    *first = one;
    found
}

/// The sum of products, in four sums that do not wait for each other.
#[inline(always)]
pub(super) fn dot<V: Vector>(x: &[V], y: &[V]) -> V {
    let mut sums = [V::splat(0.0); 4];
    let (mut x, mut y) = (x.chunks_exact(4), y[..x.len()].chunks_exact(4));
    for (x, y) in (&mut x).zip(&mut y) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum = x.mul_add(*y, *sum);
        }
    }
    for ((sum, x), y) in sums.iter_mut().zip(x.remainder()).zip(y.remainder()) {
        *sum = x.mul_add(*y, *sum);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// `y += factor * x`.
#[inline(always)]
pub(super) fn add<V: Vector>(y: &mut [V], factor: V, x: &[V]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = factor.mul_add(*x, *y);
    }
}

/// Reflects `x`; `v` is without its first element, which is 1.
#[inline(always)]
fn reflect<V: Vector>(x: &mut [V], v: &[V], t: V) {
    let (first, rest) = x.split_first_mut().expect("a vector");
    let along = -(t * (*first + dot(v, rest)));
    *first = *first + along;
    add(rest, along, v);
}

/// Matrices of `rows` and `columns`, and what is wanted: columns of `Q`, none if 0, and rows of `R`.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub rows: usize,
    pub columns: usize,
    pub of_q: usize,
    pub of_r: usize,
}

impl Shape {
    /// Vectors that work on these matrices takes: the columns of both matrices, the reflections' factors, and the columns' powers of two.
    pub const fn room(self) -> usize {
        self.rows * (self.columns + self.of_q) + 2 * self.columns
    }
}

/// Columns of either.
pub(super) struct Qr<'a, V> {
    pub r: &'a [V],
    pub q: &'a [V],
}

/// The factors of the matrices whose columns are one after another at the beginning of `room`; NaN where they are not finite.
#[inline(always)]
pub(super) fn qr<V: Vector>(room: &mut [V], shape: Shape) -> Qr<'_, V> {
    let Shape { rows, columns, of_q, of_r } = shape;
    let (zero, steps) = (V::splat(0.0), rows.min(columns));
    let (a, rest) = room.split_at_mut(rows * columns);
    let (q, lines) = rest.split_at_mut(rows * of_q);
    let (factors, powers) = lines.split_at_mut(columns);
    let mut not_finite = zero.lt(zero);
    for (column, power) in a.chunks_exact_mut(rows).zip(&mut *powers) {
        let (own, bad) = scale(column, rows, |_| rows);
        (*power, not_finite) = (own, not_finite | bad);
    }
    for j in 0..steps {
        let (done, behind) = a.split_at_mut((j + 1) * rows);
        let v = &mut done[j * rows + j..];
        let (factor, turned) = reflection(v);
        for x in behind.chunks_exact_mut(rows) {
            reflect(&mut x[j..], &v[1..], factor);
        }
        (factors[j], v[0]) = (factor, turned);
    }
    q.fill(zero);
    for x in q.iter_mut().step_by(rows + 1) {
        *x = V::splat(1.0);
    }
    for j in (0..steps).rev() {
        // The columns before are still the identity's.
        for x in q.chunks_exact_mut(rows).skip(j) {
            reflect(&mut x[j..], &a[j * rows + j + 1..(j + 1) * rows], factors[j]);
        }
    }
    let bad = V::select(not_finite, V::splat(f64::NAN), zero);
    for (j, (column, power)) in a.chunks_exact_mut(rows).zip(&*powers).enumerate() {
        let (upper, below) = column.split_at_mut(rows.min(j + 1));
        for x in upper {
            *x = x.times_power(-*power) + bad;
        }
        below.fill(zero);
    }
    for j in 0..columns {
        a.copy_within(j * rows..j * rows + of_r, j * of_r);
    }
    for x in q.iter_mut() {
        *x = *x + bad;
    }
    Qr { r: a, q }
}
