//! Random draws whose probabilities, means or deviations are tensors.

use crate::arguments::{default_dtype, device_or_default, leaf, size_to_shape};
use crate::functional as f;
use crate::ops::prelude::*;
use crate::ops::random::bernoulli::mask;
use crate::ops::random::rand::Rand;
use crate::ops::random::randn::Randn;

functions! { bernoulli_of, randperm, normal, normal_around, normal_scaled, normal_of_size, multinomial }

/// Ones with probability `p`, else zeros, in the input's shape and dtype.
///
/// # Errors
/// For a probability outside of 0 to 1.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 0.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::bernoulli_of(&x, 1.0, None)?.to_vec1::<f32>()?, [1.0, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, generator = None)]
#[python(torch, method, name = "bernoulli")]
pub fn bernoulli_of(input: &Tensor, p: f64, generator: Option<Generator>) -> Result<Tensor> {
    f::constant_in(mask(p, input, generator.as_ref())?, &[input])
}

/// The integers from 0 to before `n` in random order.
///
/// # Errors
/// For a negative `n`.
///
/// ```
/// let mut order = opforge::functional::randperm(5, None, None, None, false)?.to_vec1::<i64>()?;
/// order.sort();
/// assert_eq!(order, [0, 1, 2, 3, 4]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, generator = None, dtype = None, device = None, requires_grad = false)]
pub fn randperm(
    n: i64,
    generator: Option<Generator>,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    let shape = size_to_shape(OP, &[n])?;
    let device = device_or_default(OP, device)?;
    let keys = draw(Rand::of(0.0, 1.0), &shape, DType::F64, &device, generator.as_ref())?;
    let order = if i32::try_from(n).is_ok() && device != Device::Meta {
        shuffled(&keys.to_device(&Device::Cpu)?)?.to_device(&device)?
    } else {
        // The order of numbers of 53 random bits: among a million of them, two are equal once in 20,000 times.
        f::argsort(&keys, 0, false, false)?
    };
    leaf(order.to_dtype(dtype.unwrap_or(DType::I64))?, requires_grad)
}

/// The places of a vector's elements after each has changed with one that its uniform number tells, itself or a later one (Durstenfeld, 1964).
#[track_caller]
fn shuffled(uniform: &Tensor) -> Result<Tensor> {
    let n = uniform.elem_count();
    let places = Tensor::arange(0f64, n as f64, uniform.device())?;
    let left = places.affine(-1.0, n as f64)?;
    let chosen = places.add(&uniform.mul(&left)?.floor()?)?.affine(1.0, 1.0)?;
    f::lu_permutation(&chosen.to_dtype(DType::I32)?, n)
}

/// Random numbers, each normal with the mean and deviation that the tensors hold there.
///
/// # Errors
/// For tensors that are not floating-point.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let (mean, std) = (Tensor::new(&[1f32, 2.0], &Device::Cpu)?, Tensor::new(&[0f32, 0.0], &Device::Cpu)?);
/// assert_eq!(opforge::functional::normal(&mean, &std, None)?.to_vec1::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, generator = None)]
#[python(torch)]
pub fn normal(mean: &Tensor, std: &Tensor, generator: Option<Generator>) -> Result<Tensor> {
    let spread = standard(OP, &f::add(mean.into(), std.into(), Scalar::Int(1))?, generator)?;
    f::add(mean.into(), (&f::mul(std.into(), (&spread).into())?).into(), Scalar::Int(1))
}

/// Random numbers, each normal with the mean that the tensor holds there.
///
/// # Errors
/// For tensors that are not floating-point.
#[function(std = 1.0, *, generator = None)]
#[python(torch, name = "normal")]
pub fn normal_around(mean: &Tensor, std: f64, generator: Option<Generator>) -> Result<Tensor> {
    let spread = standard(OP, mean, generator)?;
    f::add(mean.into(), (&spread).into(), Scalar::Float(std))
}

/// Random numbers, each normal with the deviation that the tensor holds there.
///
/// # Errors
/// For tensors that are not floating-point.
#[function(*, generator = None)]
#[python(torch, name = "normal")]
pub fn normal_scaled(mean: f64, std: &Tensor, generator: Option<Generator>) -> Result<Tensor> {
    let spread = standard(OP, std, generator)?;
    f::add((&f::mul(std.into(), (&spread).into())?).into(), mean.into(), Scalar::Int(1))
}

/// Random numbers of a size, normal with this mean and deviation.
///
/// # Errors
/// For a negative deviation, and dtypes other than floats.
#[function(*, generator = None, dtype = None, device = None, requires_grad = false)]
#[python(torch, name = "normal")]
pub fn normal_of_size(
    mean: f64,
    std: f64,
    size: &[i64],
    generator: Option<Generator>,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    let (shape, dtype) = (size_to_shape(OP, size)?, dtype.unwrap_or(default_dtype()));
    let device = device_or_default(OP, device)?;
    leaf(draw(Randn::of(mean, std), &shape, dtype, &device, generator.as_ref())?, requires_grad)
}

