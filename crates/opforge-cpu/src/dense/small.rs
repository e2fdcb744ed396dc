//! Loops for matrices of up to 16 rows, where what faer prepares for each takes longer than the algorithms (`cargo run --release -p opforge-cpu
//! --example dense_speed`). Matrices lie column by column in memory of the caller.

use faer::{MatMut, MatRef};

use super::number::Number;
use super::triangular::Triangle;

/// Up to this many rows these loops are faster.
pub(super) const ROWS: usize = 16;

/// Gauss's elimination of `A`, whose columns have `m` elements, to `L` and `U`; `pivots` become the rows that each step exchanged its own with. A
/// column without a pivot is left as it is.
pub(super) fn eliminate<T: Number>(a: &mut [T], m: usize, pivots: &mut [usize]) {
    for (step, chosen) in pivots.iter_mut().enumerate() {
        let (left, right) = a.split_at_mut((step + 1) * m);
        let size = |i: usize| left[step * m + i].size();
        let pivot = (step..m).fold(step, |best, i| if size(i) > size(best) { i } else { best });
        *chosen = pivot;
        if size(pivot) == 0.0 {
            continue;
        }
        if pivot != step {
            left.chunks_exact_mut(m).chain(right.chunks_exact_mut(m)).for_each(|column| column.swap(pivot, step));
        }
        let (head, below) = left[step * m + step..].split_first_mut().expect("a pivot");
        below.iter_mut().for_each(|x| *x /= *head);
        for column in right.chunks_exact_mut(m) {
            let (factor, rest) = column[step..].split_first_mut().expect("a row");
            subtract(rest, *factor, below.iter());
        }
    }
}

/// `y -= factor * x`, element by element.
#[inline(always)]
fn subtract<'a, T: Number>(y: &mut [T], factor: T, x: impl Iterator<Item = &'a T>) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y -= factor * *x);
}

/// Cholesky's factor of `A`, `[n, n]`, in place of its lower triangle; 0, or the order of the first leading minor that is not positive.
pub(super) fn cholesky<T: Number>(a: &mut [T], n: usize) -> usize {
    for step in 0..n {
        let (left, right) = a.split_at_mut((step + 1) * n);
        let (head, below) = left[step * n + step..].split_first_mut().expect("a diagonal");
        let pivot = head.real();
        if !(pivot > 0.0 && pivot.is_finite()) {
            return step + 1;
        }
        *head = T::of(pivot.sqrt());
        below.iter_mut().for_each(|x| *x /= *head);
        for (k, column) in right.chunks_exact_mut(n).enumerate() {
            subtract(&mut column[step + 1 + k..], below[k].conjugate(), below[k..].iter());
        }
    }
    0
}

/// `X` of `A X = B` in place of `B`, whose columns are contiguous, with a triangle of `A`.
pub(super) fn substitute<T: Number>(a: MatRef<'_, T>, mut x: MatMut<'_, T>, Triangle { upper, unit }: Triangle) {
    let n = a.nrows();
    for j in 0..x.ncols() {
        let column = x.as_mut().col_mut(j).try_as_col_major_mut().expect("contiguous columns").as_slice_mut();
        for step in 0..n {
            let at = if upper { n - 1 - step } else { step };
            if !unit {
                column[at] /= a[(at, at)];
            }
            let known = column[at];
            let rest = if upper { 0..at } else { at + 1..n };
            subtract(&mut column[rest.clone()], known, a.col(at).subrows(rest.start, rest.len()).iter());
        }
    }
}
