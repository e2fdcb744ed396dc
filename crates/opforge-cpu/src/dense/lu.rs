//! Triangular factors with an order of rows, and determinants and solutions by them.

use std::ops::{Deref, DerefMut};

use faer::dyn_stack::MemStack;
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::{MatRef, Par};
use opforge_runtime::alloc::Room;

use super::number::{Number, copied, memory};
use super::place::{copy, matrix};
use super::{Failure, small, triangular};

/// Columns one after another, and an order of rows.
type Columns<T> = Few<T, INLINE>;
const INLINE: usize = 64;
type Rows = Few<usize, { small::ROWS }>;

/// A vector, that of a small matrix without an allocation.
enum Few<T: Copy, const N: usize> {
    Inline([T; N], usize),
    Room(Room<T>),
}

impl<T: Copy, const N: usize> Few<T, N> {
    fn filled(len: usize, value: T) -> Result<Self, Failure> {
        Ok(if len <= N { Few::Inline([value; N], len) } else { Few::Room(Room::filled(len, value)?) })
    }
}

impl<T: Copy, const N: usize> Deref for Few<T, N> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match self {
            Few::Inline(values, len) => &values[..*len],
            Few::Room(values) => values,
        }
    }
}

impl<T: Copy, const N: usize> DerefMut for Few<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Few::Inline(values, len) => &mut values[..*len],
            Few::Room(values) => values,
        }
    }
}

/// Overwrites `A`, whose columns have `m` elements, with `L` and `U`. The rows in their new order, and how many exchanges made it.
fn factor_in_place<T: Number>(a: &mut [T], m: usize) -> Result<(Rows, usize), Failure> {
    let mut rows = Rows::filled(m, 0)?;
    let n = a.len().checked_div(m).unwrap_or(0);
    if m.min(n) <= small::ROWS {
        let exchanges = small::eliminate(a, m, &mut rows);
        return Ok((rows, exchanges));
    }
    let kept = copied(matrix(a, m).as_ref())?;
    let finite = |a: &[T]| a.iter().all(|x| x.has_value());
    let mut places = Rows::filled(m, 0)?;
    let mut room = memory(lu_in_place_scratch::<usize, T>(m, n, Par::Seq, Default::default()))?;
    let stack = MemStack::new(&mut room);
    let (info, _) = lu_in_place(matrix(a, m), &mut rows, &mut places, Par::Seq, stack, Default::default());
    let exchanges = info.transposition_count;
    if finite(a) || !finite(&kept) {
        return Ok((rows, exchanges));
    }
    // faer divides by a column without a pivot.
    a.copy_from_slice(&kept);
    let exchanges = small::eliminate(a, m, &mut rows);
    Ok((rows, exchanges))
}

/// The elements of `A`, column by column.
fn columns<T: Number>(a: MatRef<'_, T>) -> Result<Columns<T>, Failure> {
    let (m, n) = (a.nrows(), a.ncols());
    let mut columns = Columns::filled(m * n, T::of(0.0))?;
    if m * n > INLINE {
        copy(a, &mut columns, |x| x);
    } else {
        columns.chunks_exact_mut(m.max(1)).enumerate().for_each(|(j, column)| {
            column.iter_mut().enumerate().for_each(|(i, x)| *x = a[(i, j)]);
        });
    }
    Ok(columns)
}

/// `L` and `U` in one matrix, and the row that each step exchanged its own with, counted from 1. NaN if `A`
/// is not finite.
pub(super) fn factor<T: Number>(a: MatRef<'_, T>, both: &mut [T], pivots: &mut [i64]) -> Result<(), Failure> {
    if both.is_empty() {
        return Ok(());
    }
    copy(a, both, |x| x);
    if !both.iter().all(|x| x.has_value()) {
        both.fill(T::of(f64::NAN));
        pivots.iter_mut().enumerate().for_each(|(step, pivot)| *pivot = step as i64 + 1);
        return Ok(());
    }
    let (rows, _) = factor_in_place(both, a.nrows())?;
    // Where each row is while the exchanges are made one by one.
    let (mut order, mut place) = (Rows::filled(rows.len(), 0)?, Rows::filled(rows.len(), 0)?);
    (0..rows.len()).for_each(|row| (order[row], place[row]) = (row, row));
    for (step, pivot) in pivots.iter_mut().enumerate() {
        let at = place[rows[step]];
        place.swap(order[step], order[at]);
        order.swap(step, at);
        *pivot = at as i64 + 1;
    }
    Ok(())
}

/// `[sign, log |det|]`, and the determinant itself.
pub(super) fn log_determinant<T: Number>(
    a: MatRef<'_, T>,
    sign_and_log: &mut [T],
    itself: &mut [T],
) -> Result<(), Failure> {
    let mut both = columns(a)?;
    let (_, exchanges) = factor_in_place(&mut both, a.nrows())?;
    let (mut sign, mut log) = (T::of(if exchanges % 2 == 0 { 1.0 } else { -1.0 }), 0.0);
    let mut determinant = sign;
    for &pivot in both.iter().step_by(a.nrows() + 1) {
        sign *= pivot.sign();
        log += pivot.magnitude().ln();
        determinant *= pivot;
    }
    sign_and_log.copy_from_slice(&[sign, T::of(log)]);
    itself[0] = determinant;
    Ok(())
}

/// `X` of `A X = B`.
pub(super) fn solve<T: Number>(a: MatRef<'_, T>, b: MatRef<'_, T>, x: &mut [T]) -> Result<(), Failure> {
    let n = a.nrows();
    if n == 0 {
        return Ok(());
    }
    let mut both = columns(a)?;
    let (rows, _) = factor_in_place(&mut both, n)?;
    if both.iter().step_by(n + 1).any(|&pivot| pivot == T::of(0.0)) {
        return Err(Failure::Singular);
    }
    for (j, column) in x.chunks_exact_mut(n).enumerate() {
        column.iter_mut().zip(&rows[..]).for_each(|(x, &row)| *x = b[(row, j)]);
    }
    let both = MatRef::from_column_major_slice(&both, n, n);
    triangular::in_place(both, x, false, true);
    triangular::in_place(both, x, true, false);
    Ok(())
}
