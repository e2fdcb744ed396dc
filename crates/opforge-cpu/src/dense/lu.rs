//! Triangular factors with an order of rows, and determinants and solutions by them.

use std::ops::{Deref, DerefMut};

use faer::MatRef;
use opforge_runtime::alloc::Room;

use super::eliminate::{eliminate, exchange};
use super::number::Number;
use super::place::{copy, matrix};
use super::triangular::{LOWER_UNIT, UPPER};
use super::{Failure, small, triangular};

/// Columns one after another, and rows that are exchanged.
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

/// Overwrites `A`, whose columns have `m` elements, with `L` and `U`. The row that each step exchanged its own with.
fn factor_in_place<T: Number>(a: &mut [T], m: usize) -> Result<Rows, Failure> {
    let steps = m.min(a.len().checked_div(m).unwrap_or(0));
    let mut pivots = Rows::filled(steps, 0)?;
    if a.len() <= small::ROWS * small::ROWS {
        small::eliminate(a, m, &mut pivots);
    } else {
        eliminate(matrix(a, m), &mut pivots)?;
    }
    Ok(pivots)
}

/// The elements of `A`, column by column.
fn columns<T: Number>(a: MatRef<'_, T>) -> Result<Columns<T>, Failure> {
    let (m, n) = (a.nrows(), a.ncols());
    let mut columns = Columns::filled(m * n, T::of(0.0))?;
    if m * n > INLINE {
        copy(a, &mut columns);
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
    copy(a, both);
    if !both.iter().all(|x| x.has_value()) {
        both.fill(T::of(f64::NAN));
        pivots.iter_mut().enumerate().for_each(|(step, pivot)| *pivot = step as i64 + 1);
        return Ok(());
    }
    let rows = factor_in_place(both, a.nrows())?;
    pivots.iter_mut().zip(&rows[..]).for_each(|(pivot, &row)| *pivot = row as i64 + 1);
    Ok(())
}

/// `[sign, log |det|]`, and the determinant itself.
pub(super) fn log_determinant<T: Number>(
    a: MatRef<'_, T>,
    sign_and_log: &mut [T],
    itself: &mut [T],
) -> Result<(), Failure> {
    let mut both = columns(a)?;
    let pivots = factor_in_place(&mut both, a.nrows())?;
    let exchanges = pivots.iter().enumerate().filter(|&(step, &pivot)| step != pivot).count();
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
    let pivots = factor_in_place(&mut both, n)?;
    if both.iter().step_by(n + 1).any(|&pivot| pivot == T::of(0.0)) {
        return Err(Failure::Singular);
    }
    copy(b, x);
    let (both, mut x) = (MatRef::from_column_major_slice(&both, n, n), matrix(x, n));
    exchange(x.as_mut(), &pivots);
    triangular::in_place(both, x.as_mut(), LOWER_UNIT)?;
    triangular::in_place(both, x, UPPER)?;
    Ok(())
}
