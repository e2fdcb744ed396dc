//! Normalising rows by their mean and variance, or by their root mean square.

use super::{expect_like, scaled_eps, with_contiguous_rows};
use crate::loops::plan::{LoopDim, LoopDims, Walk, iterations};
use crate::loops::tasks::{Job, prepare};
use crate::reduce::{Reducer, shrink, sum_row};
use crate::simd::stored::{StoredFloat, VectorOf, each_vector, load_strided, store_strided};
use crate::simd::{Float, Routine, Simd, Vector};
use opforge_core::{DType, Error, Meta, Result, WithDType, bf16, f16};
use opforge_runtime::HostKernel;
use std::marker::PhantomData;
use std::sync::Arc;

/// `(x - mean) * rstd * weight + bias` over the last axis, `rstd = 1 / sqrt(variance + eps)` with the variance of the population.
///
/// Inputs: x of any strides, then weight and bias if given, contiguous and as long as the axis, of x's dtype. Outputs: y, contiguous and
/// like x; then, where `stats` is true, mean and rstd, one number a row, in the dtype that [`stats_dtype`] tells.
///
/// # Errors
/// Dtypes other than floats, rank 0, a weight, bias or output of another shape or dtype.
pub fn layer_norm(
    op: &'static str,
    input: &Meta,
    weight: Option<&Meta>,
    bias: Option<&Meta>,
    eps: f64,
    output: &Meta,
    stats: bool,
) -> Result<Arc<dyn HostKernel>> {
    plan(op, input, weight, bias, Options { centered: true, eps, stats }, output)
}

/// `x * rstd * weight` over the last axis, `rstd = 1 / sqrt(mean(x^2) + eps)`; otherwise as [`layer_norm`], whose output mean is left out.
///
/// # Errors
/// As [`layer_norm`].
pub fn rms_norm(
    op: &'static str,
    input: &Meta,
    weight: Option<&Meta>,
    eps: f64,
    output: &Meta,
    stats: bool,
) -> Result<Arc<dyn HostKernel>> {
    plan(op, input, weight, None, Options { centered: false, eps, stats }, output)
}

/// The dtype of a row's statistics: what arithmetic on these elements is done in.
pub fn stats_dtype(input: DType) -> DType {
    if input == DType::F64 { DType::F64 } else { DType::F32 }
}

#[derive(Debug, Clone, Copy)]
struct Options {
    centered: bool,
    eps: f64,
    stats: bool,
}

fn plan(
    op: &'static str,
    input: &Meta,
    weight: Option<&Meta>,
    bias: Option<&Meta>,
    options: Options,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let Some(&len) = input.dims().last() else {
        return Err(Error::shape(op, "input", "[]", "at least one dimension"));
    };
    expect_like(op, "output", output, input)?;
    let parameter = Meta::contiguous(input.dtype, len);
    weight.map_or(Ok(()), |w| expect_like(op, "weight", w, &parameter))?;
    bias.map_or(Ok(()), |b| expect_like(op, "bias", b, &parameter))?;
    let given = [weight.is_some(), bias.is_some()];
    with_contiguous_rows(&[input], |inputs| {
        let input = inputs[0];
        match input.dtype {
            DType::F16 => Ok(rows::<f16>(input, given, options)),
            DType::BF16 => Ok(rows::<bf16>(input, given, options)),
            DType::F32 => Ok(rows::<f32>(input, given, options)),
            DType::F64 => Ok(rows::<f64>(input, given, options)),
            other => Err(Error::UnsupportedDTypeForOp(other, op)),
        }
    })
}

fn rows<E: StoredFloat>(input: &Meta, [weight, bias]: [bool; 2], options: Options) -> Arc<dyn HostKernel> {
    let (last, strides) = (input.rank() - 1, input.layout.stride());
    let len = input.dims()[last];
    let outer: LoopDims<1> = (0..last).map(|d| LoopDim { len: input.dims()[d], stride: [strides[d]] }).collect();
    let tasks = iterations(&outer);
    let memory = (len + MAX_LANES) * size_of::<E::Compute>();
    prepare(Rows::<E> { options, outer, len, weight, bias, element: PhantomData }, tasks, len, memory)
}

/// No vector has more lanes.
const MAX_LANES: usize = 16;

struct Rows<E> {
    options: Options,
    outer: LoopDims<1>,
    len: usize,
    weight: bool,
    bias: bool,
    element: PhantomData<E>,
}

