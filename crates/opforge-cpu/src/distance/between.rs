//! Distances, in vectors of neighbouring columns: those of a row and the rows of a transposed block.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_runtime::{HostKernel, checkpoint};

use super::norm::{Norm, Order, by_order};
use super::places::Places;
use super::{Number, Rows};
use crate::loops::plan::{LoopDims, Walk, iterations};
use crate::loops::tasks::{Job, prepare};
use crate::matmul::{Matrix, pack};
use crate::simd::stored::{VectorOf, store_strided};
use crate::simd::{Float, Routine, Simd, Vector};

/// Rows and columns of a task's block of distances, and how many elements of a row are summed at once: a transposed block of the columns' stays in the L1 cache.
const ROWS: usize = 128;
const COLUMNS: usize = 64;
const DEPTH: usize = 32;
/// With fewer columns than a vector may have lanes, and more rows, rows and columns change places.
const FEW: usize = 16;

/// The distances between all rows of two matrices: a task is a block of them.
pub(super) struct Between<F> {
    order: Order,
    batches: LoopDims<3>,
    x: Rows,
    y: Rows,
    places: Places,
    width: usize,
    /// Which of the job's inputs `x` and `y` are.
    inputs: [usize; 2],
    element: PhantomData<F>,
}

/// A block of sums: of `depth` differences of each of some rows of `x` and the columns of `packed`.
struct Block<F> {
    x: *const F,
    x_rows: Rows,
    packed: *const F,
    columns: usize,
    depth: usize,
    sums: *mut F,
    is_first: bool,
}

impl<F: Number> Between<F> {
    pub fn new(order: Order, batches: LoopDims<3>, [x, y]: [Rows; 2], places: Places, width: usize) -> Self {
        let (paired, element) = (matches!(places, Places::Pairs { .. }), PhantomData);
        if y.count < FEW && x.count > y.count && !paired {
            return Between { order, batches, x: y, y: x, places: places.transposed(), width, inputs: [1, 0], element };
        }
        Between { order, batches, x, y, places, width, inputs: [0, usize::from(!paired)], element }
    }

    pub fn prepare(self) -> Arc<dyn HostKernel> {
        let tasks = iterations(&self.batches) * self.x.count.div_ceil(ROWS) * self.y.count.div_ceil(COLUMNS);
        let distances = ROWS.min(self.x.count) * COLUMNS.min(self.y.count);
        let work = self.order.work(distances.saturating_mul(self.width)) + distances;
        prepare(self, tasks, work, (SUMS + DEPTH * COLUMNS) * size_of::<F>())
    }

    /// The addresses of a task's matrices and distances, and its first row and column.
    fn block(&self, job: &Job, task: usize) -> ([*const F; 2], *mut F, [usize; 2]) {
        let (down, across) = (self.x.count.div_ceil(ROWS), self.y.count.div_ceil(COLUMNS));
        let offset = Walk::new(&self.batches, task / (down * across)).offset();
        let of = self.inputs.map(|input| job.inputs[input].cast::<F>().wrapping_add(offset[input]));
        let place = task % (down * across);
        (of, job.outputs[0].cast::<F>().wrapping_add(offset[2]), [place / across * ROWS, place % across * COLUMNS])
    }
}

/// Room for a block's sums, and for a vector that begins at the last of them.
const SUMS: usize = ROWS * COLUMNS + 16;

impl<F: Number> Routine for Between<F> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let sums = job.memory.cast::<F>();
        let packed = sums.wrapping_add(SUMS);
        let (x, y) = (self.x, self.y);
        for task in job.tasks.clone() {
            let ([of_x, of_y], out, [i, j]) = self.block(&job, task);
            let (rows, columns) = (ROWS.min(x.count - i), COLUMNS.min(y.count - j));
            if self.places.begin(i) >= j + columns {
                continue;
            }
            for k in (0..self.width.max(1)).step_by(DEPTH) {
                checkpoint();
                let depth = DEPTH.min(self.width - k);
                let turned = Matrix { at: of_y.wrapping_add(j * y.row + k * y.column), row: y.column, column: y.row };
                let x = Rows { count: rows, ..x };
                let at = of_x.wrapping_add(i * x.row + k * x.column);
                let begin = |row: usize| self.places.begin(i + row).saturating_sub(j);
                let block = Block { x: at, x_rows: x, packed, columns, depth, sums, is_first: k == 0 };
                // SAFETY: the matrices have these rows and elements; the memory has room for a packed block and its sums.
                unsafe {
                    pack(turned, depth, columns, packed, COLUMNS);
                    by_order!(self.order, (norm, R, V) => block.add::<S, _, R, V>(norm, begin));
                }
            }
            // SAFETY: the sums are those of this block, whose distances are this task's.
            unsafe { by_order!(self.order, (norm, _R, _V) => self.finish::<S, _>(norm, sums, out, [i, j])) };
        }
    }
}

