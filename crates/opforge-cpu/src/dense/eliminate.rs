//! Gauss's elimination with exchanges of rows, by halves of the columns (Toledo, "Locality of reference in LU decomposition with partial pivoting",
//! 1997): all but panels of a few columns is made by products and triangular systems.

use std::marker::PhantomData;

use faer::MatMut;
use opforge_core::Result;
use opforge_runtime::parallel::parallel_for;

use super::number::Number;
use super::place::InMemory;
use super::product::{Update, share};
use super::triangular::{self, LOWER_UNIT};
use crate::copy::Shared;
use crate::simd::{FloatElem, Isa, Routine, Simd, Vector, VectorMask, resolve};

/// Columns of a panel.
const PANEL: usize = 8;

/// Overwrites `A`, whose columns are contiguous, with `L` and `U`. `pivots` become the rows that each step exchanged its own with. A column without a
/// pivot is left as it is.
///
/// # Errors
/// No memory.
pub(super) fn eliminate<T: Number>(mut a: MatMut<'_, T>, pivots: &mut [usize]) -> Result<()> {
    let (m, n) = (a.nrows(), a.ncols());
    let steps = m.min(n);
    if steps == 0 {
        return Ok(());
    }
    if n <= PANEL {
        return T::eliminate_panel(a, pivots);
    }
    let half = steps.div_ceil(2).next_multiple_of(PANEL).min(steps);
    let (mut left, mut right) = a.as_mut().split_at_col_mut(half);
    let (first, rest) = pivots.split_at_mut(half);
    eliminate(left.as_mut(), first)?;
    exchange(right.as_mut(), first);
    let (triangle, mut below) = left.split_at_row_mut(half);
    let (mut upper, mut corner) = right.split_at_row_mut(half);
    triangular::in_place(triangle.as_ref(), upper.as_mut(), LOWER_UNIT)?;
    T::product(corner.as_mut(), Update::Subtract, below.as_ref(), upper.as_ref())?;
    eliminate(corner, rest)?;
    exchange(below.as_mut(), rest);
    rest.iter_mut().for_each(|pivot| *pivot += half);
    Ok(())
}

/// Exchanges rows, step by step, as the elimination did. Columns are contiguous.
pub(super) fn exchange<T: Number>(mut a: MatMut<'_, T>, pivots: &[usize]) {
    let InMemory { at, size: [rows, columns], stride } = InMemory::new(&mut a);
    let at = Shared(at);
    // An exchange counts as eight multiplications.
    parallel_for(columns, share(8 * pivots.len() * columns, columns), |range| {
        for j in range {
            // SAFETY: column `j` of the matrix, which is this call's, has as many elements as there are rows, one after another.
            let column = unsafe { std::slice::from_raw_parts_mut(at.get().add(j * stride), rows) };
            pivots.iter().enumerate().for_each(|(step, &pivot)| column.swap(step, pivot));
        }
    });
}

/// Gauss's elimination of a few columns, as [`small::eliminate`](super::small::eliminate).
pub(super) fn panel<E: FloatElem>(mut a: MatMut<'_, E>, pivots: &mut [usize]) {
    assert!(pivots.len() == a.nrows().min(a.ncols()), "a pivot for each step");
    let columns = InMemory::new(&mut a);
    // SAFETY: the columns are those of the matrix, which nobody else has, and there is a place for each step's pivot.
    unsafe { resolve::<Panel<E>>(Isa::current())(&Panel(PhantomData), (columns, pivots.as_mut_ptr())) };
}

struct Panel<E>(PhantomData<E>);

impl<E: FloatElem> Routine for Panel<E> {
    /// The matrix, valid for writes, and as many places for rows as it has steps.
    type Args = (InMemory<E>, *mut usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (a, pivots): Self::Args) {
        let InMemory { at, size: [rows, columns], stride } = a;
        for step in 0..rows.min(columns) {
            // SAFETY: row `step` and those below it, in columns of the matrix.
            unsafe {
                let below = |j: usize| at.add(j * stride + step);
                let pivot = largest::<E::Vector<S>>(below(step), rows - step);
                *pivots.add(step) = step + pivot;
                if *below(step).add(pivot) == E::default() {
                    continue;
                }
                if pivot != 0 {
                    (0..columns).for_each(|j| std::ptr::swap(below(j), below(j).add(pivot)));
                }
                divide::<E::Vector<S>>(below(step).add(1), *below(step), rows - step - 1);
                for j in step + 1..columns {
                    subtract::<E::Vector<S>>(below(j).add(1), *below(j), below(step).add(1), rows - step - 1);
                }
            }
        }
    }
}

/// The first of the elements that are greatest without their signs; NaN counts for nothing.
///
/// # Safety
/// There are `n` elements, and the processor has the instructions.
#[inline(always)]
unsafe fn largest<V: Vector>(x: *const V::Elem, n: usize) -> usize {
    let mut best = V::splat(0.0);
    // SAFETY: whole vectors end at `n`, and the last has what is left.
    let chunk = |i: usize| unsafe {
        if i + V::LANES <= n { V::load(x.add(i)) } else { V::load_partial(x.add(i), n - i) }.abs()
    };
    for i in (0..n).step_by(V::LANES) {
        let x = chunk(i);
        best = V::select(x.gt(best), x, best);
    }
    let most = V::splat_elem(best.reduce_max());
    for i in (0..n).step_by(V::LANES) {
        let equal = chunk(i).eq(most).bitmask();
        if equal != 0 {
            return (i + equal.trailing_zeros() as usize).min(n - 1);
        }
    }
    0
}

/// Divides `n` elements.
///
/// # Safety
/// As [`largest`].
#[inline(always)]
unsafe fn divide<V: Vector>(x: *mut V::Elem, divisor: V::Elem, n: usize) {
    let divisor = V::splat_elem(divisor);
    // SAFETY: whole vectors end at `n`, and the last has what is left.
    unsafe {
        let whole = n - n % V::LANES;
        for i in (0..whole).step_by(V::LANES) {
            (V::load(x.add(i)) / divisor).store(x.add(i));
        }
        (V::load_partial(x.add(whole), n - whole) / divisor).store_partial(x.add(whole), n - whole);
    }
}

/// `y -= factor * x`, of `n` elements.
///
/// # Safety
/// As [`largest`].
#[inline(always)]
unsafe fn subtract<V: Vector>(y: *mut V::Elem, factor: V::Elem, x: *const V::Elem, n: usize) {
    let factor = V::splat_elem(-factor);
    // SAFETY: whole vectors end at `n`, and the last has what is left.
    unsafe {
        let whole = n - n % V::LANES;
        for i in (0..whole).step_by(V::LANES) {
            V::load(x.add(i)).mul_add(factor, V::load(y.add(i))).store(y.add(i));
        }
        let (x, y, rest) = (x.add(whole), y.add(whole), n - whole);
        V::load_partial(x, rest).mul_add(factor, V::load_partial(y, rest)).store_partial(y, rest);
    }
}
