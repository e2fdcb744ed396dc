//! Random numbers in the place of a tensor's elements: functions that Python has in place only.

use std::f64::consts::PI;

use crate::functional as f;
use crate::functional::random::exponential_like;
use crate::ops::prelude::*;
use crate::ops::random::bernoulli::mask;
use crate::ops::random::rand::Rand;
use crate::ops::random::randint::RandInt;
use crate::ops::random::randn::Randn;

functions! {
    uniform, normal_like, bernoulli_each, bernoulli_like, exponential, log_normal, geometric, cauchy, random_below,
    random,
}

/// Random numbers, uniform in `[from, to)`, like the input.
///
/// # Errors
/// For bounds that are not in order or not finite, and tensors that are not floating-point.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 0.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::uniform(&x, 2.0, 2.0, None)?.to_vec1::<f32>()?, [2.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(from = 0.0, to = 1.0, *, generator = None)]
#[python(in_place)]
pub fn uniform(input: &Tensor, from: f64, to: f64, generator: Option<Generator>) -> Result<Tensor> {
    like(input, Rand::of(from, to), generator)
}

/// Random numbers, normal with this mean and deviation, like the input.
///
/// # Errors
/// For a negative deviation, and tensors that are not floating-point.
#[function(mean = 0.0, std = 1.0, *, generator = None)]
#[python(in_place, name = "normal")]
pub fn normal_like(input: &Tensor, mean: f64, std: f64, generator: Option<Generator>) -> Result<Tensor> {
    like(input, Randn::of(mean, std), generator)
}

/// Ones with the probabilities that `p` holds, else zeros, like the input.
///
/// # Errors
/// For probabilities that are not floating-point.
#[function(*, generator = None)]
#[python(in_place, name = "bernoulli")]
pub fn bernoulli_each(input: &Tensor, p: &Tensor, generator: Option<Generator>) -> Result<Tensor> {
    f::bernoulli(&p.broadcast_as(input.shape())?, generator)?.to_dtype(input.dtype())
}

/// Ones with probability `p`, else zeros, like the input.
///
/// # Errors
/// For a probability outside of 0 to 1.
#[function(p = 0.5, *, generator = None)]
#[python(in_place, name = "bernoulli")]
pub fn bernoulli_like(input: &Tensor, p: f64, generator: Option<Generator>) -> Result<Tensor> {
    mask(p, input, generator.as_ref())
}

/// Random numbers, exponential with rate `lambd`, like the input.
///
/// # Errors
/// For a rate that is not positive, and tensors that are not floating-point.
#[function(lambd = 1.0, *, generator = None)]
#[python(in_place)]
pub fn exponential(input: &Tensor, lambd: f64, generator: Option<Generator>) -> Result<Tensor> {
    positive(OP, "lambd", lambd)?;
    exponential_like(input, generator.as_ref())?.affine(1.0 / lambd, 0.0)
}

/// Random numbers whose logarithm is normal with this mean and deviation, like the input.
///
/// # Errors
/// For a deviation that is not positive, and tensors that are not floating-point.
#[function(mean = 1.0, std = 2.0, *, generator = None)]
#[python(in_place)]
pub fn log_normal(input: &Tensor, mean: f64, std: f64, generator: Option<Generator>) -> Result<Tensor> {
    positive(OP, "std", std)?;
    like(input, Randn::of(mean, std), generator)?.exp()
}

/// Random numbers of trials up to the first success, each of probability `p`, like the input.
///
/// # Errors
/// For a probability that is not between 0 and 1.
#[function(*, generator = None)]
#[python(in_place)]
pub fn geometric(input: &Tensor, p: f64, generator: Option<Generator>) -> Result<Tensor> {
    ensure(p > 0.0 && p < 1.0, || Error::value(OP, "p", p, "a probability between 0 and 1"))?;
    let dtype = if input.dtype().is_float() { input.dtype() } else { DType::F32 };
    let waiting = exponential_like(&input.detach().to_dtype(dtype)?, generator.as_ref())?;
    waiting.affine(-1.0 / (-p).ln_1p(), 0.0)?.ceil()?.maximum(1.0)?.to_dtype(input.dtype())
}

/// Random numbers of the Cauchy distribution around `median`, like the input.
///
/// # Errors
/// For a `sigma` that is not positive, and tensors that are not floating-point.
#[function(median = 0.0, sigma = 1.0, *, generator = None)]
#[python(in_place)]
pub fn cauchy(input: &Tensor, median: f64, sigma: f64, generator: Option<Generator>) -> Result<Tensor> {
    positive(OP, "sigma", sigma)?;
    let angle = like(input, Rand::of(-0.5, 0.5), generator)?.affine(PI, 0.0)?;
    f::tan(&angle)?.affine(sigma, median)
}

/// Random integers from 0 to before `to`, like the input.
///
/// # Errors
/// For an empty range, and one beyond the dtype's.
#[function(*, generator = None)]
#[python(in_place, name = "random")]
pub fn random_below(input: &Tensor, to: i64, generator: Option<Generator>) -> Result<Tensor> {
    like(input, RandInt { low: 0, high: to }, generator)
}

/// Random integers from `from` to before `to`, like the input; without `to`, to the greatest that the dtype holds exactly.
///
/// # Errors
/// For an empty range, and one beyond the dtype's.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0i64, 0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::random(&x, 5, Some(6), None)?.to_vec1::<i64>()?, [5, 5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(from = 0, to = None, *, generator = None)]
#[python(in_place)]
pub fn random(input: &Tensor, from: i64, to: Option<i64>, generator: Option<Generator>) -> Result<Tensor> {
    if input.dtype() == DType::Bool {
        return mask(0.5, input, generator.as_ref());
    }
    if !input.dtype().is_int() && !input.dtype().is_float() {
        return Err(Error::UnsupportedDTypeForOp(input.dtype(), OP));
    }
    let high = to.unwrap_or(beyond(input.dtype()));
    like(input, RandInt { low: from, high }, generator)
}

#[track_caller]
fn like<D: Distribution>(input: &Tensor, distribution: D, generator: Option<Generator>) -> Result<Tensor> {
    draw_like(distribution, input, input.dtype(), generator.as_ref())
}

fn positive(op: &'static str, param: &'static str, given: f64) -> Result<()> {
    ensure(given > 0.0, || Error::value(op, param, given, "a number above 0"))
}

/// One more than the greatest integer up to which a dtype holds all.
fn beyond(dtype: DType) -> i64 {
    match dtype {
        DType::F16 => (1 << 11) + 1,
        DType::BF16 => (1 << 8) + 1,
        DType::F32 => (1 << 24) + 1,
        DType::F64 => (1 << 53) + 1,
        DType::I64 | DType::U64 => i64::MAX,
        signed if signed.is_signed() => 1 << (8 * signed.size_in_bytes() - 1),
        unsigned => 1 << (8 * unsigned.size_in_bytes()),
    }
}
