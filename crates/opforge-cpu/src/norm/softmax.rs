//! Softmax and its logarithm down columns, shifted by the maximum so that no exponential overflows.

use crate::loops::plan::{LoopDim, LoopDims, Walk, iterations, order_and_merge};
use crate::loops::tasks::{Job, prepare};
use crate::math::{exp, log};
use crate::rows::exact_sum;
use crate::simd::stored::{StoredFloat, VectorOf, load_strided, store_strided};
use crate::simd::{Float, Routine, Simd, Vector};
use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::{HostKernel, checkpoint};
use opforge_tile::Softmax;
use std::marker::PhantomData;
use std::sync::Arc;

/// Normalises along `axis` where rows lie side by side, as columns of a matrix; none where they do not. The output is contiguous, of the input's
/// shape and dtype.
///
/// It takes wider tiles than [`crate::rows`] does, which is faster in memory that is passed through in long strides.
///
/// f16 and bf16 are computed in f32. A column of nothing but -inf gives NaN.
///
/// # Errors
/// Dtypes other than floats, an axis out of range, an output of another shape or dtype.
pub fn softmax_of_columns(
    op: &'static str,
    input: &Meta,
    axis: usize,
    kind: Softmax,
    output: &Meta,
) -> Result<Option<Arc<dyn HostKernel>>> {
    if axis >= input.rank() {
        return Err(Error::index(op, "axis", axis, format!("an axis of the shape {:?}", input.shape())));
    }
    super::expect_like(op, "output", output, input)?;
    match input.dtype {
        DType::F16 => Ok(plan::<f16>(input, axis, kind, output)),
        DType::BF16 => Ok(plan::<bf16>(input, axis, kind, output)),
        DType::F32 => Ok(plan::<f32>(input, axis, kind, output)),
        DType::F64 => Ok(plan::<f64>(input, axis, kind, output)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

/// Columns of a tile.
const TILE: usize = 512;
/// Rows of a tile taken together; few, since rows a power of two apart compete for the same places in a cache.
const ROWS: usize = 8;

fn plan<E: StoredFloat>(input: &Meta, axis: usize, kind: Softmax, output: &Meta) -> Option<Arc<dyn HostKernel>> {
    let dim =
        |d: usize| LoopDim { len: input.dims()[d], stride: [input.layout.stride()[d], output.layout.stride()[d]] };
    let mut outer: LoopDims<2> = (0..input.rank()).filter(|&d| d != axis).map(dim).collect();
    let along = dim(axis);
    if iterations(&outer) > 0 {
        order_and_merge(&mut outer);
    }
    let element = PhantomData::<E>;
    let columns = *outer.last()?;
    if columns.stride != [1, 1] || columns.len < 8 || along.stride == [1, 1] {
        return None;
    }
    outer.pop();
    let tasks = iterations(&outer) * columns.len.div_ceil(TILE);
    let memory = 3 * TILE * size_of::<E::Compute>();
    let routine = Columns { kind, outer, along, width: columns.len, element };
    Some(prepare(routine, tasks, along.len * TILE.min(columns.len), memory))
}

/// A tile of neighbouring columns at a time; working memory: their maxima, then their sums, then what these have rounded off.
///
/// The input is read twice: first for the maximum and the sum of exponentials, which is rescaled whenever a block of rows raises the
/// maximum (Milakov and Gimelshein, 2018), then for the results.
struct Columns<E> {
    kind: Softmax,
    outer: LoopDims<2>,
    along: LoopDim<2>,
    width: usize,
    element: PhantomData<E>,
}

impl<E: StoredFloat> Routine for Columns<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let lanes = VectorOf::<E, S>::LANES;
        let tiles = self.width.div_ceil(TILE);
        let max = job.memory.cast::<E::Compute>();
        for task in job.tasks {
            let [from, to] = Walk::new(&self.outer, task / tiles).offset();
            let first = task % tiles * TILE;
            let width = TILE.min(self.width - first);
            // SAFETY: the plan's offsets stay within the tensors that the caller vouches for; the memory holds three tiles.
            unsafe {
                let sum = max.add(TILE);
                for i in (0..width).step_by(lanes) {
                    VectorOf::<E, S>::splat(f64::NEG_INFINITY).store(max.add(i));
                    VectorOf::<E, S>::splat(0.0).store(sum.add(i));
                    VectorOf::<E, S>::splat(0.0).store(sum.add(TILE + i));
                }
                let from = job.inputs[0].cast::<E>().add(from + first);
                for row in (0..self.along.len).step_by(ROWS) {
                    checkpoint();
                    self.add_rows::<S>(from, row, width, max, sum);
                }
                self.write::<S>(from, width, max, sum, job.outputs[0].cast::<E>().add(to + first));
            }
        }
    }
}

impl<E: StoredFloat> Columns<E> {
    /// Takes a block of rows into the maxima and sums.
    ///
    /// # Safety
    /// `from` is the tile's first element; `max` and `sum` are tiles of working memory, and so is what comes after `sum`.
    #[inline(always)]
    unsafe fn add_rows<S: Simd>(
        &self,
        from: *const E,
        first: usize,
        width: usize,
        max: *mut E::Compute,
        sum: *mut E::Compute,
    ) {
        let lanes = VectorOf::<E, S>::LANES;
        let lowest = VectorOf::<E, S>::splat(f64::NEG_INFINITY);
        let rows = first..self.along.len.min(first + ROWS);
        for i in (0..width).step_by(lanes) {
            let n = lanes.min(width - i);
            // SAFETY: `i + n <= width` in every row of the block; the tiles of working memory hold whole vectors, the lost part at `TILE`.
            unsafe {
                let load = |row: usize| load_strided::<S, E>(from.add(row * self.along.stride[0] + i), n, 1);
                let old = VectorOf::<E, S>::load(max.add(i));
                let mut new = old;
                for row in rows.clone() {
                    new = new.max(load(row));
                }
                // As long as there is nothing but -inf, the sum stays 0.
                let shift = Float::select(new.eq(lowest), VectorOf::<E, S>::splat(0.0), new);
                let scale = exp(old - shift);
                let mut part = VectorOf::<E, S>::splat(0.0);
                for row in rows.clone() {
                    part = part + exp(load(row) - shift);
                }
                let (total, lost) = (VectorOf::<E, S>::load(sum.add(i)), VectorOf::<E, S>::load(sum.add(TILE + i)));
                let (total, error) = exact_sum(total * scale, part);
                new.store(max.add(i));
                total.store(sum.add(i));
                lost.mul_add(scale, error).store(sum.add(TILE + i));
            }
        }
    }

    /// # Safety
    /// `from` is the tile's first element and `to` its first output; `max` and `sum` are as [`Columns::add_rows`] leaves them.
    #[inline(always)]
    unsafe fn write<S: Simd>(
        &self,
        from: *const E,
        width: usize,
        max: *const E::Compute,
        sum: *mut E::Compute,
        to: *mut E,
    ) {
        let lanes = VectorOf::<E, S>::LANES;
        let plain = self.kind == Softmax::Plain;
        for i in (0..width).step_by(lanes) {
            // SAFETY: `i` is below `width`, at most TILE, and sums and what they have lost are whole tiles.
            unsafe {
                let total = VectorOf::<E, S>::load(sum.add(i)) + VectorOf::<E, S>::load(sum.add(TILE + i));
                if plain { VectorOf::<E, S>::splat(1.0) / total } else { log(total) }.store(sum.add(i));
            }
        }
        for row in 0..self.along.len {
            for i in (0..width).step_by(lanes) {
                let n = lanes.min(width - i);
                // SAFETY: `n` columns from the `i`-th are the tile's in this row of both sides; maxima and scales are whole tiles.
                unsafe {
                    let x = load_strided::<S, E>(from.add(row * self.along.stride[0] + i), n, 1);
                    let x = x - VectorOf::<E, S>::load(max.add(i));
                    let scale = VectorOf::<E, S>::load(sum.add(i));
                    let y = if plain { exp(x) * scale } else { x - scale };
                    store_strided::<S, E>(y, n, to.add(row * self.along.stride[1] + i), 1);
                }
            }
        }
    }
}