/// Indices drawn from rows of weights: `num_samples` a row, each with a probability proportional to its weight. Without replacement no index
/// comes twice in a row.
///
/// # Errors
/// For weights that are negative, infinite, NaN or all zero, more than two dimensions, and, without replacement, more samples than there are
/// weights.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let weights = Tensor::new(&[[0f32, 3.0], [1.0, 0.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::multinomial(&weights, 1, false, None)?.to_vec2::<i64>()?, [[1], [0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(replacement = false, *, generator = None)]
pub fn multinomial(
    input: &Tensor,
    num_samples: i64,
    replacement: bool,
    generator: Option<Generator>,
) -> Result<Tensor> {
    let wrong = |given: String, accepted: &str| Err(Error::shape(OP, "input", given, accepted));
    check_float(OP, "input", input)?;
    let (1 | 2, Some(&categories)) = (input.rank(), input.dims().last()) else {
        return wrong(format!("{:?}", input.shape()), "one or two dimensions");
    };
    let samples = usize::try_from(num_samples).ok().filter(|&n| n > 0);
    let Some(samples) = samples.filter(|&n| replacement || n <= categories) else {
        let most = if replacement { "1 or more".to_owned() } else { format!("1 to {categories}, without replacement") };
        return Err(Error::value(OP, "num_samples", num_samples, most));
    };
    if categories == 0 {
        return wrong(format!("{:?}", input.shape()), "at least one weight a row");
    }
    let weights = input.detach().to_dtype(DType::F64)?;
    check_weights(&weights, if replacement { 1 } else { samples })?;
    if replacement {
        with_replacement(&weights, samples, generator)
    } else {
        without_replacement(&weights, samples, generator)
    }
}

/// Draws of the standard normal distribution, like a tensor.
#[track_caller]
fn standard(op: &'static str, like: &Tensor, generator: Option<Generator>) -> Result<Tensor> {
    check_float(op, "mean, std", like)?;
    draw_like(Randn::of(0.0, 1.0), like, like.dtype(), generator.as_ref())
}

/// Refuses rows that are no weights, or have fewer than `least` that are not zero. Weights on the meta device cannot be looked at.
#[track_caller]
fn check_weights(weights: &Tensor, least: usize) -> Result<()> {
    if *weights.device() == Device::Meta || weights.elem_count() == 0 {
        return Ok(());
    }
    let holds = |condition: Tensor| f::all(&condition, None, false)?.to_scalar::<bool>();
    let valid = f::logical_and((&f::ge(weights.into(), 0.0.into())?).into(), (&f::isfinite(weights)?).into())?;
    if !holds(valid)? {
        return Err(Error::value("multinomial", "input", "a negative, infinite or NaN weight", "weights of 0 or more"));
    }
    let positive = f::sum(&f::gt(weights.into(), 0.0.into())?, Some(&[-1]), false, None)?;
    if holds(f::ge((&positive).into(), Scalar::from(least).into())?)? {
        return Ok(());
    }
    Err(Error::value("multinomial", "input", "too few weights above 0", format!("at least {least} of them a row")))
}

/// The largest of weights over exponential draws have the right probabilities: one draw for each weight.
#[track_caller]
fn without_replacement(weights: &Tensor, samples: usize, generator: Option<Generator>) -> Result<Tensor> {
    let waiting = exponential_like(weights, generator.as_ref())?;
    let order = f::argsort(&weights.div(&waiting)?, -1, true, false)?;
    order.narrow(order.rank() - 1, 0, samples)?.contiguous()
}

/// Uniform draws fall into the intervals between running sums.
#[track_caller]
fn with_replacement(weights: &Tensor, samples: usize, generator: Option<Generator>) -> Result<Tensor> {
    let last = weights.rank() - 1;
    let sums = weights.cumsum(last)?;
    let mut shape = weights.dims().to_vec();
    shape[last] = samples;
    let total = sums.narrow(last, weights.dims()[last] - 1, 1)?;
    let at = draw(Rand::of(0.0, 1.0), &shape.into(), DType::F64, weights.device(), generator.as_ref())?
        .broadcast_mul(&total)?;
    // Rounding may bring a draw up to the total: the last weight above 0 takes it.
    let place = |x: &Tensor, right: bool| f::searchsorted(&sums, x.into(), false, right, None, None);
    let (index, highest) = (place(&at, true)?, place(&total, false)?);
    f::minimum((&index).into(), (&highest).into())
}

/// Draws of the exponential distribution with rate 1: `-log(1 - u)`.
#[track_caller]
pub(crate) fn exponential_like(like: &Tensor, generator: Option<&Generator>) -> Result<Tensor> {
    let uniform = draw_like(Rand::of(0.0, 1.0), like, like.dtype(), generator)?;
    f::log1p(&uniform.neg()?)?.neg()
}
