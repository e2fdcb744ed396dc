//! Normalising channels by their mean and variance over a batch, and the gradient of that.

use super::layer_norm::stats_dtype;
use crate::simd::{Float, Routine, Simd};
use crate::staged::with_contiguous;
use crate::stored::{StoredFloat, VectorOf, load_strided, store_strided};
use crate::tasks::{Job, prepare};
use opforge_core::{DType, Error, Meta, Result, WithDType, bf16, f16};
use opforge_runtime::Kernel;
use std::marker::PhantomData;
use std::sync::Arc;

/// `(x - mean) / sqrt(var + eps) * weight + bias` of each channel, the second dimension; mean and variance (of the population) over all others.
///
/// Inputs, of any strides: x; then weight and bias if given, one number a channel, of x's dtype. Outputs, contiguous: y like x; then mean and
/// variance, one number a channel, in the dtype that [`stats_dtype`] tells.
///
/// # Errors
/// Dtypes other than floats, a rank below 2, tensors of another shape or dtype than told.
pub fn batch_norm(
    op: &'static str,
    x: &Meta,
    weight: Option<&Meta>,
    bias: Option<&Meta>,
    eps: f64,
    [y, mean, var]: [&Meta; 3],
) -> Result<Arc<dyn Kernel>> {
    let channels = Channels::new(op, x)?;
    expect(op, "output", y, x.dtype, x)?;
    expect_channels(op, x, [weight, bias, None, None])?;
    expect_channels(op, x, [None, None, Some(mean), Some(var)])?;
    let inputs: Vec<&Meta> = [Some(x), weight, bias].into_iter().flatten().collect();
    let given = [weight.is_some(), bias.is_some()];
    with_contiguous(&inputs, |_| match x.dtype {
        DType::F16 => Ok(channels.prepare(Forward::<f16> { channels, given, eps, element: PhantomData })),
        DType::BF16 => Ok(channels.prepare(Forward::<bf16> { channels, given, eps, element: PhantomData })),
        DType::F32 => Ok(channels.prepare(Forward::<f32> { channels, given, eps, element: PhantomData })),
        DType::F64 => Ok(channels.prepare(Forward::<f64> { channels, given, eps, element: PhantomData })),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    })
}

/// The gradients of [`batch_norm`] with respect to x, weight and bias, the kernel's outputs, all contiguous and of x's dtype.
///
/// With `h = (x - mean) rstd`: `weight rstd (dy - mean(dy) - h mean(dy h))`, `sum(dy h)` and `sum(dy)`. Inputs, of any strides: x, dy, mean
/// and variance as [`batch_norm`] leaves them, then weight if given.
///
/// # Errors
/// As [`batch_norm`].
pub fn batch_norm_backward(
    op: &'static str,
    [x, dy, mean, var]: [&Meta; 4],
    weight: Option<&Meta>,
    eps: f64,
    [dx, dw, db]: [&Meta; 3],
) -> Result<Arc<dyn Kernel>> {
    let channels = Channels::new(op, x)?;
    for (name, meta) in [("dy", dy), ("output", dx)] {
        expect(op, name, meta, x.dtype, x)?;
    }
    expect_channels(op, x, [weight, Some(dw), Some(mean), Some(var)])?;
    expect_channels(op, x, [Some(db), None, None, None])?;
    let inputs: Vec<&Meta> = [Some(x), Some(dy), Some(mean), Some(var), weight].into_iter().flatten().collect();
    let given = weight.is_some();
    with_contiguous(&inputs, |_| match x.dtype {
        DType::F16 => Ok(channels.prepare(Gradient::<f16> { channels, given, eps, element: PhantomData })),
        DType::BF16 => Ok(channels.prepare(Gradient::<bf16> { channels, given, eps, element: PhantomData })),
        DType::F32 => Ok(channels.prepare(Gradient::<f32> { channels, given, eps, element: PhantomData })),
        DType::F64 => Ok(channels.prepare(Gradient::<f64> { channels, given, eps, element: PhantomData })),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    })
}

fn expect(op: &'static str, name: &'static str, given: &Meta, dtype: DType, model: &Meta) -> Result<()> {
    if given.dtype != dtype {
        return Err(Error::dtype(op, name, given.dtype, dtype));
    }
    if given.shape() != model.shape() {
        return Err(Error::shape(op, name, format!("{:?}", given.shape()), format!("{:?}", model.shape())));
    }
    Ok(())
}

