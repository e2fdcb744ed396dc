//! Products of the matrices of factorisations, by the micro-kernels of [`matmul`](crate::matmul). Those compute rows, and matrices lie here column by
//! column: they are given the transposes, `C^T = B^T A^T`.

use std::ops::Neg;

use faer::{MatMut, MatRef};
use opforge_core::Result;
use opforge_runtime::checkpoint;
use opforge_runtime::parallel::{num_threads, parallel_for};

use crate::copy::Shared;
use crate::matmul::operand::{Accumulator, Operand};
use crate::matmul::{Ahead, Args, Kernels, Matrix, pack};
use crate::memory::scratch::with_scratch;

/// What becomes of a matrix to which there is a product.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Update {
    Replace,
    Subtract,
}

/// The deepest block.
const DEPTH: usize = 256;
/// Strips of `B` that the second level of cache holds.
const STRIPS: usize = 20;
/// Multiplications below which work on a matrix is not shared among threads.
pub(super) const MIN_SHARED_WORK: usize = 1 << 19;

/// Tasks for each thread where there are enough.
const TASKS: usize = 4;

/// What of so much work a thread takes at a time of `tasks`.
pub(super) fn share(work: usize, tasks: usize) -> usize {
    if work < MIN_SHARED_WORK { tasks } else { tasks.div_ceil(TASKS * num_threads()) }
}

/// `C = A B` or `C -= A B`. The columns of `C` are contiguous. The depth is not split between threads: results do not depend on how many there are.
///
/// # Errors
/// No memory.
pub(super) fn of_reals<T>(mut c: MatMut<'_, T>, update: Update, a: MatRef<'_, T>, b: MatRef<'_, T>) -> Result<()>
where
    T: Operand<Acc = T> + Accumulator + Neg<Output = T>,
{
    let (m, n, k) = (c.nrows(), c.ncols(), a.ncols());
    assert!(
        a.nrows() == m && b.nrows() == k && b.ncols() == n && (m <= 1 || c.row_stride() == 1),
        "a product of columns"
    );
    if k == 0 && update == Update::Replace {
        c.fill(T::default());
    }
    if m == 0 || n == 0 || k == 0 {
        return Ok(());
    }
    let kernels = T::kernels();
    let deepest = k.div_ceil(k.div_ceil(DEPTH));
    let packed_a = m.next_multiple_of(kernels.width()) * deepest;
    with_scratch((packed_a + n * deepest) * size_of::<T>(), |scratch| {
        let packed_a_at = scratch.cast::<T>();
        for p in (0..k).step_by(deepest) {
            checkpoint();
            let block = Block {
                kernels,
                size: [m, n, deepest.min(k - p)],
                a: Shared(packed_a_at),
                b: Shared(packed_a_at.wrapping_add(packed_a)),
                c: Shared(c.as_ptr_mut()),
                column: c.col_stride() as usize,
                update,
                add: p > 0 || update == Update::Subtract,
            };
            // SAFETY: the matrices have this block; the scratch holds one of either.
            unsafe {
                block.pack(matrix(a).from(0, p), matrix(b).from(p, 0));
                block.multiply();
            }
        }
    })
}

fn matrix<T>(a: MatRef<'_, T>) -> Matrix<T> {
    Matrix { at: a.as_ptr(), row: a.row_stride() as usize, column: a.col_stride() as usize }
}

/// The part of a product that a block of the depth makes.
struct Block<T: 'static> {
    kernels: Kernels<T>,
    /// Rows, columns and depth.
    size: [usize; 3],
    /// Strips of `A` of the kernels' width, the last filled up with zeros.
    a: Shared<*mut T>,
    /// Strips of `B` of as many columns as kernels have rows; the last has as many as there are.
    b: Shared<*mut T>,
    c: Shared<*mut T>,
    /// From column to column of `C`.
    column: usize,
    update: Update,
    /// Whether to add to what `C` holds.
    add: bool,
}

impl<T: Operand<Acc = T> + Accumulator + Neg<Output = T>> Block<T> {
    fn work(&self) -> usize {
        self.size.iter().fold(1, |work, &len| work.saturating_mul(len))
    }

    /// Packs the block, of `B` the negative where the product is subtracted.
    ///
    /// # Safety
    /// The matrices have the block, and the rooms what is packed.
    unsafe fn pack(&self, a: Matrix<T>, b: Matrix<T>) {
        let ([m, n, depth], width, height) = (self.size, self.kernels.width(), self.kernels.rows());
        let of_a = m.div_ceil(width);
        let strips = of_a + n.div_ceil(height);
        let (a_at, b_at, [a, b]) = (Shared(a.at), Shared(b.at), [a, b].map(|x| (x.row, x.column)));
        let of = |at: Shared<*const T>, (row, column)| Matrix { at: at.get(), row, column };
        parallel_for(strips, share(self.work(), strips), |range| {
            for strip in range {
                // SAFETY: a strip begins within its matrix, has as many lines as are left, and a part of the room of its own.
                unsafe {
                    if strip < of_a {
                        let i = strip * width;
                        let to = self.a.get().add(i * depth);
                        pack(of(a_at, a).from(i, 0).transposed(), depth, width.min(m - i), to, width);
                    } else {
                        let j = (strip - of_a) * height;
                        let (to, columns) = (self.b.get().add(j * depth), height.min(n - j));
                        pack(of(b_at, b).from(0, j), depth, columns, to, columns);
                        if self.update == Update::Subtract {
                            std::slice::from_raw_parts_mut(to, columns * depth).iter_mut().for_each(|x| *x = -*x);
                        }
                    }
                }
            }
        });
    }

    /// Strips of `B`, of so many, that a strip of `A`, of `down`, meets in a task: fewer where there would be no task for every thread.
    fn strips(&self, down: usize, strips: usize) -> usize {
        match self.work() {
            MIN_SHARED_WORK.. => (strips * down).div_ceil(TASKS * num_threads()).clamp(1, STRIPS),
            _ => STRIPS,
        }
    }

    /// Multiplies what is packed.
    ///
    /// # Safety
    /// As [`Block::pack`], which has been called.
    unsafe fn multiply(&self) {
        let ([m, n, depth], width, height) = (self.size, self.kernels.width(), self.kernels.rows());
        let down = m.div_ceil(width);
        let columns = height * self.strips(down, n.div_ceil(height));
        let across = n.div_ceil(columns);
        parallel_for(down * across, share(self.work(), down * across), |range| {
            for task in range {
                let (i, first) = (task % down * width, task / down * columns);
                let (a, rows) = (self.a.get().wrapping_add(i * depth), width.min(m - i));
                for j in (first..n.min(first + columns)).step_by(height) {
                    let (b, columns) = (self.b.get().wrapping_add(j * depth), height.min(n - j));
                    // SAFETY: both strips are packed, `C` has these rows and columns, which are this task's; the kernels are for this CPU.
                    unsafe {
                        self.kernels.get(columns, rows)(&Args {
                            depth,
                            a: b,
                            b: a,
                            b_row: width,
                            b_offsets: std::ptr::null(),
                            c: self.c.get().add(i + j * self.column),
                            c_row: self.column,
                            columns: rows,
                            add: self.add,
                            ahead: Ahead::nothing(b),
                        });
                    }
                }
            }
        });
    }
}
