//! The gradient of distances with respect to the first rows, in vectors of neighbouring elements of a row.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use opforge_runtime::{HostKernel, checkpoint};

use super::norm::{Norm, Order, by_order};
use super::places::{Line, Places};
use super::{Number, Rows};
use crate::loops::plan::{LoopDims, Walk, iterations};
use crate::loops::tasks::{Job, prepare};
use crate::matmul::{Matrix, pack};
use crate::memory::prefetch::prefetch;
use crate::simd::stored::{VectorOf, load_strided, store_strided};
use crate::simd::{Float, Routine, Simd, Vector};

/// Rows of either side whose distances are weighed at a time: a square, so that of pairs those on the diagonal are halves of squares.
const SIDE: usize = 32;
/// How many elements of a row a task has: a block of `SIDE` rows stays in the L1 cache.
const DEPTH: usize = 128;
/// Weights of a block.
const BLOCK: usize = SIDE * SIDE;

/// The gradient of `x`: a task is a part of some of its rows, over all rows of `y`.
pub(super) struct Gradient<F> {
    order: Order,
    /// The offsets of the distances' gradient, both matrices, the distances and the result.
    batches: LoopDims<5>,
    x: Rows,
    y: Rows,
    out: Rows,
    gradients: Places,
    distances: Places,
    width: usize,
    element: PhantomData<F>,
}

/// The addresses of a task's tensors: of the distances and their gradient those of the batch, of the matrices from its first element on.
struct Tensors<F> {
    gradients: *const F,
    x: *const F,
    y: *const F,
    distances: *const F,
    out: *mut F,
}

/// What [`Norm::weigh`] makes of a block of distances: the first of both for each, then the second where it is read; how far those of neighbouring rows and columns are apart.
#[derive(Clone, Copy)]
struct Weights<F> {
    at: *mut F,
    row: usize,
    column: usize,
}

impl<F: Number> Gradient<F> {
    pub fn new(
        order: Order,
        batches: LoopDims<5>,
        [x, y, out]: [Rows; 3],
        [gradients, distances]: [Places; 2],
        width: usize,
    ) -> Self {
        Gradient { order, batches, x, y, out, gradients, distances, width, element: PhantomData }
    }

    pub fn prepare(self) -> Arc<dyn HostKernel> {
        let tasks = iterations(&self.batches) * self.x.count.div_ceil(SIDE) * self.width.div_ceil(DEPTH);
        let distances = SIDE.min(self.x.count).saturating_mul(self.y.count);
        let work = self.order.work(distances.saturating_mul(DEPTH.min(self.width))).saturating_add(distances);
        prepare(self, tasks, work, (2 * BLOCK + SIDE * DEPTH) * size_of::<F>())
    }

    /// A task's tensors, its first row, and how many elements of a row it has.
    fn task(&self, job: &Job, task: usize) -> (Tensors<F>, usize, usize) {
        let (down, across) = (self.x.count.div_ceil(SIDE), self.width.div_ceil(DEPTH));
        let (i, k) = (task / across % down * SIDE, task % across * DEPTH);
        let [g, x, y, d, out] = Walk::new(&self.batches, task / (down * across)).offset();
        // Of pairs the second matrix is the first.
        let second = if let Places::Pairs { .. } = self.distances { 1 } else { 2 };
        let input = |input: usize, offset: usize| job.inputs[input].cast::<F>().wrapping_add(offset);
        let tensors = Tensors {
            gradients: input(0, g),
            x: input(1, x + i * self.x.row + k * self.x.column),
            y: input(second, y + k * self.y.column),
            distances: input(second + 1, d),
            out: job.outputs[0].cast::<F>().wrapping_add(out + i * self.out.row + k * self.out.column),
        };
        (tensors, i, DEPTH.min(self.width - k))
    }
}

