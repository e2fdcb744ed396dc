//! Orthogonal and triangular factors.

use faer::dyn_stack::MemStack;
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply,
    apply_block_householder_sequence_transpose_on_the_left_in_place_scratch as apply_transposed_scratch,
    apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj as apply_transposed,
};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch};
use faer::{Conj, MatMut, MatRef, Par};
use opforge_runtime::alloc::Room;
use opforge_runtime::checkpoint;

use super::number::{Number, conjugate, copied, finite, is_finite, memory, zeros};
use super::place::matrix;
use super::product::Update;
use super::triangular::{LOWER, UPPER};
use super::{Failure, triangular};

/// `A = Q R`: `R` on and above the diagonal of a matrix, and reflections whose product is `Q` below it.
struct Reflections<T> {
    both: Room<T>,
    coefficients: Room<T>,
    rows: usize,
    block: usize,
}

impl<T: Number> Reflections<T> {
    /// Of a matrix with elements, columns of so many `rows`, in whose place they are: panels of columns by faer, whose reflections are applied to those
    /// behind them by products.
    fn new(mut both: Room<T>, rows: usize) -> Result<Self, Failure> {
        let n = both.len() / rows;
        let size = rows.min(n);
        let block = BLOCK.min(size);
        let mut coefficients = zeros(block * size)?;
        let mut room = memory(qr_in_place_scratch::<T>(rows, block, block, Par::Seq, Default::default()))?;
        let (mut a, mut factors) = (matrix(&mut both, rows), matrix(&mut coefficients, block));
        for first in (0..size).step_by(block) {
            let width = block.min(size - first);
            let (mut panel, behind) = a.as_mut().get_mut(first.., first..).split_at_col_mut(width);
            let mut factor = factors.as_mut().get_mut(..width, first..first + width);
            let stack = MemStack::new(&mut room);
            qr_in_place(panel.as_mut(), factor.as_mut(), Par::Seq, stack, Default::default());
            reflect(panel.as_ref(), factor.as_ref(), behind, true)?;
        }
        Ok(Reflections { both, coefficients, rows, block })
    }

    /// `R`, and other numbers below its diagonal.
    fn upper(&self) -> MatRef<'_, T> {
        let both = MatRef::from_column_major_slice(&self.both, self.rows, self.both.len() / self.rows);
        both.subrows(0, both.nrows().min(both.ncols()))
    }

    /// The columns of `Q` in place of the identity's: each block of reflections finds those before its own columns as they were.
    fn product(&self, q: &mut [T]) -> Result<(), Failure> {
        identity(q, self.rows);
        let size = self.coefficients.len() / self.block;
        let basis = MatRef::from_column_major_slice(&self.both[..self.rows * size], self.rows, size);
        let coefficients = MatRef::from_column_major_slice(&self.coefficients, self.block, size);
        let mut q = matrix(q, self.rows);
        for first in (0..size).step_by(self.block).rev() {
            let width = self.block.min(size - first);
            let reflections = basis.get(first.., first..first + width);
            let factor = coefficients.get(..width, first..first + width);
            reflect(reflections, factor, q.as_mut().get_mut(first.., first..), false)?;
        }
        Ok(())
    }

    /// Overwrites `X` with `Q X` or `Q^H X`.
    fn apply(&self, x: &mut [T], adjoint: bool) -> Result<(), Failure> {
        let size = self.coefficients.len() / self.block;
        let basis = MatRef::from_column_major_slice(&self.both[..self.rows * size], self.rows, size);
        let coefficients = MatRef::from_column_major_slice(&self.coefficients, self.block, size);
        apply_blocks(basis, coefficients, matrix(x, self.rows), adjoint)
    }
}

/// Overwrites `X` with `Q X` or `Q^H X`: `Q` is the product of the reflections that the columns of a basis tell below its diagonal, whose triangular
/// factors are beside each other, one for each block of as many columns as they have rows.
pub(super) fn apply_blocks<T: Number>(
    basis: MatRef<'_, T>,
    factors: MatRef<'_, T>,
    mut x: MatMut<'_, T>,
    adjoint: bool,
) -> Result<(), Failure> {
    let (rows, size, block) = (basis.nrows(), basis.ncols(), factors.nrows());
    let blocks = size.div_ceil(block);
    for i in 0..blocks {
        let first = block * if adjoint { i } else { blocks - 1 - i };
        let width = block.min(size - first);
        let reflections = basis.get(first.., first..first + width);
        let factor = factors.get(..width, first..first + width);
        reflect(reflections, factor, x.as_mut().subrows_mut(first, rows - first), adjoint)?;
    }
    Ok(())
}

