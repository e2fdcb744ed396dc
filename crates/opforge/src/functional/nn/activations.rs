//! Activation functions that are made of other functions.

use crate::functional as f;
use crate::ops::pointwise::clamp::{limited, whole_for};
use crate::ops::pointwise::elu::Elu;
use crate::ops::prelude::*;

functions! { celu, selu, hardtanh, relu6, tanhshrink, softmin, gumbel_softmax }

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
    unary(Elu { bend: alpha.into(), scale: 1.0.into(), rate: (1.0 / alpha).into() }, input)
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
    const SCALE: f64 = 1.050_700_987_355_480_5;
    unary(Elu { bend: (1.673_263_242_354_377_2 * SCALE).into(), scale: SCALE.into(), rate: 1.0.into() }, input)
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

/// `x - tanh(x)`.
#[function]
#[python(nn)]
pub fn tanhshrink(input: &Tensor) -> Result<Tensor> {
    f::sub(input.into(), (&f::tanh(input)?).into(), Scalar::Int(1))
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
