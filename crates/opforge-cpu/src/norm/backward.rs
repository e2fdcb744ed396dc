//! Gradients of softmax and of the norms with respect to their input, a row at a time.

use super::expect_like;
use super::softmax::Softmax;
use crate::math::exp;
use crate::plan::{LoopDim, LoopDims, Walk, iterations};
use crate::simd::{Float, Routine, Simd};
use crate::stored::{StoredFloat, VectorOf, load_strided, store_strided};
use crate::tasks::{Job, prepare};
use opforge_core::{DType, Error, Meta, Result, WithDType, bf16, f16};
use opforge_runtime::Kernel;
use std::marker::PhantomData;
use std::sync::Arc;

/// The gradient of [`super::softmax`] from its output `y` and the output's gradient `dy`, the kernel's inputs, both of any strides:
/// `y (dy - sum(y dy))`, or `dy - e^y sum(dy)` for the logarithm. The output is contiguous, of the same shape and dtype.
///
/// # Errors
/// Dtypes other than floats, an axis out of range, tensors of different shapes or dtypes.
pub fn softmax_backward(
    op: &'static str,
    y: &Meta,
    dy: &Meta,
    axis: usize,
    kind: Softmax,
    dx: &Meta,
) -> Result<Arc<dyn Kernel>> {
    if axis >= y.rank() {
        return Err(Error::index(op, "axis", axis, format!("an axis of the shape {:?}", y.shape())));
    }
    expect_same(op, "dy", dy, y)?;
    expect_like(op, "output", dx, y)?;
    let (outer, along) = rows([y, dy, dx], axis);
    match y.dtype {
        DType::F16 => Ok(SoftmaxRows::<f16>::prepare(kind, outer, along)),
        DType::BF16 => Ok(SoftmaxRows::<bf16>::prepare(kind, outer, along)),
        DType::F32 => Ok(SoftmaxRows::<f32>::prepare(kind, outer, along)),
        DType::F64 => Ok(SoftmaxRows::<f64>::prepare(kind, outer, along)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

/// The gradient of [`super::layer_norm`] with respect to its input.
///
/// With `g = dy weight` and `h = (x - mean) rstd`: `rstd (g - mean(g) - h mean(g h))`. Inputs: x and dy of any strides, then mean and rstd
/// as [`super::layer_norm`] leaves them, then weight if given. The output is contiguous, of x's shape and dtype.
///
/// # Errors
/// As [`super::layer_norm`].
pub fn layer_norm_backward(
    op: &'static str,
    x: &Meta,
    dy: &Meta,
    weight: Option<&Meta>,
    dx: &Meta,
) -> Result<Arc<dyn Kernel>> {
    norm_backward(op, x, dy, weight, true, dx)
}

/// The gradient of [`super::rms_norm`] with respect to its input: as [`layer_norm_backward`], without means.
///
/// # Errors
/// As [`super::layer_norm`].
pub fn rms_norm_backward(
    op: &'static str,
    x: &Meta,
    dy: &Meta,
    weight: Option<&Meta>,
    dx: &Meta,
) -> Result<Arc<dyn Kernel>> {
    norm_backward(op, x, dy, weight, false, dx)
}

fn norm_backward(
    op: &'static str,
    x: &Meta,
    dy: &Meta,
    weight: Option<&Meta>,
    centered: bool,
    dx: &Meta,
) -> Result<Arc<dyn Kernel>> {
    let Some(&len) = x.dims().last() else {
        return Err(Error::shape(op, "input", "[]", "at least one dimension"));
    };
    expect_same(op, "dy", dy, x)?;
    expect_like(op, "output", dx, x)?;
    weight.map_or(Ok(()), |w| expect_like(op, "weight", w, &Meta::contiguous(x.dtype, len)))?;
    let (outer, along) = rows([x, dy, dx], x.rank() - 1);
    match x.dtype {
        DType::F16 => Ok(NormRows::<f16>::prepare(centered, weight.is_some(), outer, along)),
        DType::BF16 => Ok(NormRows::<bf16>::prepare(centered, weight.is_some(), outer, along)),
        DType::F32 => Ok(NormRows::<f32>::prepare(centered, weight.is_some(), outer, along)),
        DType::F64 => Ok(NormRows::<f64>::prepare(centered, weight.is_some(), outer, along)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

fn expect_same(op: &'static str, name: &'static str, given: &Meta, model: &Meta) -> Result<()> {
    if given.dtype != model.dtype {
        return Err(Error::dtype(op, name, given.dtype, model.dtype));
    }
    if given.shape() != model.shape() {
        return Err(Error::shape(op, name, format!("{:?}", given.shape()), format!("{:?}", model.shape())));
    }
    Ok(())
}

/// The loops over rows, in row-major order, and the loop along them.
fn rows<const N: usize>(tensors: [&Meta; N], axis: usize) -> (LoopDims<N>, LoopDim<N>) {
    let dim = |d: usize| LoopDim { len: tensors[0].dims()[d], stride: tensors.map(|t| t.layout.stride()[d]) };
    ((0..tensors[0].rank()).filter(|&d| d != axis).map(dim).collect(), dim(axis))
}

/// Vectors added up in line before they enter the whole sum.
const BLOCK: usize = 64;

/// One row of two inputs and an output.
#[derive(Clone, Copy)]
struct Row<E> {
    a: *const E,
    b: *const E,
    out: *mut E,
    along: LoopDim<3>,
}

impl<E: StoredFloat> Row<E> {
    /// # Safety
    /// The offsets are a row's, of the loops that the job's tensors were planned for.
    #[inline(always)]
    unsafe fn new(job: &Job, [a, b, out]: [usize; 3], along: LoopDim<3>) -> Self {
        // SAFETY: the caller's.
        unsafe {
            Row {
                a: job.inputs[0].cast::<E>().add(a),
                b: job.inputs[1].cast::<E>().add(b),
                out: job.outputs[0].cast::<E>().add(out),
                along,
            }
        }
    }

    /// Up to a vector of both inputs from position `i`; lanes past the row's end are zero.
    ///
    /// # Safety
    /// `i` is within the row, and the row's addresses are valid.
    #[inline(always)]
    unsafe fn load<S: Simd>(&self, i: usize) -> (VectorOf<E, S>, VectorOf<E, S>) {
        let n = VectorOf::<E, S>::LANES.min(self.along.len - i);
        let [a, b, _] = self.along.stride;
        // SAFETY: the caller's.
        unsafe { (load_strided::<S, E>(self.a.add(i * a), n, a), load_strided::<S, E>(self.b.add(i * b), n, b)) }
    }

    /// Writes up to a vector from position `i`.
    ///
    /// # Safety
    /// As [`Row::load`].
    #[inline(always)]
    unsafe fn store<S: Simd>(&self, v: VectorOf<E, S>, i: usize) {
        let n = VectorOf::<E, S>::LANES.min(self.along.len - i);
        let stride = self.along.stride[2];
        // SAFETY: the caller's.
        unsafe { store_strided::<S, E>(v, n, self.out.add(i * stride), stride) };
    }
}

struct SoftmaxRows<E> {
    kind: Softmax,
    outer: LoopDims<3>,
    along: LoopDim<3>,
    element: PhantomData<E>,
}

impl<E: StoredFloat> SoftmaxRows<E> {
    fn prepare(kind: Softmax, outer: LoopDims<3>, along: LoopDim<3>) -> Arc<dyn Kernel> {
        let tasks = iterations(&outer);
        prepare(SoftmaxRows::<E> { kind, outer, along, element: PhantomData }, tasks, along.len, 0)
    }
}

impl<E: StoredFloat> Routine for SoftmaxRows<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let lanes = VectorOf::<E, S>::LANES;
        let plain = self.kind == Softmax::Plain;
        let mut walk = Walk::new(&self.outer, job.tasks.start);
        for _ in job.tasks.clone() {
            // SAFETY: the plan's offsets stay within the tensors that the caller vouches for.
            unsafe {
                let row = Row::<E>::new(&job, walk.offset(), self.along);
                let mut sum = 0.0;
                for block in (0..self.along.len).step_by(BLOCK * lanes) {
                    let mut block_sum = VectorOf::<E, S>::splat(0.0);
                    for i in (block..self.along.len.min(block + BLOCK * lanes)).step_by(lanes) {
                        let (y, dy) = row.load::<S>(i);
                        block_sum = block_sum + if plain { y * dy } else { dy };
                    }
                    sum += block_sum.reduce_sum().to_f64();
                }
                let sum = VectorOf::<E, S>::splat(sum);
                for i in (0..self.along.len).step_by(lanes) {
                    let (y, dy) = row.load::<S>(i);
                    row.store::<S>(if plain { y * (dy - sum) } else { dy - exp(y) * sum }, i);
                }
            }
            walk.step();
        }
    }
}

struct NormRows<E> {
    centered: bool,
    weight: bool,
    outer: LoopDims<3>,
    along: LoopDim<3>,
    element: PhantomData<E>,
}

impl<E: StoredFloat> NormRows<E> {
    fn prepare(centered: bool, weight: bool, outer: LoopDims<3>, along: LoopDim<3>) -> Arc<dyn Kernel> {
        let tasks = iterations(&outer);
        prepare(NormRows::<E> { centered, weight, outer, along, element: PhantomData }, tasks, along.len, 0)
    }

    /// `g` and `h` of up to a vector from position `i`; lanes of `g` past the row's end are zero.
    ///
    /// # Safety
    /// `i` is within the row; the weight's address is null or as long as the row.
    #[inline(always)]
    unsafe fn load<S: Simd>(
        &self,
        row: &Row<E>,
        i: usize,
        [mean, rstd]: [VectorOf<E, S>; 2],
        weight: *const E,
    ) -> [VectorOf<E, S>; 2] {
        let n = VectorOf::<E, S>::LANES.min(self.along.len - i);
        // SAFETY: the caller's.
        unsafe {
            let (x, dy) = row.load::<S>(i);
            let g = if weight.is_null() { dy } else { dy * load_strided::<S, E>(weight.add(i), n, 1) };
            [g, (x - mean) * rstd]
        }
    }
}

impl<E: StoredFloat> Routine for NormRows<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let lanes = VectorOf::<E, S>::LANES;
        let count = self.along.len as f64;
        let rstd_input = 2 + usize::from(self.centered);
        let weight = if self.weight { job.inputs[rstd_input + 1].cast::<E>() } else { std::ptr::null() };
        let mut walk = Walk::new(&self.outer, job.tasks.start);
        for task in job.tasks.clone() {
            // SAFETY: the plan's offsets stay within the tensors that the caller vouches for; there is a statistic for every row.
            unsafe {
                let row = Row::<E>::new(&job, walk.offset(), self.along);
                let stat = |input: usize| Float::splat_elem(job.inputs[input].cast::<E::Compute>().add(task).read());
                let rstd = stat(rstd_input);
                let stats = [if self.centered { stat(2) } else { Float::splat(0.0) }, rstd];
                let (mut sum_g, mut sum_gh) = (0.0, 0.0);
                for block in (0..self.along.len).step_by(BLOCK * lanes) {
                    let (mut block_g, mut block_gh) = (VectorOf::<E, S>::splat(0.0), VectorOf::<E, S>::splat(0.0));
                    for i in (block..self.along.len.min(block + BLOCK * lanes)).step_by(lanes) {
                        let [g, h] = self.load::<S>(&row, i, stats, weight);
                        block_g = block_g + g;
                        block_gh = block_gh + g * h;
                    }
                    sum_g += block_g.reduce_sum().to_f64();
                    sum_gh += block_gh.reduce_sum().to_f64();
                }
                let mean_g = VectorOf::<E, S>::splat(if self.centered { sum_g / count } else { 0.0 });
                let mean_gh = VectorOf::<E, S>::splat(sum_gh / count);
                for i in (0..self.along.len).step_by(lanes) {
                    let [g, h] = self.load::<S>(&row, i, stats, weight);
                    row.store::<S>(rstd * (g - mean_g - h * mean_gh), i);
                }
            }
            walk.step();
        }
    }
}
