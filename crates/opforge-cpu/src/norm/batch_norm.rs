//! Normalising channels by their mean and variance over a batch, or groups of channels of each element of it, and the gradients of that.

use super::columns::{self, Matrix};
use super::scaled_eps;
use super::sets::{Normalized, Products, Sets, Squares, Sum};
use super::single;
use super::stats_dtype;
use crate::loops::staged::with_contiguous;
use crate::loops::tasks::{Job, prepare};
use crate::loops::work::look_at;
use crate::reduce::shrink;
use crate::simd::stored::{StoredFloat, VectorOf, each_vector, load_strided, store_strided};
use crate::simd::{Float, Routine, Simd, Vector};
use opforge_core::{DType, Error, Meta, Result, WithDType, bf16, f16};
use opforge_runtime::HostKernel;
use opforge_tile::forms::Over;
use std::marker::PhantomData;
use std::sync::Arc;

/// `(x - mean) / sqrt(var + eps) * weight + bias`, with the mean and the variance (of the population) of each set that `over` tells.
///
/// Inputs, of any strides: x; then weight and bias if given, one number a channel, of x's dtype. Outputs, contiguous: y like x; then mean and
/// variance, one number a set, in the dtype that [`stats_dtype`] tells.
///
/// # Errors
/// Dtypes other than floats, a rank below 2, groups that do not divide the channels, tensors of another shape or dtype than told.
pub fn batch_norm(
    op: &'static str,
    over: Over,
    x: &Meta,
    [weight, bias]: [Option<&Meta>; 2],
    eps: f64,
    [y, mean, var]: [&Meta; 3],
) -> Result<Arc<dyn HostKernel>> {
    let plan = Plan::new(op, over, x)?;
    expect(op, "output", y, x.dtype, x.dims())?;
    plan.expect_parameters(op, x, [weight, bias])?;
    plan.expect_statistics(op, x, [mean, var])?;
    let inputs: Vec<&Meta> = [Some(x), weight, bias].into_iter().flatten().collect();
    let given = [weight.is_some(), bias.is_some()];
    with_contiguous(&inputs, |_| match x.dtype {
        DType::F16 => Ok(plan.forward::<f16>(given, eps)),
        DType::BF16 => Ok(plan.forward::<bf16>(given, eps)),
        DType::F32 => Ok(plan.forward::<f32>(given, eps)),
        DType::F64 => Ok(plan.forward::<f64>(given, eps)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    })
}

/// The gradient of [`batch_norm`] with respect to x, the kernel's first output, like x; and the sums that those with respect to weight and
/// bias are made of: `sum(dy h)` and `sum(dy)`, in the statistics' dtype, one number a channel over the batch, or `[batch, channels]` of groups.
///
/// With `h = (x - mean) rstd` and `g = dy weight`: `rstd (g - mean(g) - h mean(g h))`. Inputs, of any strides: x, dy, mean and variance as
/// [`batch_norm`] leaves them, then weight if given. The outputs are contiguous.
///
/// # Errors
/// As [`batch_norm`].
pub fn batch_norm_backward(
    op: &'static str,
    over: Over,
    [x, dy, mean, var]: [&Meta; 4],
    weight: Option<&Meta>,
    eps: f64,
    [dx, dw, db]: [&Meta; 3],
) -> Result<Arc<dyn HostKernel>> {
    let plan = Plan::new(op, over, x)?;
    for (name, meta) in [("dy", dy), ("output", dx)] {
        expect(op, name, meta, x.dtype, x.dims())?;
    }
    plan.expect_parameters(op, x, [weight, None])?;
    plan.expect_statistics(op, x, [mean, var])?;
    for (name, meta) in [("weight's sums", dw), ("bias' sums", db)] {
        let by_channel = if over == Over::Batch { &x.dims()[1..2] } else { &x.dims()[..2] };
        expect(op, name, meta, stats_dtype(x.dtype), by_channel)?;
    }
    let inputs: Vec<&Meta> = [Some(x), Some(dy), Some(mean), Some(var), weight].into_iter().flatten().collect();
    let given = weight.is_some();
    with_contiguous(&inputs, |_| match x.dtype {
        DType::F16 => Ok(plan.backward::<f16>(given, eps)),
        DType::BF16 => Ok(plan.backward::<bf16>(given, eps)),
        DType::F32 => Ok(plan.backward::<f32>(given, eps)),
        DType::F64 => Ok(plan.backward::<f64>(given, eps)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    })
}

/// Refuses a tensor of another dtype or shape.
pub(super) fn expect(op: &'static str, name: &'static str, given: &Meta, dtype: DType, shape: &[usize]) -> Result<()> {
    if given.dtype != dtype {
        return Err(Error::dtype(op, name, given.dtype, dtype));
    }
    if given.dims() != shape {
        return Err(Error::shape(op, name, format!("{:?}", given.shape()), format!("{shape:?}")));
    }
    Ok(())
}

struct Plan {
    over: Over,
    sets: Sets,
    /// What is normalised over the batch, where an element of it has one number a channel.
    matrix: Option<Matrix>,
}

impl Plan {
    fn new(op: &'static str, over: Over, x: &Meta) -> Result<Self> {
        let &[batch, channels, ref plane @ ..] = x.dims() else {
            return Err(Error::shape(op, "input", format!("{:?}", x.shape()), "[batch, channels, ..]"));
        };
        let plane = plane.iter().product();
        let matrix = (over == Over::Batch && plane == 1).then_some(Matrix { rows: batch, channels });
        let sets = match over {
            Over::Batch => Sets::of_batch(batch, channels, plane),
            Over::Groups(groups) if groups > 0 && channels.is_multiple_of(groups) => {
                Sets::of_groups(batch, channels, plane, groups)
            }
            Over::Groups(groups) => {
                return Err(Error::value(op, "groups", groups, format!("a divisor of the {channels} channels")));
            }
        };
        Ok(Plan { over, sets, matrix })
    }

    fn expect_parameters(&self, op: &'static str, x: &Meta, given: [Option<&Meta>; 2]) -> Result<()> {
        let mut named = ["weight", "bias"].into_iter().zip(given);
        named.try_for_each(|(name, meta)| meta.map_or(Ok(()), |m| expect(op, name, m, x.dtype, &x.dims()[1..2])))
    }

    fn expect_statistics(&self, op: &'static str, x: &Meta, given: [&Meta; 2]) -> Result<()> {
        let shape = match self.over {
            Over::Batch => vec![x.dims()[1]],
            Over::Groups(groups) => vec![x.dims()[0], groups],
        };
        let mut named = ["mean", "variance"].into_iter().zip(given);
        named.try_for_each(|(name, meta)| expect(op, name, meta, stats_dtype(x.dtype), &shape))
    }

    fn forward<E: StoredFloat>(&self, given: [bool; 2], eps: f64) -> Arc<dyn HostKernel> {
        let (sets, element) = (self.sets, PhantomData::<E>);
        match self.matrix {
            Some(matrix) => self.of_columns(matrix, columns::Forward { matrix, given, eps, element }),
            None => prepare(Forward { sets, given, eps, element }, sets.count, sets.elements(), 0),
        }
    }

    fn backward<E: StoredFloat>(&self, given: bool, eps: f64) -> Arc<dyn HostKernel> {
        let (sets, element) = (self.sets, PhantomData::<E>);
        match self.matrix {
            Some(matrix) => self.of_columns(matrix, columns::Gradient { matrix, given, eps, element }),
            None => prepare(Gradient { sets, given, eps, element }, sets.count, sets.elements(), 0),
        }
    }

    fn of_columns<R>(&self, matrix: Matrix, routine: R) -> Arc<dyn HostKernel>
    where
        R: Routine<Args = Job, Output = ()> + Send + Sync + 'static,
    {
        prepare(routine, matrix.tasks(), self.sets.elements() * columns::WIDTH, 0)
    }
}

/// A run's parameter, or what stands for it where none is given.
///
/// # Safety
/// If `given`, `at` is readable up to the element at `index`.
#[inline(always)]
unsafe fn parameter<E: StoredFloat>(given: bool, at: *const u8, index: usize, otherwise: f64) -> f64 {
    // SAFETY: a parameter that is given has a number at `index`.
    if given { unsafe { at.cast::<E>().add(index).read() }.to_f64() } else { otherwise }
}

struct Forward<E> {
    sets: Sets,
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
        let count = self.sets.elements() as f64;
        for set in job.tasks.clone() {
            // SAFETY: the kernel's tensors are valid, and the runs are within them; there is a statistic for every set.
            unsafe {
                let mut scale = 1.0;
                let [mean, var] = loop {
                    let moments = self.moments::<S>(&job, set, count, scale);
                    if scale != 1.0 || moments.iter().all(|moment| moment.is_finite()) {
                        break moments;
                    }
                    scale = shrink::<E>();
                };
                self.write::<S>(&job, set, mean, scale / (var + scaled_eps(self.eps, scale)).sqrt());
                for (output, value) in [(1, mean), (2, var / scale / scale)] {
                    job.outputs[output].cast::<E::Compute>().add(set).write(E::Compute::from_f64(value));
                }
            }
        }
    }
}

impl<E: StoredFloat> Forward<E> {
    /// The mean of a set, and the variance of its elements times `scale`.
    ///
    /// # Safety
    /// The job's tensors are valid.
    #[inline(always)]
    unsafe fn moments<S: Simd>(&self, job: &Job, set: usize, count: f64, scale: f64) -> [f64; 2] {
        // SAFETY: sums of a set read the job's tensors, which are valid.
        unsafe {
            let mean = self.total::<S>(job, set, None, scale) / count / scale;
            [mean, self.total::<S>(job, set, Some(mean), scale) / count]
        }
    }

    /// The sum of a set's elements times `scale`, or that of the squares of their distances from a mean, times `scale`.
    ///
    /// # Safety
    /// The job's tensors are valid.
    #[inline(always)]
    unsafe fn total<S: Simd>(&self, job: &Job, set: usize, mean: Option<f64>, scale: f64) -> f64 {
        let sets = self.sets.joined();
        let (center, scale) = (Float::splat(mean.unwrap_or(0.0)), Float::splat(scale));
        let offset = Normalized::<E, S> { x: job.inputs[0].cast::<E>(), stride: sets.stride, center, scale };
        let mut total = 0.0;
        for run in 0..sets.runs {
            let start = sets.start(set, run);
            // SAFETY: the input holds the set's runs, `len` elements at the stride from `start` on.
            let [sum] = unsafe {
                match mean {
                    None => sets.sum(start, &Sum(offset)),
                    Some(_) => sets.sum(start, &Squares(offset)),
                }
            };
            total += sum;
        }
        total
    }

    /// # Safety
    /// The job's tensors are valid.
    #[inline(always)]
    unsafe fn write<S: Simd>(&self, job: &Job, set: usize, mean: f64, rstd: f64) {
        let (sets, lanes, stride) = (&self.sets, VectorOf::<E, S>::LANES, self.sets.stride);
        let center = VectorOf::<E, S>::splat(mean);
        if single::has(sets) {
            let normal = Normalized { x: job.inputs[0].cast::<E>(), stride, center, scale: Float::splat(rstd) };
            // SAFETY: the tensors are this kernel's.
            return unsafe { single::write::<E, S>(sets, job, set, self.given, normal) };
        }
        for run in 0..sets.runs {
            let channel = sets.parameter(set, run);
            // SAFETY: `channel` is a parameter's, and `i + n <= len`: elements of this run in input and output.
            unsafe {
                let scale = parameter::<E>(self.given[0], job.inputs[1], channel, 1.0) * rstd;
                let bias = job.inputs[1 + usize::from(self.given[0])];
                let bias = Float::splat(parameter::<E>(self.given[1], bias, channel, 0.0));
                let (scale, start) = (VectorOf::<E, S>::splat(scale), sets.start(set, run));
                let (x, y) = (job.inputs[0].cast::<E>().add(start), job.outputs[0].cast::<E>().add(start));
                // Side by side, as most are, in a loop of their own.
                if stride == 1 {
                    each_vector(
                        sets.len,
                        lanes,
                        #[inline(always)]
                        |i, n| {
                            look_at(i);
                            let x = load_strided::<S, E>(x.add(i), n, 1);
                            store_strided::<S, E>((x - center).mul_add(scale, bias), n, y.add(i), 1);
                        },
                    );
                    continue;
                }
                for i in (0..sets.len).step_by(lanes) {
                    look_at(i);
                    let (at, n) = (i * stride, lanes.min(sets.len - i));
                    let x = load_strided::<S, E>(x.add(at), n, stride);
                    store_strided::<S, E>((x - center).mul_add(scale, bias), n, y.add(at), stride);
                }
            }
        }
    }
}

struct Gradient<E> {
    sets: Sets,
    /// Whether there is a weight.
    given: bool,
    eps: f64,
    element: PhantomData<E>,
}

impl<E: StoredFloat> Routine for Gradient<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let (sets, count) = (&self.sets, self.sets.elements() as f64);
        for set in job.tasks.clone() {
            // SAFETY: the job's tensors hold every set, and the statistics a number for each.
            unsafe {
                let stat = |input: usize| job.inputs[input].cast::<E::Compute>().add(set).read().to_f64();
                let rstd = 1.0 / (stat(3) + self.eps).sqrt();
                let (center, scale) = (Float::splat(stat(2)), Float::splat(rstd));
                let normal = Normalized::<E, S> { x: job.inputs[0].cast::<E>(), stride: sets.stride, center, scale };
                let [sum, sum_h] = self.sums(&job, set, normal);
                self.write(&job, set, normal, rstd, [sum / count, sum_h / count]);
            }
        }
    }
}