impl<F: Number> Routine for Gradient<F> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let at = job.memory.cast::<F>();
        let packed = at.wrapping_add(2 * BLOCK);
        for task in job.tasks.clone() {
            let (tensors, i, depth) = self.task(&job, task);
            let (rows, padded) = (SIDE.min(self.x.count - i), depth.next_multiple_of(VectorOf::<F, S>::LANES));
            for j in (0..self.y.count.max(1)).step_by(SIDE) {
                checkpoint();
                let columns = SIDE.min(self.y.count - j);
                let y = tensors.y.wrapping_add(j * self.y.row);
                // SAFETY: the tensors have these rows and elements; the memory has room for a block of weights and for one of padded rows.
                unsafe {
                    pack(Matrix { at: y, row: self.y.row, column: self.y.column }, columns, depth, packed, padded);
                    let steps = if self.is_apart(&tensors, [i, j], rows, depth) { Some(rows) } else { None };
                    by_order!(self.order, (norm, R, _V) => {
                        let weights = self.weigh::<S, _>(norm, &tensors, [i..i + rows, j..j + columns], at);
                        for step in 0..steps.map_or(1, |rows| 2 * rows) {
                            let part = if steps.is_some() { beside(step, columns) } else { [0..rows, 0..columns] };
                            let first = j == 0 && part[1].start == 0;
                            self.add::<S, _, R>(norm, &tensors, weights, packed, part, depth, first);
                        }
                    });
                }
            }
        }
    }
}

/// A row and the columns before it, then that row and the columns behind it, and so on.
fn beside(step: usize, columns: usize) -> [Range<usize>; 2] {
    let row = step / 2;
    [row..row + 1, if step.is_multiple_of(2) { 0..row } else { row + 1..columns }]
}

impl<F: Number> Gradient<F> {
    /// Whether rows are among the columns, as on the diagonal of pairs, and differ from themselves by more than 0, as infinities do.
    ///
    /// # Safety
    /// `x` is readable for so many rows of `depth` elements.
    unsafe fn is_apart(&self, tensors: &Tensors<F>, [i, j]: [usize; 2], rows: usize, depth: usize) -> bool {
        // SAFETY: these are the rows and elements.
        let at = |r: usize, k: usize| unsafe { *tensors.x.add(r * self.x.row + k * self.x.column) };
        let finite = |r: usize| (0..depth).fold(true, |finite, k| finite & at(r, k).to_f64().is_finite());
        let diagonal = i == j && matches!(self.distances, Places::Pairs { .. });
        diagonal && !(0..rows).all(finite)
    }

    /// Adds what packed rows of `y` have in the gradients of rows of `x`, `R` at a time; of the `first` ones, writes it.
    ///
    /// # Safety
    /// `x` and `out` have these rows of `depth` elements, `packed` has the columns' rows, padded to whole vectors; weights are those of all of them.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    unsafe fn add<S: Simd, N: Norm, const R: usize>(
        &self,
        norm: N,
        tensors: &Tensors<F>,
        weights: Weights<F>,
        packed: *const F,
        [rows, columns]: [Range<usize>; 2],
        depth: usize,
        first: bool,
    ) {
        const { assert!(SIDE.is_multiple_of(R)) }
        let (lanes, zero) = (VectorOf::<F, S>::LANES, VectorOf::<F, S>::splat(0.0));
        let padded = depth.next_multiple_of(lanes);
        for i in rows.clone().step_by(R) {
            for k in (0..depth).step_by(lanes) {
                let count = lanes.min(depth - k);
                // SAFETY: rows have `count` elements from `k` on, and `packed` whole vectors; weights that are read beyond `rows` are numbers in their room.
                unsafe {
                    // Beyond the last row it is read again.
                    let x: [_; R] = std::array::from_fn(|r| {
                        let at = (i + r).min(rows.end - 1) * self.x.row + k * self.x.column;
                        load_strided::<S, F>(tensors.x.add(at), count, self.x.column)
                    });
                    let mut sums = [zero; R];
                    for j in columns.clone() {
                        let y = VectorOf::<F, S>::load(packed.add(j * padded + k));
                        for r in 0..R {
                            sums[r] = norm.share(sums[r], x[r] - y, weights.get::<S>((i + r) % SIDE, j));
                        }
                    }
                    for (r, sum) in sums.into_iter().enumerate().take(rows.end - i) {
                        let out = tensors.out.add((i + r) * self.out.row + k * self.out.column);
                        let before = if first { zero } else { load_strided::<S, F>(out, count, self.out.column) };
                        store_strided::<S, F>(before + sum, count, out, self.out.column);
                    }
                }
            }
        }
    }

    /// The weights of these rows and columns, made line by line in the direction in which distances are neighbours in memory.
    ///
    /// # Safety
    /// The distances of these rows and columns, at most [`SIDE`], and their gradients are readable; there is room for `2 * BLOCK` weights.
    #[inline(always)]
    unsafe fn weigh<S: Simd, N: Norm>(
        &self,
        norm: N,
        tensors: &Tensors<F>,
        [rows, columns]: [Range<usize>; 2],
        at: *mut F,
    ) -> Weights<F> {
        let (i, j) = (rows.start, columns.start);
        // In which direction, up to which column, and whether it is what lies above the diagonal.
        let (along, end, is_half) = match self.distances {
            Places::Matrix { row, column } => (row != 1 || column == 1, self.y.count, false),
            Places::Pairs { .. } if i > j => (false, i, false),
            Places::Pairs { .. } => (true, self.y.count, i == j),
        };
        let (lines, len) = if along { (rows.len(), columns.len()) } else { (columns.len(), rows.len()) };
        let weights = if along { Weights { at, row: SIDE, column: 1 } } else { Weights { at, row: 1, column: SIDE } };
        let line = |places: Places, l: usize, j: usize| {
            if along { places.along(i + l, j) } else { places.down(i, j + l) }
        };
        for l in 0..lines {
            let skipped = if is_half { l + 1 } else { 0 };
            let lines = [self.gradients, self.distances].map(|places| line(places, l, j + skipped));
            // The processor does not follow so many lines by itself.
            if j + SIDE + l < end {
                let ahead = [self.gradients, self.distances].map(|places| line(places, l, j + SIDE).first);
                prefetch(tensors.gradients.wrapping_add(ahead[0]).cast(), len * size_of::<F>());
                prefetch(tensors.distances.wrapping_add(ahead[1]).cast(), len * size_of::<F>());
            }
            // SAFETY: the line is of distances of these rows and columns; there is room for `SIDE` weights of each.
            unsafe { weigh_line::<S, F, N>(norm, tensors, lines, at.add(l * SIDE + skipped), len - skipped) };
        }
        if is_half {
            // SAFETY: the weights above the diagonal are made.
            unsafe { mirror(at, lines) };
        }
        weights
    }
}

