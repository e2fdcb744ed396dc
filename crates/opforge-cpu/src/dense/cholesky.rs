//! Cholesky's factorisation by halves: all but small blocks on the diagonal is made by products and triangular systems.

use faer::dyn_stack::MemStack;
use faer::linalg::cholesky::llt::factor::{LltError, LltRegularization, cholesky_in_place, cholesky_in_place_scratch};
use faer::{MatMut, MatRef, Par};

use super::number::{Number, conjugate, copied, memory};
use super::place::{copy, matrix};
use super::product::Update;
use super::triangular::{LOWER, in_place};
use super::{Failure, small};

/// Rows up to which the factorisation is faer's.
const BLOCK: usize = 64;

/// The lower factor; 0, or the order of the leading minor that is not positive.
pub(super) fn factor<T: Number>(a: MatRef<'_, T>, factor: &mut [T]) -> Result<usize, Failure> {
    let n = a.nrows();
    if n <= small::ROWS {
        for (j, column) in factor.chunks_exact_mut(n.max(1)).enumerate() {
            let (above, below) = column.split_at_mut(j);
            above.fill(T::of(0.0));
            below.iter_mut().zip(a.col(j).subrows(j, n - j).iter()).for_each(|(to, from)| *to = *from);
        }
        return Ok(small::cholesky(factor, n));
    }
    copy(a, factor);
    // As LAPACK does; faer would read the imaginary parts.
    factor.iter_mut().step_by(n + 1).for_each(|x| *x = T::of(x.real()));
    let mut factor = matrix(factor, n);
    let order = by_halves(factor.as_mut())?;
    // The upper triangle is working memory.
    (1..n).for_each(|j| factor.as_mut().col_mut(j).subrows_mut(0, j).fill(T::of(0.0)));
    Ok(order)
}

/// As [`factor`], of the lower triangle in place.
fn by_halves<T: Number>(a: MatMut<'_, T>) -> Result<usize, Failure> {
    let n = a.nrows();
    if n <= BLOCK {
        let mut room = memory(cholesky_in_place_scratch::<T>(n, Par::Seq, Default::default()))?;
        let stack = MemStack::new(&mut room);
        return Ok(match cholesky_in_place(a, LltRegularization::default(), Par::Seq, stack, Default::default()) {
            Ok(_) => 0,
            Err(LltError::NonPositivePivot { index }) => index + 1,
        });
    }
    let half = (n / 2).next_multiple_of(small::ROWS);
    let (mut first, _, mut below, mut rest) = a.split_at_mut(half, half);
    match by_halves(first.as_mut())? {
        0 => {}
        order => return Ok(order),
    }
    // `L Y = A^H` for the adjoint `Y` of the part below.
    let mut adjoint = copied(below.as_ref().transpose())?;
    conjugate(&mut adjoint);
    let mut adjoint = matrix(&mut adjoint, half);
    in_place(first.as_ref(), adjoint.as_mut(), LOWER)?;
    let adjoint = adjoint.as_ref();
    below.copy_from(adjoint.adjoint());
    subtract_square(rest.as_mut(), below.as_ref(), adjoint)?;
    Ok(match by_halves(rest)? {
        0 => 0,
        order => half + order,
    })
}

/// `C -= X X^H` in the lower triangle of `C`; `adjoint` is `X^H`.
fn subtract_square<T: Number>(c: MatMut<'_, T>, x: MatRef<'_, T>, adjoint: MatRef<'_, T>) -> opforge_core::Result<()> {
    let n = c.nrows();
    if n <= BLOCK {
        return T::product(c, Update::Subtract, x, adjoint);
    }
    let half = (n / 2).next_multiple_of(small::ROWS);
    let (first, _, below, rest) = c.split_at_mut(half, half);
    let ((x_first, x_rest), (y_first, y_rest)) = (x.split_at_row(half), adjoint.split_at_col(half));
    subtract_square(first, x_first, y_first)?;
    T::product(below, Update::Subtract, x_rest, y_first)?;
    subtract_square(rest, x_rest, y_rest)
}
