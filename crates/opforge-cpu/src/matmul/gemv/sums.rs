//! Sums of products with a vector: of whole rows that are scaled and added, and of dot products.

use super::Vectors;
use crate::matmul::operand::{Accumulator, Operand};
use crate::matmul::pack::Matrix;

/// Interleaved sums of a dot product.
pub(super) const SUMS: usize = 64;

/// Sums for outputs `start ..`, of rows `first ..` of the transposed matrix, scaled by `x` and added.
///
/// # Safety
/// The matrix has these rows, and its outputs are contiguous.
#[inline(always)]
pub(super) unsafe fn strip<T: Operand, const FMA: bool>(
    v: &Vectors<T>,
    x: &[T::Acc],
    first: usize,
    start: usize,
    sums: &mut [T::Acc],
) {
    /// Rows that are added at a time, and elements of each: arrays, which the compiler makes vectors of. Each row is a
    /// stream of its own to the prefetcher, which stops at the ends of pages: fewer rows leave memory idle (1x4096 @ 4096x4096 of `make bench`).
    const ROWS: usize = 8;
    const WIDTH: usize = 32;
    let len = sums.len();
    // SAFETY: rows p, elements start .. start + len are in the matrix.
    unsafe {
        let row = |p: usize| std::slice::from_raw_parts(v.matrix.from(start, first + p).at, len);
        for sum in sums.iter_mut() {
            *sum = T::Acc::default();
        }
        let (groups, rest) = x.as_chunks::<ROWS>();
        for (g, &scales) in groups.iter().enumerate() {
            let mut rows: [&[T]; ROWS] = [&[]; ROWS];
            for (r, slice) in rows.iter_mut().enumerate() {
                *slice = row(g * ROWS + r);
            }
            let (wide, narrow) = sums.as_chunks_mut::<WIDTH>();
            let whole = wide.len() * WIDTH;
            for (j, part) in wide.iter_mut().enumerate() {
                let mut sum = *part;
                for r in 0..ROWS {
                    let elements = &*rows[r].as_ptr().add(j * WIDTH).cast::<[T; WIDTH]>();
                    for i in 0..WIDTH {
                        sum[i] = elements[i].widen().mul_add::<FMA>(scales[r], sum[i]);
                    }
                }
                *part = sum;
            }
            for (j, sum) in narrow.iter_mut().enumerate() {
                for r in 0..ROWS {
                    *sum = rows[r].get_unchecked(whole + j).widen().mul_add::<FMA>(scales[r], *sum);
                }
            }
        }
        // The scale by value: a sum that is written might else be it, and there would be no vectors.
        for (p, &scale) in (groups.len() * ROWS..).zip(rest) {
            for (sum, element) in sums.iter_mut().zip(row(p)) {
                *sum = element.widen().mul_add::<FMA>(scale, *sum);
            }
        }
    }
}

/// Sums for outputs `start ..`, each the dot product of `x` with the elements `first ..` of its row.
///
/// # Safety
/// The matrix has these elements.
#[inline(always)]
pub(super) unsafe fn dots<T: Operand, const FMA: bool>(
    v: &Vectors<T>,
    x: &[T::Acc],
    first: usize,
    start: usize,
    sums: &mut [T::Acc],
) {
    let rows = v.matrix.from(start, first);
    // SAFETY: rows have an element for each of `x`, and are contiguous where their step is 1.
    unsafe {
        if x.len() < PIECE {
            return short_dots::<T, FMA>(rows, x, sums);
        }
        if rows.column != 1 {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = dot::<T, FMA>(rows.from(j, 0), x);
            }
            return;
        }
        let (groups, rest) = sums.as_chunks_mut::<TOGETHER>();
        for (g, sums) in groups.iter_mut().enumerate() {
            *sums = contiguous_dots::<T, FMA, TOGETHER>(rows.from(g * TOGETHER, 0), x);
        }
        for (j, sum) in (groups.len() * TOGETHER..).zip(rest) {
            [*sum] = contiguous_dots::<T, FMA, 1>(rows.from(j, 0), x);
        }
    }
}

/// The dot products of rows of a few elements each, many at the same time: partial sums of one would take longer than the products.
///
/// # Safety
/// There is a row for each sum, as long as `x`.
#[inline(always)]
unsafe fn short_dots<T: Operand, const FMA: bool>(rows: Matrix<T>, x: &[T::Acc], sums: &mut [T::Acc]) {
    const ROWS: usize = 16;
    let (groups, rest) = sums.as_chunks_mut::<ROWS>();
    let whole = groups.len() * ROWS;
    for (g, sums) in groups.iter_mut().enumerate() {
        let mut part = [T::Acc::default(); ROWS];
        for (p, x) in x.iter().enumerate() {
            for (r, part) in part.iter_mut().enumerate() {
                // SAFETY: row `g * ROWS + r` is one of a sum, and has an element `p`.
                *part = unsafe { *rows.from(g * ROWS + r, p).at }.widen().mul_add::<FMA>(*x, *part);
            }
        }
        *sums = part;
    }
    for (j, sum) in (whole..).zip(rest) {
        *sum = T::Acc::default();
        for (p, x) in x.iter().enumerate() {
            // SAFETY: row `j` is one of a sum, and has an element `p`.
            *sum = unsafe { *rows.from(j, p).at }.widen().mul_add::<FMA>(*x, *sum);
        }
    }
}

/// Dot products that are made at the same time: each row is a stream of its own to the prefetcher.
const TOGETHER: usize = 4;