impl<E: StoredFloat> Gradient<E> {
    /// The sums of `g` and `g h` over a set; writes those that the parameters' gradients are made of.
    ///
    /// # Safety
    /// The job's tensors are valid.
    #[inline(always)]
    unsafe fn sums<S: Simd>(&self, job: &Job, set: usize, normal: Normalized<E, S>) -> [f64; 2] {
        let (sets, products) = (&self.sets, Products { normal, dy: job.inputs[1].cast::<E>() });
        if single::has(sets) {
            // SAFETY: the tensors are this kernel's.
            return unsafe { single::sums::<E, S>(sets, job, set, self.given, normal) };
        }
        let (mut weighted, mut slot) = ([0.0; 2], [0.0; 2]);
        for run in 0..sets.runs {
            // SAFETY: `x` and `dy` hold the run, the weight its parameter, and the sums a slot for each run or set.
            unsafe {
                let weight = parameter::<E>(self.given, job.inputs[4], sets.parameter(set, run), 1.0);
                let [sum, sum_h] = sets.sum(sets.start(set, run), &products);
                weighted = [weighted[0] + weight * sum, weighted[1] + weight * sum_h];
                slot = if sets.by_run { [sum, sum_h] } else { [slot[0] + sum, slot[1] + sum_h] };
                if sets.by_run || run + 1 == sets.runs {
                    self.write_sums(job, sets.slot(set, run), slot);
                }
            }
        }
        if sets.runs == 0 && !sets.by_run {
            // SAFETY: without runs each set has the slot of its number.
            unsafe { self.write_sums(job, set, [0.0; 2]) };
        }
        weighted
    }

