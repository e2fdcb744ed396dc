//! Loops for matrices of up to 16 rows, where what faer prepares for each takes longer than the algorithms (`cargo run --release -p opforge-cpu
//! --example dense_speed`). Matrices lie column by column in memory of the caller.

use faer::MatRef;

use super::number::Number;

/// Up to this many rows these loops are faster.
pub(super) const ROWS: usize = 16;

/// Gauss's elimination of `A`, whose columns have `m` elements, to `L` and `U`; `rows` become the rows in their new order. How many exchanges
/// made it. A column without a pivot is left as it is.
pub(super) fn eliminate<T: Number>(a: &mut [T], m: usize, rows: &mut [usize]) -> usize {
    rows.iter_mut().enumerate().for_each(|(i, row)| *row = i);
    let mut exchanges = 0;
    for step in 0..a.len().checked_div(m).map_or(0, |n| n.min(m)) {
        let (left, right) = a.split_at_mut((step + 1) * m);
        let size = |i: usize| left[step * m + i].size();
        let pivot = (step..m).fold(step, |best, i| if size(i) > size(best) { i } else { best });
        if size(pivot) == 0.0 {
            continue;
        }
        if pivot != step {
            rows.swap(pivot, step);
            exchanges += 1;
            left.chunks_exact_mut(m).chain(right.chunks_exact_mut(m)).for_each(|column| column.swap(pivot, step));
        }
        let (head, below) = left[step * m + step..].split_first_mut().expect("a pivot");
        below.iter_mut().for_each(|x| *x /= *head);
        for column in right.chunks_exact_mut(m) {
            let (factor, rest) = column[step..].split_first_mut().expect("a row");
            subtract(rest, *factor, below.iter());
        }
    }
    exchanges
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

/// `X` of `A X = B` in place of `B`, whose columns have as many elements as `A`, with one triangle of `A`, or that with ones on its diagonal.
pub(super) fn triangular<T: Number>(a: MatRef<'_, T>, x: &mut [T], upper: bool, unit: bool) {
    let n = a.nrows();
    for column in x.chunks_exact_mut(n) {
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