/// Columns of a panel.
pub(super) const BLOCK: usize = 32;
/// Up to so many columns, to pack the reflections would cost more than to read them.
const FEW: usize = 4;

/// Overwrites `X` with `H X` or, `adjoint`, `H^H X`, where `H = I - V T^-1 V^H` is a product of reflections: `V` has ones on its diagonal and zeros above
/// it, where other numbers may be; `T` is upper triangular.
fn reflect<T: Number>(v: MatRef<'_, T>, t: MatRef<'_, T>, mut x: MatMut<'_, T>, adjoint: bool) -> Result<(), Failure> {
    let (m, width, columns) = (v.nrows(), v.ncols(), x.ncols());
    if columns == 0 {
        return Ok(());
    }
    if !T::IS_REAL || columns <= FEW {
        let need = if adjoint { apply_transposed_scratch::<T> } else { apply_scratch::<T> };
        let mut room = memory(need(m, width, columns))?;
        let stack = MemStack::new(&mut room);
        match adjoint {
            true => apply_transposed(v, t, Conj::Yes, x, Par::Seq, stack),
            false => apply(v, t, Conj::No, x, Par::Seq, stack),
        }
        return Ok(());
    }
    let mut v = copied(v)?;
    for (j, column) in v.chunks_exact_mut(m).enumerate() {
        column[..j].fill(T::of(0.0));
        column[j] = T::of(1.0);
    }
    let v = MatRef::from_column_major_slice(&v, m, width);
    let mut products = zeros(width * columns)?;
    let mut products = matrix(&mut products, width);
    T::product(products.as_mut(), Update::Replace, v.transpose(), x.as_ref())?;
    let (factor, triangle) = if adjoint { (t.transpose(), LOWER) } else { (t, UPPER) };
    triangular::in_place(factor, products.as_mut(), triangle)?;
    T::product(x.as_mut(), Update::Subtract, v, products.as_ref())?;
    Ok(())
}

/// `R` and, if wanted, `Q`: reduced or complete, as the rooms' sizes say. Both are NaN if `A` is not finite.
pub(super) fn factor<T: Number>(a: MatRef<'_, T>, q: Option<&mut Room<T>>, r: &mut [T]) -> Result<(), Failure> {
    let (m, n) = (a.nrows(), a.ncols());
    let size = m.min(n);
    r.fill(T::of(0.0));
    if size == 0 {
        q.into_iter().for_each(|q| identity(q, m));
        return Ok(());
    }
    let r_rows = r.len() / n;
    let mut r = matrix(r, r_rows);
    if !is_finite(a) {
        (0..n).for_each(|j| (0..size.min(j + 1)).for_each(|i| r[(i, j)] = T::of(f64::NAN)));
        q.into_iter().for_each(|q| q.fill(T::of(f64::NAN)));
        return Ok(());
    }
    let factors = Reflections::new(copied(a)?, m)?;
    let upper = factors.upper();
    for j in 0..n {
        (0..size.min(j + 1)).for_each(|i| r[(i, j)] = upper[(i, j)]);
    }
    let q = match q {
        None => None,
        Some(q) => {
            factors.product(q)?;
            Some(matrix(q, m))
        }
    };
    if !T::IS_REAL {
        make_diagonal_real(r, q, size);
    }
    Ok(())
}

/// `R` and the reflections below it, `H = I - tau v v^H`, with the factors `tau`, as LAPACK gives them. All are NaN if `A` is not finite.
pub(super) fn reflections<T: Number>(a: MatRef<'_, T>, both: &mut [T], taus: &mut [T]) -> Result<(), Failure> {
    if taus.is_empty() {
        return Ok(());
    }
    if !is_finite(a) {
        both.fill(T::of(f64::NAN));
        taus.fill(T::of(f64::NAN));
        return Ok(());
    }
    if !T::IS_REAL {
        both.copy_from_slice(&copied(a)?);
        reflect_columns(both, taus, a.nrows());
        return Ok(());
    }
    let factors = Reflections::new(copied(a)?, a.nrows())?;
    both.copy_from_slice(&factors.both);
    for (j, tau) in taus.iter_mut().enumerate() {
        *tau = T::of(1.0) / factors.coefficients[j * factors.block + j % factors.block];
    }
    Ok(())
}

