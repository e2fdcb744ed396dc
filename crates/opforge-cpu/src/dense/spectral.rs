//! Singular values, and pseudo-inverses and least squares by them.

use faer::diag::DiagMut;
use faer::dyn_stack::MemStack;
use faer::linalg::svd::{ComputeSvdVectors, svd_scratch};
use faer::{MatRef, Par};
use opforge_runtime::alloc::Room;

use super::number::{Number, balance, conjugate, copied, finite, memory, multiply, zeros};
use super::place::matrix;
use super::product::Update;
use super::{Failure, qr};

/// Singular values in descending order and, if wanted, `U` and `V`, thin or full as the rooms' sizes say.
pub(super) fn svd<T: Number>(
    a: MatRef<'_, T>,
    values: &mut [T],
    vectors: Option<(&mut Room<T>, &mut Room<T>)>,
) -> Result<(), Failure> {
    let (m, n) = (a.nrows(), a.ncols());
    let compute = match &vectors {
        None => ComputeSvdVectors::No,
        Some((u, v)) if u.len() == m * m && v.len() == n * n => ComputeSvdVectors::Full,
        Some(_) => ComputeSvdVectors::Thin,
    };
    let mut room = memory(svd_scratch::<T>(m, n, compute, compute, Par::Seq, Default::default()))?;
    let mut columns = copied(a)?;
    finite(MatRef::from_column_major_slice(&columns, m, n))?;
    let power = balance(&mut columns);
    let a = MatRef::from_column_major_slice(&columns, m, n);
    let (u, v) = match vectors {
        Some((u, v)) => {
            // faer takes what completes a basis to be 0, and rooms are those of the matrix before.
            u.fill(T::of(0.0));
            v.fill(T::of(0.0));
            (Some(matrix(u, m)), Some(matrix(v, n)))
        }
        None => (None, None),
    };
    let stack = MemStack::new(&mut room);
    faer::linalg::svd::svd(a, DiagMut::from_slice_mut(values), u, v, Par::Seq, stack, Default::default())
        .map_err(|_| Failure::NotConverged)?;
    multiply(values, -power);
    Ok(())
}

/// `U`, `S` and `V` with `A = U S V^H`.
struct Parts<T> {
    u: Room<T>,
    s: Room<T>,
    v: Room<T>,
}

/// `U` and `V` thin, the diagonal in any order and of any sign.
fn parts<T: Number>(a: MatRef<'_, T>, hermitian: bool) -> Result<Parts<T>, Failure> {
    let (m, n) = (a.nrows(), a.ncols());
    let size = m.min(n);
    let mut parts = Parts { u: zeros(m * size)?, s: zeros(size)?, v: zeros(n * size)? };
    if hermitian {
        T::symmetric_eigen(a, false, &mut parts.s, Some(&mut parts.u))?;
        parts.v.copy_from_slice(&parts.u);
    } else {
        svd(a, &mut parts.s, Some((&mut parts.u, &mut parts.v)))?;
    }
    Ok(parts)
}

impl<T: Number> Parts<T> {
    /// Divides the columns of `V` by the values; those up to a limit make zeros: `absolute`, or `relative` times
    /// the largest. How many are above it.
    fn divide(&mut self, absolute: f64, relative: f64) -> usize {
        let relative = relative * self.largest();
        let rows = self.v.len().checked_div(self.s.len()).unwrap_or(0);
        let mut rank = 0;
        for (column, s) in self.v.chunks_mut(rows.max(1)).zip(&self.s[..]) {
            let kept = s.real().abs() > absolute && s.real().abs() > relative;
            rank += usize::from(kept);
            column.iter_mut().for_each(|x| *x = if kept { *x / *s } else { T::of(0.0) });
        }
        rank
    }

    fn largest(&self) -> f64 {
        self.s.iter().fold(0.0, |largest, s| s.real().abs().max(largest))
    }
}

/// The pseudo-inverse; values up to `max(a, r * largest)` count as 0.
pub(super) fn pseudo_inverse<T: Number>(
    a: MatRef<'_, T>,
    hermitian: bool,
    absolute: f64,
    relative: f64,
    inverse: &mut [T],
) -> Result<(), Failure> {
    let (m, n) = (a.nrows(), a.ncols());
    if m == 0 || n == 0 {
        return Ok(());
    }
    let mut parts = parts(a, hermitian)?;
    parts.divide(absolute, relative);
    conjugate(&mut parts.u);
    let (u, v) = (matrix(&mut parts.u, m), matrix(&mut parts.v, n));
    Ok(T::product(matrix(inverse, n), Update::Replace, v.as_ref(), u.as_ref().transpose())?)
}

/// The shortest `X` with the least `|A X - B|` and, if wanted, `A`'s singular values; its rank, values up to `r * largest` not counted.
pub(super) fn least_squares<T: Number>(
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    relative: f64,
    x: &mut [T],
    values: Option<&mut Room<T>>,
) -> Result<usize, Failure> {
    let (m, n) = (a.nrows(), a.ncols());
    x.fill(T::of(0.0));
    if m == 0 || n == 0 {
        return Ok(0);
    }
    if values.is_none() && qr::least_squares(a, b, relative, x)? {
        return Ok(m.min(n));
    }
    let mut parts = parts(a, false)?;
    values.into_iter().for_each(|values| values.copy_from_slice(&parts.s));
    let rank = parts.divide(0.0, relative);
    conjugate(&mut parts.u);
    let (u, v) = (matrix(&mut parts.u, m), matrix(&mut parts.v, n));
    let mut inner = zeros(m.min(n) * b.ncols())?;
    let mut inner = matrix(&mut inner, m.min(n));
    T::product(inner.as_mut(), Update::Replace, u.as_ref().transpose(), b)?;
    T::product(matrix(x, n), Update::Replace, v.as_ref(), inner.as_ref())?;
    Ok(rank)
}
