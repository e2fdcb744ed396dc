//! Products of rows with a few vectors as long: lanes run along the sums, and the sums of as many rows as a vector has lanes are folded into one vector.

use std::marker::PhantomData;

use super::pack::Matrix;
use super::problem::Problem;
use crate::matmul::operand::{Accumulator, Operand};
use crate::simd::{Float, FloatElem, Routine, Simd, Vector};

/// The most vectors, each of which reads the rows once more: of rows up to this length, which [`Tall`](super::tall::Tall) reads in place, and of longer ones.
const COLUMNS: [usize; 2] = [4, 8];
const SHORT: usize = 256;
/// The fewest rows, for one vector and for several: for less, a vector is not worth a copy.
const ROWS: [usize; 2] = [64, 16];
/// Rows that are folded together, at most.
pub(super) const TOGETHER: usize = 16;
/// Terms whose sums are made at once, since each lane is one running sum.
const TERMS: usize = 512;

/// Whether a product is of many contiguous rows with a few vectors, and its sums are of as many terms as are faster here than elsewhere: fewer leave most
/// lanes empty, and of many with one vector there is nothing that has to be read twice.
pub(super) fn fits<T: Operand>(problem: &Problem) -> bool {
    let &Problem { m, n, k, a, .. } = problem;
    let depths = match n {
        1 if T::EXACT => 4..=TERMS,
        1 => 4..=128,
        _ => 16..=8 * TERMS,
    };
    let shape = m >= ROWS[usize::from(n > 1)] && n <= COLUMNS[usize::from(k > SHORT)] && depths.contains(&k);
    T::Acc::fold().is_some() && problem.batches() == 1 && shape && a.1 == 1
}

/// What is computed: `c[i][j] = bias[j] + sum over p of a[i][p] b[j][p]`.
pub(crate) struct Folds<E> {
    pub rows: usize,
    pub columns: usize,
    pub depth: usize,
    /// Both have contiguous rows.
    pub a: Matrix<E>,
    pub b: Matrix<E>,
    /// `columns` contiguous elements, or null for zeros.
    pub bias: *const E,
    /// Row after row.
    pub c: *mut E,
}

/// # Safety
/// The pointers are valid as described, and the processor has the instructions.
pub(crate) type FoldKernel<E> = unsafe fn(&Fold<E>, Folds<E>);

/// The loop for [`Folds`].
pub(crate) struct Fold<E>(pub PhantomData<E>);

impl<E: FloatElem> Routine for Fold<E> {
    type Args = Folds<E>;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, x: Folds<E>) {
        let lanes = <E::Vector<S>>::LANES;
        let whole = x.rows / lanes * lanes;
        // SAFETY: rows and columns are those of the arguments; an array holds as many elements as any vector.
        unsafe {
            for j in 0..x.columns {
                let factors = x.b.from(j, 0).at;
                let bias = if x.bias.is_null() { E::default() } else { *x.bias.add(j) };
                let mut sums = [E::default(); TOGETHER];
                for first in (0..whole).step_by(lanes) {
                    let mut folded = <E::Vector<S>>::splat_elem(bias);
                    for p in (0..x.depth).step_by(TERMS) {
                        let terms = TERMS.min(x.depth - p);
                        folded = folded + self::folded::<E, S>(factors.add(p), x.a.from(first, p), terms);
                    }
                    if x.columns == 1 {
                        folded.store(x.c.add(first));
                        continue;
                    }
                    folded.store(sums.as_mut_ptr());
                    for (i, sum) in sums[..lanes].iter().enumerate() {
                        *x.c.add((first + i) * x.columns + j) = *sum;
                    }
                }
                for i in whole..x.rows {
                    let mut sum = bias;
                    for p in (0..x.depth).step_by(TERMS) {
                        let [products] = products::<E, S, 1>(factors.add(p), x.a.from(i, p), TERMS.min(x.depth - p));
                        sum += products.reduce_sum();
                    }
                    *x.c.add(i * x.columns + j) = sum;
                }
            }
        }
    }
}

/// The products of a vector with as many rows as a vector has lanes.
///
/// # Safety
/// As [`products`].
#[inline(always)]
pub(crate) unsafe fn folded<E: FloatElem, S: Simd>(vector: *const E, rows: Matrix<E>, depth: usize) -> E::Vector<S> {
    // SAFETY: the vector and these rows are contiguous and `depth` long, as the caller says.
    let sums = unsafe { products::<E, S, TOGETHER>(vector, rows, depth) };
    Vector::fold_each(
        sums,
        #[inline(always)]
        |a, b| a + b,
    )
}

/// Vectors whose lanes add up to the products of a vector with the first `N` rows, at most as many as lanes.
///
/// # Safety
/// The vector and these rows have `depth` elements, contiguous.
#[inline(always)]
pub(crate) unsafe fn products<E: FloatElem, S: Simd, const N: usize>(
    vector: *const E,
    rows: Matrix<E>,
    depth: usize,
) -> [E::Vector<S>; N] {
    let (lanes, count) = (<E::Vector<S>>::LANES, N.min(<E::Vector<S>>::LANES));
    let whole = depth / lanes * lanes;
    let mut sums = [<E::Vector<S>>::splat(0.0); N];
    // SAFETY: vectors end at or before the depth of the rows.
    unsafe {
        for p in (0..whole).step_by(lanes) {
            let factor = <E::Vector<S>>::load(vector.add(p));
            for (row, sum) in sums[..count].iter_mut().enumerate() {
                *sum = <E::Vector<S>>::load(rows.from(row, p).at).mul_add(factor, *sum);
            }
        }
        if whole < depth {
            let rest = depth - whole;
            let factor = <E::Vector<S>>::load_partial(vector.add(whole), rest);
            for (row, sum) in sums[..count].iter_mut().enumerate() {
                *sum = <E::Vector<S>>::load_partial(rows.from(row, whole).at, rest).mul_add(factor, *sum);
            }
        }
    }
    sums
}
