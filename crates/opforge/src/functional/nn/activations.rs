//! Activation functions that are a few operators each.

use crate::functional as f;
use crate::ops::pointwise::clamp::limited;
use crate::ops::prelude::*;

functions! {
    celu, selu, prelu, hardtanh, relu6, hardsigmoid, hardshrink, softshrink, tanhshrink, softsign,
    threshold, glu, softmin, gumbel_softmax,
}

/// `x` where it is positive, else `alpha * (exp(x / alpha) - 1)`: [`elu`](fn@crate::functional::elu) with a slope of 1 at 0 for any alpha.
///
/// # Errors
/// For an alpha of 0.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::celu(&x, 1.0)?.to_vec1::<f32>()?, [0.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(alpha = 1.0)]
#[python(torch, nn, inplace)]
pub fn celu(input: &Tensor, alpha: f64) -> Result<Tensor> {
    ensure(alpha != 0.0, || Error::value(OP, "alpha", alpha, "a number other than 0"))?;
    let bends = input.le(0.0)?;
    let bent =
        f::expm1(&bends.where_cond(input, &input.zeros_like()?)?.affine(1.0 / alpha, 0.0)?)?.affine(alpha, 0.0)?;
    bends.where_cond(&bent, input)
}

/// `scale * elu(x, alpha)` with the constants that keep mean 0 and variance 1 through layers. Source: Klambauer and others,
/// "Self-Normalizing Neural Networks" (2017).
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::selu(&x)?.to_vec1::<f32>()?, [0.0, 1.050_701]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, nn, inplace)]
pub fn selu(input: &Tensor) -> Result<Tensor> {
    f::elu(input, 1.673_263_242_354_377_2)?.affine(1.050_700_987_355_480_5, 0.0)
}

/// `x` where it is positive, else `weight * x`; `weight` has one element, or one for each index of the second dimension.
///
/// # Errors
/// For a weight of another shape.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[-2f32, -4.0]], &Device::Cpu)?;
/// let w = Tensor::new(&[0.5f32, 0.25], &Device::Cpu)?;
/// assert_eq!(opforge::functional::prelu(&x, &w)?.to_vec2::<f32>()?, [[-1.0, -1.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, nn)]
pub fn prelu(input: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let channels = input.dims().get(1).copied().unwrap_or(1);
    let count = weight.elem_count();
    ensure(weight.rank() <= 1 && (count == 1 || count == channels), || {
        wrong_shape(OP, "weight", weight.shape(), format!("[1] or [{channels}]"))
    })?;
    let mut shape = vec![1; input.rank()];
    if count != 1 {
        shape[1] = count;
    }
    let negative = input.broadcast_mul(&weight.reshape(shape)?)?;
    input.gt(0.0)?.where_cond(input, &negative)
}

/// `x` between `min_val` and `max_val`; at the bounds themselves the gradient is 0.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-3f32, 0.5], &Device::Cpu)?;
/// assert_eq!(opforge::functional::hardtanh(&x, -1.0, 1.0)?.to_vec1::<f32>()?, [-1.0, 0.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(min_val = -1.0, max_val = 1.0)]
#[python(nn, inplace)]
pub fn hardtanh(input: &Tensor, min_val: f64, max_val: f64) -> Result<Tensor> {
    limited(input, whole_for(input, min_val), whole_for(input, max_val))
}

/// A number as an element of the input's dtype is: of integers without its fraction.
fn whole_for(input: &Tensor, number: f64) -> f64 {
    if input.dtype().is_int() { number.trunc() } else { number }
}

/// `min(max(x, 0), 6)`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-3f32, 0.5, 8.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::relu6(&x)?.to_vec1::<f32>()?, [0.0, 0.5, 6.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(nn, inplace)]
pub fn relu6(input: &Tensor) -> Result<Tensor> {
    limited(input, 0.0, 6.0)
}

/// `x / 6 + 1/2` between 0 and 1.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-3f32, 0.0, 8.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::hardsigmoid(&x)?.to_vec1::<f32>()?, [0.0, 0.5, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(nn, inplace)]
pub fn hardsigmoid(input: &Tensor) -> Result<Tensor> {
    f::affine(&input.affine(1.0, 3.0)?.clamp(0.0, 6.0)?, 1.0 / 6.0, 0.0)
}

/// `x`, but 0 where its magnitude is at most `lambd`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-0.25f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::hardshrink(&x, 0.5)?.to_vec1::<f32>()?, [0.0, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(lambd = 0.5)]
#[python(torch, method, nn)]
pub fn hardshrink(input: &Tensor, lambd: f64) -> Result<Tensor> {
    f::fit(OP, Scalar::Float(lambd), input.dtype())?;
    input.abs()?.le(lambd)?.where_cond(&input.zeros_like()?, input)
}