impl<F: Number> Between<F> {
    /// Writes the distances of a block.
    ///
    /// # Safety
    /// `sums` has room for [`SUMS`], those of the block that begins at this row and column are made; the distances at `out` are the caller's.
    #[inline(always)]
    unsafe fn finish<S: Simd, N: Norm>(&self, norm: N, sums: *const F, out: *mut F, [first, left]: [usize; 2]) {
        let lanes = VectorOf::<F, S>::LANES;
        let right = self.y.count.min(left + COLUMNS);
        for i in first..self.x.count.min(first + ROWS) {
            for j in (left.max(self.places.begin(i))..right).step_by(lanes) {
                let line = self.places.along(i, j);
                // SAFETY: a vector that begins within the block ends within the room for sums; up to `right` there are distances.
                unsafe {
                    let sum = VectorOf::<F, S>::load(sums.add((i - first) * COLUMNS + j - left));
                    store_strided::<S, F>(norm.finish(sum), lanes.min(right - j), out.add(line.first), line.step);
                }
            }
        }
    }
}

impl<F: Number> Block<F> {
    /// Adds the differences to the sums, `R` rows of `V` vectors at a time, those of each row from a column on that does not fall from row to row.
    ///
    /// # Safety
    /// `x` is readable for its rows of `depth` elements, `packed` for as many rows of [`COLUMNS`]; there is room for sums of all [`ROWS`], which are made already
    /// unless this is the first.
    #[inline(always)]
    unsafe fn add<S: Simd, N: Norm, const R: usize, const V: usize>(&self, norm: N, begin: impl Fn(usize) -> usize) {
        const { assert!(ROWS.is_multiple_of(R) && COLUMNS.is_multiple_of(V * VectorOf::<F, S>::LANES)) }
        let (lanes, zero) = (VectorOf::<F, S>::LANES, VectorOf::<F, S>::splat(0.0));
        for i in (0..self.x_rows.count).step_by(R) {
            // Beyond the last row it is read again.
            let row = |r: usize| self.x.wrapping_add((i + r).min(self.x_rows.count - 1) * self.x_rows.row);
            let x: [*const F; R] = std::array::from_fn(row);
            for j in (begin(i) / (V * lanes) * (V * lanes)..self.columns).step_by(V * lanes) {
                let mut sums = [[zero; V]; R];
                // SAFETY: `k` is below the depth, `j + V * lanes` at most `COLUMNS`, `i + R` at most `ROWS`.
                unsafe {
                    for k in 0..self.depth {
                        let y: [_; V] = std::array::from_fn(|v| {
                            VectorOf::<F, S>::load(self.packed.add(k * COLUMNS + j + v * lanes))
                        });
                        for (sums, x) in sums.iter_mut().zip(x) {
                            let x = VectorOf::<F, S>::splat_elem(*x.add(k * self.x_rows.column));
                            for (sum, y) in sums.iter_mut().zip(y) {
                                *sum = norm.add(*sum, x - y);
                            }
                        }
                    }
                    for (r, sums) in sums.into_iter().enumerate() {
                        for (v, sum) in sums.into_iter().enumerate() {
                            let at = self.sums.add((i + r) * COLUMNS + j + v * lanes);
                            let before = if self.is_first { zero } else { VectorOf::<F, S>::load(at) };
                            norm.join(before, sum).store(at);
                        }
                    }
                }
            }
        }
    }
}
