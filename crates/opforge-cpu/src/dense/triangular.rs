//! Solutions by triangular matrices.

use std::marker::PhantomData;

use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place, solve_unit_upper_triangular_in_place,
    solve_upper_triangular_in_place,
};
use faer::{MatMut, MatRef, Par};
use opforge_core::Result;
use opforge_runtime::parallel::num_threads;

use super::number::Number;
use super::place::{InMemory, copy, matrix};
use super::product::{MIN_SHARED_WORK, Update};
use super::small;
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::simd::{FloatElem, Isa, Routine, Simd, Vector, resolve};

/// Which triangle of a matrix counts, and whether its diagonal counts as ones.
#[derive(Clone, Copy)]
pub(super) struct Triangle {
    pub upper: bool,
    pub unit: bool,
}

pub(super) const LOWER: Triangle = Triangle { upper: false, unit: false };
pub(super) const LOWER_UNIT: Triangle = Triangle { upper: false, unit: true };
pub(super) const UPPER: Triangle = Triangle { upper: true, unit: false };

/// `X` of `A X = B` with a triangle of `A`.
pub(super) fn solve<T: Number>(a: MatRef<'_, T>, b: MatRef<'_, T>, triangle: Triangle, x: &mut [T]) -> Result<()> {
    copy(b, x);
    in_place(a, matrix(x, a.nrows()), triangle)
}

/// Columns up to which a system is solved column by column: to pack the triangle would cost more than to read it.
const FEW: usize = 4;

/// As [`solve`], with `X` in place of `B`. Its columns are contiguous; threads share them.
///
/// # Errors
/// No memory.
pub(super) fn in_place<T: Number>(a: MatRef<'_, T>, x: MatMut<'_, T>, triangle: Triangle) -> Result<()> {
    let (n, columns) = (x.nrows(), x.ncols());
    if n == 0 || columns == 0 {
        return Ok(());
    }
    if n > small::ROWS && columns <= FEW {
        few_columns(a, x, triangle);
        return Ok(());
    }
    let is_shared = n.saturating_mul(n).saturating_mul(columns) / 2 >= MIN_SHARED_WORK;
    let grain = if is_shared { columns.div_ceil(num_threads()).next_multiple_of(small::ROWS) } else { columns };
    let (at, stride) = (Shared(x.as_ptr_mut()), x.col_stride());
    try_parallel_for(columns, grain, |range| {
        // SAFETY: these columns of `x` are this call's.
        let x = unsafe {
            let at = at.get().offset(range.start as isize * stride);
            MatMut::from_raw_parts_mut(at, n, range.len(), 1, stride)
        };
        by_halves(a, x, triangle)
    })
}

fn few_columns<T: Number>(a: MatRef<'_, T>, x: MatMut<'_, T>, Triangle { upper, unit }: Triangle) {
    match (upper, unit) {
        (false, false) => solve_lower_triangular_in_place(a, x, Par::Seq),
        (false, true) => solve_unit_lower_triangular_in_place(a, x, Par::Seq),
        (true, false) => solve_upper_triangular_in_place(a, x, Par::Seq),
        (true, true) => solve_unit_upper_triangular_in_place(a, x, Par::Seq),
    }
}

/// One half of the unknowns after the other: between them, the known are taken away from the right side by a product.
fn by_halves<T: Number>(a: MatRef<'_, T>, x: MatMut<'_, T>, triangle: Triangle) -> Result<()> {
    let n = a.nrows();
    if n <= small::ROWS {
        T::substitute(a, x, triangle);
        return Ok(());
    }
    let half = (n / 2).next_multiple_of(small::ROWS);
    let (first, second) = x.split_at_row_mut(half);
    let (a_first, a_second) = (a.submatrix(0, 0, half, half), a.submatrix(half, half, n - half, n - half));
    let (mut known, a_known, mut rest, a_rest, beside) = match triangle.upper {
        false => (first, a_first, second, a_second, a.submatrix(half, 0, n - half, half)),
        true => (second, a_second, first, a_first, a.submatrix(0, half, half, n - half)),
    };
    by_halves(a_known, known.as_mut(), triangle)?;
    T::product(rest.as_mut(), Update::Subtract, beside, known.as_ref())?;
    by_halves(a_rest, rest, triangle)
}

/// As [`small::substitute`], by a triangle of at most [`small::ROWS`] rows.
pub(super) fn substitute<E: FloatElem>(a: MatRef<'_, E>, mut x: MatMut<'_, E>, triangle: Triangle) {
    let n = a.nrows();
    assert!(n <= small::ROWS && x.nrows() == n, "a small triangle");
    let mut rows = [[E::default(); small::ROWS]; small::ROWS];
    for (i, row) in rows[..n].iter_mut().enumerate() {
        row[..n].iter_mut().enumerate().for_each(|(j, x)| *x = a[(i, j)]);
    }
    // SAFETY: the columns are those of the matrix, which nobody else has.
    unsafe {
        resolve::<Substitution<E>>(Isa::current())(&Substitution(PhantomData), (&rows, triangle, InMemory::new(&mut x)))
    };
}

/// Substitution in a vector of columns at once.
struct Substitution<E>(PhantomData<E>);

/// A triangle, row by row.
type Rows<E> = [[E; small::ROWS]; small::ROWS];

impl<E: FloatElem> Routine for Substitution<E> {
    /// The triangle, which of it counts, and the columns, valid for writes, of as many rows.
    type Args = (*const Rows<E>, Triangle, InMemory<E>);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (a, triangle, x): Self::Args) {
        let lanes = <E::Vector<S>>::LANES;
        let InMemory { at, size: [n, columns], stride } = x;
        // Row `i` of some columns is at `i * lanes`.
        let mut rows = [E::default(); small::ROWS * small::ROWS];
        for first in (0..columns).step_by(lanes) {
            let count = lanes.min(columns - first);
            // SAFETY: `n` is at most `ROWS` and `lanes` at most 16, so that rows of lanes are within the buffer; columns from `first` on are of `x`.
            unsafe {
                let column = |j: usize| at.add((first + j) * stride);
                (0..count).for_each(|j| (0..n).for_each(|i| rows[i * lanes + j] = *column(j).add(i)));
                each_row::<E::Vector<S>>(&*a, triangle, rows.as_mut_ptr(), n);
                (0..count).for_each(|j| (0..n).for_each(|i| *column(j).add(i) = rows[i * lanes + j]));
            }
        }
    }
}

/// Solves for a vector of columns.
///
/// # Safety
/// There are `n` rows of a vector's lanes, and the processor has the instructions.
#[inline(always)]
unsafe fn each_row<V: Vector>(a: &Rows<V::Elem>, triangle: Triangle, rows: *mut V::Elem, n: usize) {
    for step in 0..n {
        let at = if triangle.upper { n - 1 - step } else { step };
        // SAFETY: `at` and `i` are below `n`.
        unsafe {
            let row = |i: usize| rows.add(i * V::LANES);
            let mut known = V::load(row(at));
            if !triangle.unit {
                known = known / V::splat_elem(a[at][at]);
                known.store(row(at));
            }
            let rest = if triangle.upper { 0..at } else { at + 1..n };
            for i in rest {
                known.mul_add(V::splat_elem(-a[i][at]), V::load(row(i))).store(row(i));
            }
        }
    }
}
