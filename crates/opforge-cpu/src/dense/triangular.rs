//! Cholesky's factorisation, and solutions by triangular matrices.

use faer::dyn_stack::MemStack;
use faer::linalg::cholesky::llt::factor::{LltError, LltRegularization, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place, solve_unit_upper_triangular_in_place,
    solve_upper_triangular_in_place,
};
use faer::{MatRef, Par};

use super::number::{Number, memory};
use super::place::{copy, matrix};
use super::{Failure, small};

/// The lower factor; 0, or the order of the leading minor that is not positive.
pub(super) fn cholesky<T: Number>(a: MatRef<'_, T>, factor: &mut [T]) -> Result<usize, Failure> {
    let n = a.nrows();
    if n <= small::ROWS {
        for (j, column) in factor.chunks_exact_mut(n.max(1)).enumerate() {
            let (above, below) = column.split_at_mut(j);
            above.fill(T::of(0.0));
            below.iter_mut().zip(a.col(j).subrows(j, n - j).iter()).for_each(|(to, from)| *to = *from);
        }
        return Ok(small::cholesky(factor, n));
    }
    copy(a, factor, |x| x);
    let mut factor = matrix(factor, n);
    let mut room = memory(cholesky_in_place_scratch::<T>(n, Par::Seq, Default::default()))?;
    let stack = MemStack::new(&mut room);
    let outcome = cholesky_in_place(factor.as_mut(), LltRegularization::default(), Par::Seq, stack, Default::default());
    // The upper triangle is working memory.
    (1..n).for_each(|j| factor.as_mut().col_mut(j).subrows_mut(0, j).fill(T::of(0.0)));
    match outcome {
        Ok(_) => Ok(0),
        Err(LltError::NonPositivePivot { index }) => Ok(index + 1),
    }
}

/// `X` of `A X = B` with the lower or the upper triangle of `A`.
pub(super) fn solve<T: Number>(a: MatRef<'_, T>, b: MatRef<'_, T>, upper: bool, unit: bool, x: &mut [T]) {
    if x.is_empty() {
        return;
    }
    copy(b, x, |x| x);
    in_place(a, x, upper, unit);
}

/// As [`solve`], with `X` in place of `B`.
pub(super) fn in_place<T: Number>(a: MatRef<'_, T>, x: &mut [T], upper: bool, unit: bool) {
    if a.nrows() <= small::ROWS {
        return small::triangular(a, x, upper, unit);
    }
    let x = matrix(x, a.nrows());
    match (upper, unit) {
        (false, false) => solve_lower_triangular_in_place(a, x, Par::Seq),
        (false, true) => solve_unit_lower_triangular_in_place(a, x, Par::Seq),
        (true, false) => solve_upper_triangular_in_place(a, x, Par::Seq),
        (true, true) => solve_unit_upper_triangular_in_place(a, x, Par::Seq),
    }
}