/// The same in place, column by column. faer's reflections of complex columns leave a complex number, LAPACK's a real one.
fn reflect_columns<T: Number>(both: &mut [T], taus: &mut [T], rows: usize) {
    for (j, tau) in taus.iter_mut().enumerate() {
        checkpoint();
        let (done, behind) = both.split_at_mut((j + 1) * rows);
        let v = &mut done[j * rows + j..];
        let (alpha, below) = (v[0], v[1..].iter().fold(0f64, |norm, x| norm.hypot(x.magnitude())));
        *tau = T::of(0.0);
        if below == 0.0 && alpha.parts().1 == 0.0 {
            continue;
        }
        let beta = T::of(-alpha.magnitude().hypot(below).copysign(alpha.real()));
        *tau = (beta - alpha) / beta;
        v.iter_mut().for_each(|x| *x /= alpha - beta);
        v[0] = T::of(1.0);
        for column in behind.chunks_exact_mut(rows).map(|column| &mut column[j..]) {
            let dot = v.iter().zip(&*column).fold(T::of(0.0), |dot, (v, x)| dot + v.conjugate() * *x);
            let step = tau.conjugate() * dot;
            column.iter_mut().zip(&*v).for_each(|(x, v)| *x -= step * *v);
        }
        v[0] = beta;
    }
}

/// Turns the rows of `R`, and the columns of `Q` with them, so that the diagonal of `R` is real, as LAPACK's is.
fn make_diagonal_real<T: Number>(mut r: MatMut<'_, T>, mut q: Option<MatMut<'_, T>>, size: usize) {
    for i in 0..size {
        let magnitude = r[(i, i)].magnitude();
        if magnitude == 0.0 {
            continue;
        }
        let angle = r[(i, i)] / T::of(magnitude);
        r.as_mut().row_mut(i).iter_mut().for_each(|x| *x = angle.conjugate() * *x);
        r[(i, i)] = T::of(magnitude);
        if let Some(q) = &mut q {
            q.as_mut().col_mut(i).iter_mut().for_each(|x| *x *= angle);
        }
    }
}

/// The first columns of the identity.
fn identity<T: Number>(q: &mut [T], rows: usize) {
    q.fill(T::of(0.0));
    q.iter_mut().step_by(rows + 1).for_each(|x| *x = T::of(1.0));
}

/// The shortest `X` with the least `|A X - B|`, if `B` is finite and all singular values of `A` are sure to be above `r` times the largest; whether
/// that is so.
pub(super) fn least_squares<T: Number>(
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    r: f64,
    x: &mut [T],
) -> Result<bool, Failure> {
    finite(a)?;
    let tall = a.nrows() >= a.ncols();
    let size = a.nrows().min(a.ncols());
    let mut both = copied(if tall { a } else { a.transpose() })?;
    if !tall {
        conjugate(&mut both);
    }
    let factors = Reflections::new(both, a.nrows().max(a.ncols()))?;
    let upper = factors.upper();
    let sure = is_finite(b) && condition(upper)? * r < 1.0;
    if !sure {
        return Ok(false);
    }
    let mut given = copied(b)?;
    if tall {
        factors.apply(&mut given, true)?;
        for (x, given) in x.chunks_exact_mut(size).zip(given.chunks_exact(a.nrows())) {
            x.copy_from_slice(&given[..size]);
        }
        triangular::in_place(upper, matrix(x, size), UPPER)?;
    } else {
        // `R^H y = b` is the conjugate of a system of `R^T`, which is read where it lies.
        conjugate(&mut given);
        triangular::in_place(upper.transpose(), matrix(&mut given, size), LOWER)?;
        conjugate(&mut given);
        for (x, given) in x.chunks_exact_mut(a.ncols()).zip(given.chunks_exact(size)) {
            x[..size].copy_from_slice(given);
        }
        factors.apply(x, false)?;
    }
    Ok(true)
}

/// At least the ratio of the largest to the smallest singular value of a triangular matrix: the product of its and its inverse's Frobenius norms.
/// NaN or infinite if it has no inverse.
fn condition<T: Number>(upper: MatRef<'_, T>) -> Result<f64, Failure> {
    let n = upper.nrows();
    let mut inverse = zeros(n * n)?;
    identity(&mut inverse, n);
    triangular::in_place(upper, matrix(&mut inverse, n), UPPER)?;
    let square = |x: &T| x.square();
    let own: f64 = (0..n).map(|j| upper.col(j).subrows(0, j + 1).iter().map(square).sum::<f64>()).sum();
    Ok((own * inverse.iter().map(square).sum::<f64>()).sqrt())
}
