//! Softmax and its logarithm, shifted by the maximum so that no exponential overflows.

use crate::loops::plan::{LoopDim, LoopDims, Walk, iterations, order_and_merge};
use crate::loops::tasks::{Job, prepare};
use crate::math::{exp, log};
use crate::simd::stored::{StoredFloat, VectorOf, load_strided, store_strided};
use crate::simd::{Float, Routine, Simd, Vector};
use opforge_core::{DType, Error, Meta, Result, WithDType, bf16, f16};
use opforge_runtime::{Kernel, checkpoint};
use std::marker::PhantomData;
use std::sync::Arc;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Softmax {
    /// `e^x / sum(e^x)`
    Plain,
    /// `x - ln(sum(e^x))`
    Log,
}

/// Normalises along `axis` of an input of any strides; the output is contiguous, of the input's shape and dtype.
///
/// f16 and bf16 are computed in f32. A row of nothing but -inf gives NaN.
///
/// # Errors
/// Dtypes other than floats, an axis out of range, an output of another shape or dtype.
pub fn softmax(op: &'static str, input: &Meta, axis: usize, kind: Softmax, output: &Meta) -> Result<Arc<dyn Kernel>> {
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

/// No vector has more lanes.
const MAX_LANES: usize = 16;
/// Columns of a tile.
const TILE: usize = 512;
/// Vectors of exponentials added up in line before they enter the whole sum.
const BLOCK: usize = 64;
/// Rows of a tile taken together; few, since rows a power of two apart compete for the same places in a cache.
const ROWS: usize = 8;
/// Elements of a row after which it looks whether the kernel is to stop.
const LOOK: usize = 1 << 16;

fn plan<E: StoredFloat>(input: &Meta, axis: usize, kind: Softmax, output: &Meta) -> Arc<dyn Kernel> {
    let dim =
        |d: usize| LoopDim { len: input.dims()[d], stride: [input.layout.stride()[d], output.layout.stride()[d]] };
    let mut outer: LoopDims<2> = (0..input.rank()).filter(|&d| d != axis).map(dim).collect();
    let along = dim(axis);
    if iterations(&outer) > 0 {
        order_and_merge(&mut outer);
    }
    let element = PhantomData::<E>;
    match outer.last().copied() {
        Some(columns) if columns.stride == [1, 1] && columns.len >= 8 && along.stride != [1, 1] => {
            outer.pop();
            let tasks = iterations(&outer) * columns.len.div_ceil(TILE);
            let memory = 3 * TILE * size_of::<E::Compute>();
            let routine = Columns { kind, outer, along, width: columns.len, element };
            prepare(routine, tasks, along.len * TILE.min(columns.len), memory)
        }
        _ => {
            let tasks = iterations(&outer);
            let memory = (along.len + MAX_LANES) * size_of::<E::Compute>();
            prepare(Rows { kind, outer, along, element }, tasks, along.len, memory)
        }
    }
}

/// One row at a time.
struct Rows<E> {
    kind: Softmax,
    outer: LoopDims<2>,
    along: LoopDim<2>,
    element: PhantomData<E>,
}

impl<E: StoredFloat> Routine for Rows<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let row = job.memory.cast::<E::Compute>();
        let mut walk = Walk::new(&self.outer, job.tasks.start);
        for _ in job.tasks {
            let [from, to] = walk.offset();
            walk.step();
            // SAFETY: the plan's offsets stay within the tensors that the caller vouches for; the memory holds a row of whole vectors.
            unsafe {
                let max = self.widen::<S>(job.inputs[0].cast::<E>().add(from), row);
                let sum = self.exponentials::<S>(row, max);
                self.write::<S>(row, sum, job.outputs[0].cast::<E>().add(to));
            }
        }
    }
}

