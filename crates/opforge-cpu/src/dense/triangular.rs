use faer::dyn_stack::MemStack;
use faer::linalg::cholesky::llt::factor::{LltError, LltRegularization, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place, solve_unit_upper_triangular_in_place,
    solve_upper_triangular_in_place,
};
use faer::{MatRef, Par};

use super::Failure;
use super::place::matrix;
use super::real::{Real, memory};

/// The lower factor; 0, or the order of the leading minor that is not positive.
pub(super) fn cholesky<T: Real>(a: MatRef<'_, T>, factor: &mut [T]) -> Result<usize, Failure> {
    let n = a.nrows();
    let mut factor = matrix(factor, n);
    factor.copy_from_triangular_lower(a);
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
pub(super) fn solve<T: Real>(a: MatRef<'_, T>, b: MatRef<'_, T>, upper: bool, unit: bool, x: &mut [T]) {
    let mut x = matrix(x, a.nrows());
    if x.ncols() == 0 {
        return;
    }
    x.copy_from(b);
    match (upper, unit) {
        (false, false) => solve_lower_triangular_in_place(a, x, Par::Seq),
        (false, true) => solve_unit_lower_triangular_in_place(a, x, Par::Seq),
        (true, false) => solve_upper_triangular_in_place(a, x, Par::Seq),
        (true, true) => solve_unit_upper_triangular_in_place(a, x, Par::Seq),
    }
}
