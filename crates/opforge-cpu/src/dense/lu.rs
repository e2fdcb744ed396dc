use faer::dyn_stack::MemStack;
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::linalg::triangular_solve::{solve_unit_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{MatMut, MatRef, Par};

use super::Failure;
use super::place::matrix;
use super::real::{Real, copied, memory};

/// Up to this many rows or columns, faer's preparations take longer than all of the elimination.
const SMALL: usize = 8;

/// Overwrites `A` with `L` and `U`. The rows in their new order, and how many exchanges made it.
fn factor_in_place<T: Real>(mut a: MatMut<'_, T>) -> Result<(Vec<usize>, usize), Failure> {
    if a.nrows().min(a.ncols()) <= SMALL {
        return Ok(eliminate(a));
    }
    let finite = a.is_all_finite();
    let mut kept = copied(a.as_ref())?;
    let (m, n) = (a.nrows(), a.ncols());
    let (mut rows, mut places) = (vec![0usize; m], vec![0usize; m]);
    let mut room = memory(lu_in_place_scratch::<usize, T>(m, n, Par::Seq, Default::default()))?;
    let stack = MemStack::new(&mut room);
    let (info, _) = lu_in_place(a.as_mut(), &mut rows, &mut places, Par::Seq, stack, Default::default());
    let exchanges = info.transposition_count;
    if a.is_all_finite() || !finite {
        return Ok((rows, exchanges));
    }
    a.copy_from(matrix(&mut kept, m));
    Ok(eliminate(a))
}

/// As [`factor_in_place`], step by step: a column without a pivot, by which faer divides, is left as it is.
fn eliminate<T: Real>(mut a: MatMut<'_, T>) -> (Vec<usize>, usize) {
    let (m, n) = (a.nrows(), a.ncols());
    let (mut rows, mut exchanges): (Vec<usize>, _) = ((0..m).collect(), 0);
    for step in 0..m.min(n) {
        let size = |i: usize| a[(i, step)].to_f64().abs();
        let pivot = (step..m).fold(step, |best, i| if size(i) > size(best) { i } else { best });
        if size(pivot) == 0.0 {
            continue;
        }
        if pivot != step {
            rows.swap(pivot, step);
            exchanges += 1;
            for j in 0..n {
                (a[(step, j)], a[(pivot, j)]) = (a[(pivot, j)], a[(step, j)]);
            }
        }
        for i in step + 1..m {
            a[(i, step)] = a[(i, step)] / a[(step, step)];
        }
        for j in step + 1..n {
            for i in step + 1..m {
                a[(i, j)] = a[(i, j)] - a[(i, step)] * a[(step, j)];
            }
        }
    }
    (rows, exchanges)
}

/// `L` and `U` in one matrix, and the row that each step exchanged its own with, counted from 1. NaN if `A`
/// is not finite.
pub(super) fn factor<T: Real>(a: MatRef<'_, T>, both: &mut [T], pivots: &mut [i64]) -> Result<(), Failure> {
    let mut both = matrix(both, a.nrows());
    if both.ncols() == 0 {
        return Ok(());
    }
    if !a.is_all_finite() {
        both.fill(T::of(f64::NAN));
        pivots.iter_mut().enumerate().for_each(|(step, pivot)| *pivot = step as i64 + 1);
        return Ok(());
    }
    both.copy_from(a);
    let (rows, _) = factor_in_place(both)?;
    // Where each row is while the exchanges are made one by one.
    let (mut order, mut place): (Vec<usize>, Vec<usize>) = ((0..rows.len()).collect(), (0..rows.len()).collect());
    for (step, pivot) in pivots.iter_mut().enumerate() {
        let at = place[rows[step]];
        place.swap(order[step], order[at]);
        order.swap(step, at);
        *pivot = at as i64 + 1;
    }
    Ok(())
}

/// `[sign, log |det|]`.
pub(super) fn log_determinant<T: Real>(a: MatRef<'_, T>, result: &mut [T]) -> Result<(), Failure> {
    let mut both = copied(a)?;
    let mut both = matrix(&mut both, a.nrows());
    let exchanges = if a.nrows() == 0 { 0 } else { factor_in_place(both.as_mut())?.1 };
    let (mut sign, mut log) = (if exchanges % 2 == 0 { 1.0 } else { -1.0 }, 0.0);
    for i in 0..a.nrows() {
        let pivot = both[(i, i)].to_f64();
        sign *= if pivot == 0.0 { 0.0 } else { pivot.signum() };
        log += pivot.abs().ln();
    }
    result.copy_from_slice(&[T::of(sign), T::of(log)]);
    Ok(())
}

/// `X` of `A X = B`.
pub(super) fn solve<T: Real>(a: MatRef<'_, T>, b: MatRef<'_, T>, x: &mut [T]) -> Result<(), Failure> {
    let n = a.nrows();
    let mut x = matrix(x, n);
    if n == 0 {
        return Ok(());
    }
    let mut both = copied(a)?;
    let mut both = matrix(&mut both, n);
    let (rows, _) = factor_in_place(both.as_mut())?;
    if (0..n).any(|i| both[(i, i)] == T::of(0.0)) {
        return Err(Failure::Singular);
    }
    for j in 0..x.ncols() {
        rows.iter().enumerate().for_each(|(i, &row)| x[(i, j)] = b[(row, j)]);
    }
    solve_unit_lower_triangular_in_place(both.as_ref(), x.as_mut(), Par::Seq);
    solve_upper_triangular_in_place(both.as_ref(), x, Par::Seq);
    Ok(())
}