/// Weighs `n` distances.
///
/// # Safety
/// `n` distances and gradients lie along these lines; `to` has room for as many weights, twice, [`BLOCK`] apart.
#[inline(always)]
unsafe fn weigh_line<S: Simd, F: Number, N: Norm>(
    norm: N,
    tensors: &Tensors<F>,
    [gradients, distances]: [Line; 2],
    to: *mut F,
    n: usize,
) {
    let lanes = VectorOf::<F, S>::LANES;
    for c in (0..n).step_by(lanes) {
        let count = lanes.min(n - c);
        // SAFETY: `count` elements from `c` on lie along the lines, and there is room for the weights of as many.
        unsafe {
            let gradient = tensors.gradients.add(gradients.first + c * gradients.step);
            let distance = tensors.distances.add(distances.first + c * distances.step);
            let gradient = load_strided::<S, F>(gradient, count, gradients.step);
            let [first, second] = norm.weigh(gradient, load_strided::<S, F>(distance, count, distances.step));
            first.store_partial(to.add(c), count);
            if N::COMPARES {
                second.store_partial(to.add(BLOCK + c), count);
            }
        }
    }
}

/// Copies the weights above the diagonal of `n` rows to below it; on it lie zeros.
///
/// # Safety
/// There is room for `2 * BLOCK` weights.
unsafe fn mirror<F: Number>(weights: *mut F, n: usize) {
    for (part, i) in [0, BLOCK].into_iter().flat_map(|part| (0..n).map(move |i| (part, i))) {
        // SAFETY: rows and columns below `n`, at most `SIDE`, are within the block.
        unsafe {
            *weights.add(part + i * SIDE + i) = F::default();
            for j in 0..i {
                *weights.add(part + i * SIDE + j) = *weights.add(part + j * SIDE + i);
            }
        }
    }
}

impl<F: Number> Weights<F> {
    /// The weights of a row and a column, in all lanes.
    ///
    /// # Safety
    /// They are among those of the block.
    #[inline(always)]
    unsafe fn get<S: Simd>(self, i: usize, j: usize) -> [VectorOf<F, S>; 2] {
        let at = i * self.row + j * self.column;
        // SAFETY: both parts have a weight for each row and column of the block.
        [0, BLOCK].map(|part| VectorOf::<F, S>::splat_elem(unsafe { *self.at.add(part + at) }))
    }
}
