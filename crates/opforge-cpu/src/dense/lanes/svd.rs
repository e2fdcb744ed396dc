//! Singular values and vectors, a matrix a lane: rotations of two columns at a time make all orthogonal (Hestenes, "Inversion of matrices by
//! biorthogonalization and related results", 1958), also those of very different lengths (Demmel and Veselić, "Jacobi's method is more accurate than
//! QR", 1992).

use super::super::symmetric::ql::{epsilon, least_square};
use super::reflect::{add, dot};
use super::scale::scale;
use crate::simd::{Vector, VectorMask};

/// Sweeps over all pairs of columns after which the iteration is given up.
const SWEEPS: usize = 40;

/// Matrices of `rows` and as many or fewer `columns`, and how many vectors of as many elements as there are rows are wanted: those of the columns, or a
/// basis; none if 0.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub rows: usize,
    pub columns: usize,
    pub left: usize,
}

impl Shape {
    /// Vectors that work on these matrices takes: the columns, or those that are wanted, a square matrix, and a line.
    pub const fn room(self) -> usize {
        let count = if self.left > self.columns { self.left } else { self.columns };
        self.rows * count + self.columns * self.columns + self.columns
    }
}

/// Singular values in any order, vectors one after another in the same, and the lanes whose matrices have none.
pub(super) struct Svd<'a, V> {
    pub values: &'a [V],
    pub left: &'a [V],
    pub right: &'a [V],
    pub not_finite: u32,
    pub not_converged: u32,
}

/// Those of the matrices whose columns are one after another at the beginning of `room`.
#[inline(always)]
pub(super) fn svd<V: Vector>(room: &mut [V], shape: Shape) -> Svd<'_, V> {
    let (zero, Shape { rows, columns, left }) = (V::splat(0.0), shape);
    let (a, rest) = room[..shape.room()].split_at_mut(rows * left.max(columns));
    let (right, squares) = rest.split_at_mut(columns * columns);
    let (power, not_finite) = scale(&mut a[..rows * columns], rows, |_| rows);
    a[rows * columns..].fill(zero);
    right.fill(zero);
    for x in right.iter_mut().step_by(columns + 1) {
        *x = V::splat(1.0);
    }
    let turned = if left > 0 { &mut *right } else { &mut [] };
    let not_converged = orthogonalise(a, turned, squares, shape);
    for (square, column) in squares.iter_mut().zip(a.chunks_exact_mut(rows)) {
        let (length, is_zero) = (square.sqrt(), square.lt(least_square()));
        for x in column {
            *x = V::select(is_zero, zero, *x / length);
        }
        *square = V::select(is_zero, zero, length);
    }
    for j in 0..left {
        // Beyond the matrix's own columns, all are.
        let missing = squares.get(j).copied().unwrap_or(zero).eq(zero);
        if missing.any() {
            complete(a, rows, j, missing);
        }
    }
    for value in squares.iter_mut() {
        *value = value.times_power(-power);
    }
    Svd { values: squares, left: a, right, not_finite: not_finite.bitmask(), not_converged }
}

/// Makes the columns of `a` orthogonal by rotations, which are applied to those of `right` too, if there are any; leaves squares of their lengths. The
/// lanes that do not converge.
#[inline(always)]
fn orthogonalise<V: Vector>(a: &mut [V], right: &mut [V], squares: &mut [V], shape: Shape) -> u32 {
    let Shape { rows, columns, .. } = shape;
    let tolerance = V::splat((rows as f64).sqrt()) * epsilon();
    let mut active = 0;
    for _ in 0..SWEEPS {
        for (square, column) in squares.iter_mut().zip(a.chunks_exact(rows)) {
            *square = dot(column, column);
        }
        active = 0;
        for j in 1..columns {
            for i in 0..j {
                let (lower, upper) = a.split_at_mut(j * rows);
                let (x, y) = (&mut lower[i * rows..(i + 1) * rows], &mut upper[..rows]);
                let (product, [p, q]) = (dot(x, y), [squares[i], squares[j]]);
                let counts = p.gt(least_square()) & q.gt(least_square());
                let turns = product.abs().gt(tolerance * p.sqrt() * q.sqrt()) & counts;
                if !turns.any() {
                    continue;
                }
                active |= turns.bitmask();
                let (tangent, c, s) = rotation(product, p, q, turns);
                squares[i] = (-tangent).mul_add(product, p).max(V::splat(0.0));
                squares[j] = tangent.mul_add(product, q);
                turn(x, y, c, s);
                if !right.is_empty() {
                    let (lower, upper) = right.split_at_mut(j * columns);
                    turn(&mut lower[i * columns..(i + 1) * columns], &mut upper[..columns], c, s);
                }
            }
        }
        if active == 0 {
            break;
        }
    }
    active
}

/// The rotation that makes two columns orthogonal, of which the product and the squares are given: its tangent, cosine and sine; nothing where the mask
/// is false.
#[inline(always)]
fn rotation<V: Vector>(product: V, p: V, q: V, turns: V::Mask) -> (V, V, V) {
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    let cotangent = (q - p) / (product + product);
    let size = cotangent.abs();
    // Of large ones the square is too large, and the root the same.
    let root = V::select(size.gt(V::splat(1e15)), size, size.mul_add(size, one).sqrt());
    let tangent = V::select(turns, (one / (size + root)).copysign(cotangent), zero);
    let c = one / tangent.mul_add(tangent, one).sqrt();
    (tangent, c, c * tangent)
}

#[inline(always)]
fn turn<V: Vector>(x: &mut [V], y: &mut [V], c: V, s: V) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (c.mul_add(*x, -(s * *y)), s.mul_add(*x, c * *y));
    }
}

/// Makes column `j`, where it is missing, one of length 1 that is orthogonal to all others, which have length 1 or 0: what they leave of the unit vector that
/// is in them least.
#[inline(always)]
fn complete<V: Vector>(a: &mut [V], rows: usize, j: usize, missing: V::Mask) {
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    let (mut least, mut chosen) = (V::splat(f64::INFINITY), zero);
    for i in 0..rows {
        let mut own = zero;
        for column in a.chunks_exact(rows) {
            own = column[i].mul_add(column[i], own);
        }
        let less = own.lt(least);
        least = V::select(less, own, least);
        chosen = V::select(less, V::splat(i as f64), chosen);
    }
    for i in 0..rows {
        let unit = V::select(chosen.eq(V::splat(i as f64)), one, zero);
        a[j * rows + i] = V::select(missing, unit, a[j * rows + i]);
    }
    // Once more, for what rounding leaves.
    for _ in 0..2 {
        for k in (0..a.len() / rows).filter(|&k| k != j) {
            let (lower, upper) = a.split_at_mut(j.max(k) * rows);
            let (lower, upper) = (&mut lower[j.min(k) * rows..][..rows], &mut upper[..rows]);
            let (own, other) = if j < k { (lower, upper) } else { (upper, lower) };
            let along = V::select(missing, dot(own, other), zero);
            add(own, -along, other);
        }
        let own = &mut a[j * rows..(j + 1) * rows];
        let length = V::select(missing, dot(own, own).sqrt(), one);
        for x in own {
            *x = *x / length;
        }
    }
}