    /// # Safety
    /// The slot is one of the sums'.
    #[inline(always)]
    unsafe fn write_sums(&self, job: &Job, slot: usize, [sum, sum_h]: [f64; 2]) {
        for (output, value) in [(1, sum_h), (2, sum)] {
            // SAFETY: outputs 1 and 2 are the sums, with a number for each slot.
            unsafe { job.outputs[output].cast::<E::Compute>().add(slot).write(E::Compute::from_f64(value)) };
        }
    }

    /// # Safety
    /// The job's tensors are valid.
    #[inline(always)]
    unsafe fn write<S: Simd>(&self, job: &Job, set: usize, normal: Normalized<E, S>, rstd: f64, means: [f64; 2]) {
        let (sets, lanes, stride) = (&self.sets, VectorOf::<E, S>::LANES, self.sets.stride);
        if single::has(sets) {
            // SAFETY: the tensors are this kernel's.
            return unsafe { single::write_gradient::<E, S>(sets, job, set, self.given, normal, means) };
        }
        let [mean, mean_h] = means.map(|m| VectorOf::<E, S>::splat(m * rstd));
        for run in 0..sets.runs {
            // SAFETY: the weight has a number for this run, and `i + n <= len` of its elements are read and written.
            unsafe {
                let weight = parameter::<E>(self.given, job.inputs[4], sets.parameter(set, run), 1.0);
                let (scale, start) = (VectorOf::<E, S>::splat(weight * rstd), sets.start(set, run));
                for i in (0..sets.len).step_by(lanes) {
                    look_at(i);
                    let (at, n) = (start + i * stride, lanes.min(sets.len - i));
                    let dy = load_strided::<S, E>(job.inputs[1].cast::<E>().add(at), n, stride);
                    let dx = dy * scale - mean - normal.load(at, n) * mean_h;
                    store_strided::<S, E>(dx, n, job.outputs[0].cast::<E>().add(at), stride);
                }
            }
        }
    }
}