/// Refuses what is not one number a channel: two in x's dtype, then two statistics.
fn expect_channels(op: &'static str, x: &Meta, [weight, bias, mean, var]: [Option<&Meta>; 4]) -> Result<()> {
    let own = [("weight", weight, x.dtype), ("bias", bias, x.dtype)];
    let stats = [("mean", mean, stats_dtype(x.dtype)), ("variance", var, stats_dtype(x.dtype))];
    let model = |dtype| Meta::contiguous(dtype, x.dims()[1]);
    own.into_iter().chain(stats).try_for_each(|(name, meta, dtype)| match meta {
        Some(meta) => expect(op, name, meta, dtype, &model(dtype)),
        None => Ok(()),
    })
}

/// Where the elements of a channel are: `outer` runs of `len` elements.
#[derive(Debug, Clone, Copy)]
struct Channels {
    count: usize,
    /// From one channel to the next.
    step: usize,
    outer: usize,
    outer_stride: usize,
    len: usize,
    stride: usize,
}

impl Channels {
    fn new(op: &'static str, x: &Meta) -> Result<Self> {
        let &[batch, count, ref plane @ ..] = x.dims() else {
            return Err(Error::shape(op, "input", format!("{:?}", x.shape()), "[batch, channels, ..]"));
        };
        let len: usize = plane.iter().product();
        Ok(if len == 1 {
            Channels { count, step: 1, outer: 1, outer_stride: 0, len: batch, stride: count }
        } else {
            Channels { count, step: len, outer: batch, outer_stride: count * len, len, stride: 1 }
        })
    }

    /// Elements of a channel.
    fn elements(&self) -> usize {
        self.outer * self.len
    }

    fn prepare<R>(&self, routine: R) -> Arc<dyn Kernel>
    where
        R: Routine<Args = Job, Output = ()> + Send + Sync + 'static,
    {
        prepare(routine, self.count, self.elements(), 0)
    }

    /// Calls `f` with where each run of a channel starts.
    #[inline(always)]
    fn each_run(&self, channel: usize, mut f: impl FnMut(usize)) {
        for i in 0..self.outer {
            f(channel * self.step + i * self.outer_stride);
        }
    }

    /// Sums of `N` terms of every element: of up to a vector of them, lanes past the run's end being zero, `f` makes the terms.
    #[inline(always)]
    fn sum<V: Float, const N: usize>(&self, channel: usize, f: impl Fn(usize, usize) -> [V; N]) -> [f64; N] {
        /// Vectors added up in line before they enter the whole sum.
        const BLOCK: usize = 64;
        let mut sums = [0.0; N];
        self.each_run(channel, |start| {
            for block in (0..self.len).step_by(BLOCK * V::LANES) {
                let mut partial = [V::splat(0.0); N];
                for i in (block..self.len.min(block + BLOCK * V::LANES)).step_by(V::LANES) {
                    let terms = f(start + i * self.stride, V::LANES.min(self.len - i));
                    for (partial, term) in partial.iter_mut().zip(terms) {
                        *partial = *partial + term;
                    }
                }
                for (sum, partial) in sums.iter_mut().zip(partial) {
                    *sum += partial.reduce_sum().to_f64();
                }
            }
        });
        sums
    }
}

struct Forward<E> {
    channels: Channels,
    /// Whether there are weight and bias.
    given: [bool; 2],
    eps: f64,
    element: PhantomData<E>,
}