/// The partial sums of a dot product, by pieces of so many as the compiler makes registers of: longer arrays would stay in memory.
type Partial<A> = [[A; PIECE]; SUMS / PIECE];
const PIECE: usize = 16;

/// The dot products of `ROWS` contiguous rows, each in [`SUMS`] interleaved partial sums.
///
/// # Safety
/// The rows are as long as `x`.
#[inline(always)]
unsafe fn contiguous_dots<T: Operand, const FMA: bool, const ROWS: usize>(
    rows: Matrix<T>,
    x: &[T::Acc],
) -> [T::Acc; ROWS] {
    let mut sums: [Partial<T::Acc>; ROWS] = [[[T::Acc::default(); PIECE]; SUMS / PIECE]; ROWS];
    let (pieces, rest) = x.as_chunks::<PIECE>();
    let (chunks, last) = pieces.as_chunks::<{ SUMS / PIECE }>();
    for (c, x) in chunks.iter().enumerate() {
        for b in 0..SUMS / PIECE {
            for (r, sums) in sums.iter_mut().enumerate() {
                // SAFETY: a contiguous row as long as `x` holds this piece of the chunk.
                unsafe { add_piece::<T, FMA>(rows.from(r, c * SUMS + b * PIECE), &x[b], &mut sums[b]) };
            }
        }
    }
    for b in 0..SUMS / PIECE - 1 {
        // A condition for each rather than fewer turns: the sums stay in registers.
        if b < last.len() {
            for (r, sums) in sums.iter_mut().enumerate() {
                // SAFETY: a contiguous row as long as `x` holds this piece too.
                unsafe { add_piece::<T, FMA>(rows.from(r, chunks.len() * SUMS + b * PIECE), &last[b], &mut sums[b]) };
            }
        }
    }
    // By constant places: with others the sums would lie in memory all the time.
    let mut totals = [[T::Acc::default(); PIECE]; ROWS];
    for r in 0..ROWS {
        totals[r] = folded(&sums[r]);
    }
    let mut dots = [T::Acc::default(); ROWS];
    for (r, dot) in dots.iter_mut().enumerate() {
        *dot = total(&totals[r]);
        for (p, x) in (pieces.len() * PIECE..).zip(rest) {
            // SAFETY: `p` is below the length of `x`, which is the row's.
            *dot = unsafe { *rows.from(r, p).at }.widen().mul_add::<FMA>(*x, *dot);
        }
    }
    dots
}

/// Adds the products of a piece.
///
/// # Safety
/// The row has a piece, contiguous.
#[inline(always)]
unsafe fn add_piece<T: Operand, const FMA: bool>(row: Matrix<T>, x: &[T::Acc; PIECE], sums: &mut [T::Acc; PIECE]) {
    // SAFETY: the row has a piece, whose elements lie side by side; arrays are aligned as their elements.
    let row = unsafe { *row.at.cast::<[T; PIECE]>() };
    let mut sum = *sums;
    for i in 0..PIECE {
        sum[i] = row[i].widen().mul_add::<FMA>(x[i], sum[i]);
    }
    *sums = sum;
}

/// Partial sums as one piece, two by two.
#[inline(always)]
fn folded<A: Accumulator>(sums: &Partial<A>) -> [A; PIECE] {
    let mut piece = [A::default(); PIECE];
    for i in 0..PIECE {
        piece[i] = sums[0][i].plus(sums[2][i]).plus(sums[1][i].plus(sums[3][i]));
    }
    piece
}

/// The sum of a piece, two by two.
#[inline(always)]
fn total<A: Accumulator>(piece: &[A; PIECE]) -> A {
    let of_two = halved::<A, 2, 4>(&halved::<A, 4, 8>(&halved::<A, 8, PIECE>(piece)));
    of_two[0].plus(of_two[1])
}

/// The first half plus the second.
#[inline(always)]
fn halved<A: Accumulator, const HALF: usize, const ALL: usize>(sums: &[A; ALL]) -> [A; HALF] {
    const { assert!(2 * HALF == ALL) };
    let mut half = [A::default(); HALF];
    for i in 0..HALF {
        half[i] = sums[i].plus(sums[i + HALF]);
    }
    half
}

/// The dot product with a row that is not contiguous, in [`SUMS`] interleaved partial sums.
///
/// # Safety
/// The row is as long as `x`.
#[inline(always)]
unsafe fn dot<T: Operand, const FMA: bool>(row: Matrix<T>, x: &[T::Acc]) -> T::Acc {
    let mut sums: Partial<T::Acc> = [[T::Acc::default(); PIECE]; SUMS / PIECE];
    let (chunks, rest) = x.as_chunks::<SUMS>();
    for (c, x) in chunks.iter().enumerate() {
        for i in 0..SUMS {
            // SAFETY: the row is as long as `x`, of which this is element `c * SUMS + i`.
            let element = unsafe { *row.from(0, c * SUMS + i).at }.widen();
            let sum = &mut sums[i / PIECE][i % PIECE];
            *sum = element.mul_add::<FMA>(x[i], *sum);
        }
    }
    let mut sum = total(&folded(&sums));
    for (p, x) in (chunks.len() * SUMS..).zip(rest) {
        // SAFETY: `p` is below the length of `x`, which is the row's.
        sum = unsafe { *row.from(0, p).at }.widen().mul_add::<FMA>(*x, sum);
    }
    sum
}