/// `x` brought nearer to 0 by `lambd`, not beyond it.
///
/// # Errors
/// For a negative `lambd`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-0.25f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::softshrink(&x, 0.5)?.to_vec1::<f32>()?, [0.0, 0.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(lambd = 0.5)]
#[python(nn)]
pub fn softshrink(input: &Tensor, lambd: f64) -> Result<Tensor> {
    if lambd.is_nan() || lambd < 0.0 {
        return Err(Error::value(OP, "lambd", lambd, "0 or more"));
    }
    f::fit(OP, Scalar::Float(lambd), input.dtype())?;
    let shrunk = input.sub(&input.detach().clamp(-lambd, lambd)?)?;
    input.abs()?.le(lambd)?.where_cond(&input.zeros_like()?, &shrunk)
}

/// `x - tanh(x)`.
#[function]
#[python(nn)]
pub fn tanhshrink(input: &Tensor) -> Result<Tensor> {
    f::sub(input.into(), (&f::tanh(input)?).into(), Scalar::Int(1))
}

/// `x / (1 + |x|)`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-1f32, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::softsign(&x)?.to_vec1::<f32>()?, [-0.5, 0.75]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(nn)]
pub fn softsign(input: &Tensor) -> Result<Tensor> {
    let x = f::floating(input)?;
    f::div((&*x).into(), (&f::abs(&x)?.affine(1.0, 1.0)?).into(), None)
}

/// `x` where it is above the threshold, else `value`. NaN stays NaN.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-1f32, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::threshold(&x, 0.0, 9.0)?.to_vec1::<f32>()?, [9.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, nn, inplace)]
pub fn threshold(input: &Tensor, threshold: f64, value: f64) -> Result<Tensor> {
    let (threshold, value) = (whole_for(input, threshold), whole_for(input, value));
    f::fit(OP, Scalar::Float(threshold), input.dtype())?;
    let value = Tensor::full_scalar(Scalar::Float(value), input.shape(), input.dtype(), input.device())?;
    input.le(threshold)?.where_cond(&value, input)
}

/// The first half of a dimension times the sigmoid of the second. Source: Dauphin and others, "Language Modeling with Gated Convolutional
/// Networks" (2016).
///
/// # Errors
/// For a dimension of odd length.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[4f32, 0.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::glu(&x, -1)?.to_vec1::<f32>()?, [2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = -1)]
#[python(nn)]
pub fn glu(input: &Tensor, dim: i64) -> Result<Tensor> {
    ensure(input.rank() > 0, || f::no_dims(OP))?;
    let dim = opforge_core::normalize_dim(dim, input.rank(), OP)?;
    let len = input.dims()[dim];
    ensure(len.is_multiple_of(2), || wrong_shape(OP, "input", input.shape(), format!("dim {dim} of even length")))?;
    input.narrow(dim, 0, len / 2)?.mul(&input.narrow(dim, len / 2, len / 2)?.sigmoid()?)
}

/// Softmax of the negated input.
#[function(*, dtype = None)]
#[python(nn)]
pub fn softmin(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    f::softmax(&input.neg()?, dim, dtype)
}

/// Softmax of `logits` with Gumbel noise, over `tau`: a smooth sample of classes along `dim`. With `hard` the result is 1 for the largest and
/// 0 elsewhere, with the gradient of the smooth one.
///
/// # Errors
/// For a dimension out of range.
#[function(tau = 1.0, hard = false, eps = 1e-10, dim = -1)]
#[python(nn)]
pub fn gumbel_softmax(logits: &Tensor, tau: f64, hard: bool, eps: f64, dim: i64) -> Result<Tensor> {
    let _ = eps;
    let place = f::existing_dim(OP, logits, dim)?;
    // Uniform numbers come from [0, 1): their complement has a logarithm.
    let uniform = Tensor::rand(0f32, 1.0, logits.shape(), logits.device())?.affine(-1.0, 1.0)?;
    let noise =
        uniform.log()?.neg()?.affine(1.0, f64::from(f32::MIN_POSITIVE))?.log()?.neg()?.to_dtype(logits.dtype())?;
    let soft = f::softmax(&logits.add(&noise)?.affine(1.0 / tau, 0.0)?, dim, None)?;
    if !hard {
        return Ok(soft);
    }
    let top = f::argmax(&soft.detach(), Some(place as i64), true)?;
    let one = f::scatter_value(&soft.detach().zeros_like()?, place as i64, &top, Scalar::Int(1), None)?;
    one.sub(&soft.detach())?.add(&soft)
}