impl<E: StoredFloat> Routine for Forward<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let channels = &self.channels;
        let (x, count) = (job.inputs[0].cast::<E>(), channels.elements() as f64);
        let (lanes, stride) = (VectorOf::<E, S>::LANES, channels.stride);
        let bias_input = 1 + usize::from(self.given[0]);
        for channel in job.tasks.clone() {
            // SAFETY: the kernel's tensors are valid, and the runs are within them; there is one parameter and statistic a channel.
            unsafe {
                let load = |at: usize, n: usize| load_strided::<S, E>(x.add(at), n, stride);
                let [sum] = channels.sum::<VectorOf<E, S>, 1>(channel, |at, n| [load(at, n)]);
                let mean = sum / count;
                let center = VectorOf::<E, S>::splat(mean);
                let [squares] = channels.sum::<VectorOf<E, S>, 1>(channel, |at, n| {
                    let off =
                        VectorOf::<E, S>::select(VectorOf::<E, S>::first(n), load(at, n) - center, Float::splat(0.0));
                    [off * off]
                });
                let var = squares / count;
                let parameter = |given: bool, input: usize, otherwise: f64| {
                    if given { job.inputs[input].cast::<E>().add(channel).read().to_f64() } else { otherwise }
                };
                let scale = parameter(self.given[0], 1, 1.0) / (var + self.eps).sqrt();
                let (scale, bias) = (Float::splat(scale), Float::splat(parameter(self.given[1], bias_input, 0.0)));
                channels.each_run(channel, |start| {
                    for i in (0..channels.len).step_by(lanes) {
                        let (at, n) = (start + i * stride, lanes.min(channels.len - i));
                        let y = (load(at, n) - center).mul_add(scale, bias);
                        store_strided::<S, E>(y, n, job.outputs[0].cast::<E>().add(at), stride);
                    }
                });
                for (output, value) in [(1, mean), (2, var)] {
                    job.outputs[output].cast::<E::Compute>().add(channel).write(E::Compute::from_f64(value));
                }
            }
        }
    }
}

struct Gradient<E> {
    channels: Channels,
    /// Whether there is a weight.
    given: bool,
    eps: f64,
    element: PhantomData<E>,
}

/// The elements of a channel, normalised as they are loaded. No closure: one that is used twice is not compiled in line, and then not for the
/// instruction set.
struct Normalized<E: StoredFloat, S: Simd> {
    x: *const E,
    center: VectorOf<E, S>,
    spread: VectorOf<E, S>,
    stride: usize,
}

impl<E: StoredFloat, S: Simd> Normalized<E, S> {
    /// Up to a vector of elements.
    ///
    /// # Safety
    /// `n` elements from index `at` on, each `stride` behind the one before, may be read.
    #[inline(always)]
    unsafe fn load(&self, at: usize, n: usize) -> VectorOf<E, S> {
        // SAFETY: the caller's.
        unsafe { (load_strided::<S, E>(self.x.add(at), n, self.stride) - self.center) * self.spread }
    }
}

impl<E: StoredFloat> Routine for Gradient<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let channels = &self.channels;
        let (x, dy) = (job.inputs[0].cast::<E>(), job.inputs[1].cast::<E>());
        let (lanes, stride, count) = (VectorOf::<E, S>::LANES, channels.stride, channels.elements() as f64);
        for channel in job.tasks.clone() {
            // SAFETY: as for the forward kernel.
            unsafe {
                let stat = |input: usize| job.inputs[input].cast::<E::Compute>().add(channel).read().to_f64();
                let rstd = 1.0 / (stat(3) + self.eps).sqrt();
                let (center, spread) = (VectorOf::<E, S>::splat(stat(2)), VectorOf::<E, S>::splat(rstd));
                let normalized = Normalized::<E, S> { x, center, spread, stride };
                // Lanes past the end have a gradient of zero.
                let [sum, sum_h] = channels.sum::<VectorOf<E, S>, 2>(channel, |at, n| {
                    let (dy, h) = (load_strided::<S, E>(dy.add(at), n, stride), normalized.load(at, n));
                    [dy, VectorOf::<E, S>::select(VectorOf::<E, S>::first(n), dy * h, Float::splat(0.0))]
                });
                let weight = if self.given { job.inputs[4].cast::<E>().add(channel).read().to_f64() } else { 1.0 };
                let scale = VectorOf::<E, S>::splat(weight * rstd);
                let (mean, mean_h) = (VectorOf::<E, S>::splat(sum / count), VectorOf::<E, S>::splat(sum_h / count));
                channels.each_run(channel, |start| {
                    for i in (0..channels.len).step_by(lanes) {
                        let (at, n) = (start + i * stride, lanes.min(channels.len - i));
                        let (dy, h) = (load_strided::<S, E>(dy.add(at), n, stride), normalized.load(at, n));
                        let dx = (dy - mean - h * mean_h) * scale;
                        store_strided::<S, E>(dx, n, job.outputs[0].cast::<E>().add(at), stride);
                    }
                });
                for (output, value) in [(1, sum_h), (2, sum)] {
                    job.outputs[output].cast::<E>().add(channel).write(E::from_f64(value));
                }
            }
        }
    }
}