impl<E: StoredFloat> Rows<E> {
    /// Fills the row, and its last vector with -inf; gives the maximum.
    ///
    /// # Safety
    /// `from` is a row of the input, `row` is the working memory.
    #[inline(always)]
    unsafe fn widen<S: Simd>(&self, from: *const E, row: *mut E::Compute) -> VectorOf<E, S> {
        let (lanes, LoopDim { len, stride: [stride, _] }) = (VectorOf::<E, S>::LANES, self.along);
        let lowest = VectorOf::<E, S>::splat(f64::NEG_INFINITY);
        let (mut max, mut i) = (lowest, 0);
        // SAFETY: the caller's.
        unsafe {
            while i + lanes <= len {
                if i % LOOK == 0 {
                    checkpoint();
                }
                let x = load_strided::<S, E>(from.add(i * stride), lanes, stride);
                x.store(row.add(i));
                max = max.max(x);
                i += lanes;
            }
            if i < len {
                let x = load_strided::<S, E>(from.add(i * stride), len - i, stride);
                let x = Float::select(VectorOf::<E, S>::first(len - i), x, lowest);
                x.store(row.add(i));
                max = max.max(x);
            }
        }
        Vector::splat_elem(max.reduce_max())
    }

    /// Shifts the row by its maximum and takes exponentials, which the logarithm needs the sum of only.
    ///
    /// # Safety
    /// `row` holds whole vectors.
    #[inline(always)]
    unsafe fn exponentials<S: Simd>(&self, row: *mut E::Compute, max: VectorOf<E, S>) -> f64 {
        let lanes = VectorOf::<E, S>::LANES;
        let len = self.along.len.next_multiple_of(lanes);
        let mut sum = 0.0;
        for block in (0..len).step_by(BLOCK * lanes) {
            checkpoint();
            let mut block_sum = VectorOf::<E, S>::splat(0.0);
            for i in (block..len.min(block + BLOCK * lanes)).step_by(lanes) {
                // SAFETY: the caller's.
                unsafe {
                    let x = VectorOf::<E, S>::load(row.add(i)) - max;
                    let e = exp(x);
                    if self.kind == Softmax::Plain { e } else { x }.store(row.add(i));
                    block_sum = block_sum + e;
                }
            }
            sum += block_sum.reduce_sum().to_f64();
        }
        sum
    }

    /// # Safety
    /// `row` holds whole vectors, `to` is a row of the output.
    #[inline(always)]
    unsafe fn write<S: Simd>(&self, row: *const E::Compute, sum: f64, to: *mut E) {
        let (lanes, LoopDim { len, stride: [_, stride] }) = (VectorOf::<E, S>::LANES, self.along);
        let scale = VectorOf::<E, S>::splat(if self.kind == Softmax::Plain { 1.0 / sum } else { sum.ln() });
        for i in (0..len).step_by(lanes) {
            if i % LOOK == 0 {
                checkpoint();
            }
            // SAFETY: the caller's.
            unsafe {
                let x = VectorOf::<E, S>::load(row.add(i));
                let y = if self.kind == Softmax::Plain { x * scale } else { x - scale };
                store_strided::<S, E>(y, lanes.min(len - i), to.add(i * stride), stride);
            }
        }
    }
}

/// A rounded sum, and what it has lost (Knuth).
#[inline(always)]
fn exact_sum<V: Float>(a: V, b: V) -> (V, V) {
    let sum = a + b;
    let added = sum - a;
    (sum, (a - (sum - added)) + (b - added))
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
            // SAFETY: the caller's.
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
            // SAFETY: the caller's.
            unsafe {
                let total = VectorOf::<E, S>::load(sum.add(i)) + VectorOf::<E, S>::load(sum.add(TILE + i));
                if plain { VectorOf::<E, S>::splat(1.0) / total } else { log(total) }.store(sum.add(i));
            }
        }
        for row in 0..self.along.len {
            for i in (0..width).step_by(lanes) {
                let n = lanes.min(width - i);
                // SAFETY: the caller's.
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