/// Sums `(x - shift)^2`.
#[derive(Clone, Copy)]
struct SquaresFrom(f64);
impl Reducer for SquaresFrom {
    fn identity(self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn map<V: Float>(self, x: V) -> V {
        let distance = x - V::splat(self.0);
        distance * distance
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
}

/// Sums.
#[derive(Clone, Copy)]
struct Sum;
impl Reducer for Sum {
    fn identity(self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
}

impl<E: StoredFloat> Routine for Rows<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let memory = job.memory.cast::<E::Compute>();
        let [weight, bias] = self.parameters(&job);
        let mut walk = Walk::new(&self.outer, job.tasks.start);
        for task in job.tasks.clone() {
            let [from] = walk.offset();
            walk.step();
            // SAFETY: the plan's offsets stay within the tensors that the caller vouches for; the memory holds a row.
            unsafe {
                let mut row = self.widened::<S>(job.inputs[0].cast::<E>().add(from), memory);
                let mut scale = 1.0;
                let [mean, variance] = loop {
                    let moments = self.moments::<S>(row);
                    if scale != 1.0 || moments.iter().all(|moment| moment.is_finite()) {
                        break moments;
                    }
                    scale = shrink::<E>();
                    self.shrink::<S>(row, scale, memory);
                    row = memory;
                };
                let rstd = 1.0 / (variance + scaled_eps(self.options.eps, scale)).sqrt();
                self.write::<S>(row, mean, rstd, weight, bias, job.outputs[0].cast::<E>().add(task * self.len));
                if self.options.stats {
                    self.write_stats(&job, task, mean / scale, rstd * scale);
                }
            }
        }
    }
}

impl<E: StoredFloat> Rows<E> {
    /// The mean, 0 where it is not asked for, and the variance.
    ///
    /// # Safety
    /// `row` holds a row.
    #[inline(always)]
    unsafe fn moments<S: Simd>(&self, row: *const E::Compute) -> [f64; 2] {
        let count = self.len as f64;
        // SAFETY: `row` holds `self.len` elements, as many as are summed.
        unsafe {
            let mean =
                if self.options.centered { sum_row::<S, E::Compute, _>(Sum, row, self.len) / count } else { 0.0 };
            [mean, sum_row::<S, E::Compute, _>(SquaresFrom(mean), row, self.len) / count]
        }
    }

    /// Writes a row multiplied by a number.
    ///
    /// # Safety
    /// `from` holds a row, and `to` has room for one. They may be the same.
    #[inline(always)]
    unsafe fn shrink<S: Simd>(&self, from: *const E::Compute, scale: f64, to: *mut E::Compute) {
        let scale = VectorOf::<E, S>::splat(scale);
        each_vector(
            self.len,
            VectorOf::<E, S>::LANES,
            #[inline(always)]
            |i, n| {
                // SAFETY: these elements are the row's.
                unsafe { (VectorOf::<E, S>::load_partial(from.add(i), n) * scale).store_partial(to.add(i), n) }
            },
        );
    }

    /// The addresses of weight and bias; null where not given.
    fn parameters(&self, job: &Job) -> [*const E; 2] {
        let weight = if self.weight { job.inputs[1] } else { std::ptr::null() };
        let bias = if self.bias { job.inputs[1 + usize::from(self.weight)] } else { std::ptr::null() };
        [weight.cast(), bias.cast()]
    }

    /// A row of the input as it is computed in: itself, or widened into the memory.
    ///
    /// # Safety
    /// `from` is a row of the input; the memory has room for one.
    #[inline(always)]
    unsafe fn widened<S: Simd>(&self, from: *const E, memory: *mut E::Compute) -> *const E::Compute {
        if size_of::<E>() == size_of::<E::Compute>() {
            return from.cast();
        }
        each_vector(
            self.len,
            VectorOf::<E, S>::LANES,
            #[inline(always)]
            |i, n| {
                // SAFETY: these elements are the row's.
                unsafe { load_strided::<S, E>(from.add(i), n, 1).store_partial(memory.add(i), n) }
            },
        );
        memory
    }

    /// # Safety
    /// `row` holds a row; weight and bias are null or as long; `to` is a row of the output.
    #[inline(always)]
    unsafe fn write<S: Simd>(
        &self,
        row: *const E::Compute,
        mean: f64,
        rstd: f64,
        weight: *const E,
        bias: *const E,
        to: *mut E,
    ) {
        let (mean, rstd) = (VectorOf::<E, S>::splat(mean), VectorOf::<E, S>::splat(rstd));
        each_vector(
            self.len,
            VectorOf::<E, S>::LANES,
            #[inline(always)]
            |i, n| {
                // SAFETY: these elements are the row's.
                unsafe {
                    let mut y = (load_strided::<S, E::Compute>(row.add(i), n, 1) - mean) * rstd;
                    if !weight.is_null() {
                        y = y * load_strided::<S, E>(weight.add(i), n, 1);
                    }
                    if !bias.is_null() {
                        y = y + load_strided::<S, E>(bias.add(i), n, 1);
                    }
                    store_strided::<S, E>(y, n, to.add(i), 1);
                }
            },
        );
    }

    /// # Safety
    /// The outputs after the first are the statistics' that the options ask for.
    #[inline(always)]
    unsafe fn write_stats(&self, job: &Job, task: usize, mean: f64, rstd: f64) {
        let write = |output: usize, value: f64| {
            // SAFETY: the output is one of the statistics that were asked for, with a number for each task.
            unsafe { job.outputs[output].cast::<E::Compute>().add(task).write(E::Compute::from_f64(value)) }
        };
        if self.options.centered {
            write(1, mean);
        }
        write(1 + usize::from(self.options.centered), rstd);
    }
}
