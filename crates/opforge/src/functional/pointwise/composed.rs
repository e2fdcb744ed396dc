//! Pointwise functions that are a few operators each.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use opforge_core::result_type;

use crate::family::matrix::real_dtype;
use crate::functional as f;
use crate::ops::prelude::*;

functions! {
    rsub, bitwise_not, float_power, ldexp, positive, deg2rad, rad2deg, ndtr,
    clamp_min, clamp_max, where_places, where_method, mvlgamma,
}

/// `other - alpha * input`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::rsub((&x).into(), 3.0.into(), 1i64.into())?.to_vec1::<f32>()?, [2.0, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, alpha = Scalar::Int(1))]
pub fn rsub(input: Operand, other: Operand, alpha: Scalar) -> Result<Tensor> {
    f::sub(other, input, alpha)
}

/// The opposite bits of integers, the opposite of truth values.
///
/// # Errors
/// For floating-point tensors.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0i64, 5], &Device::Cpu)?;
/// assert_eq!(opforge::functional::bitwise_not(&x)?.to_vec1::<i64>()?, [-1, -6]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn bitwise_not(input: &Tensor) -> Result<Tensor> {
    let dtype = input.dtype();
    let bits = if dtype.is_signed() { Scalar::Int(-1) } else { (u64::MAX >> (64 - 8 * dtype.size_in_bytes())).into() };
    match dtype {
        DType::Bool => f::logical_not(input),
        _ if dtype.is_int() => f::bitwise_xor(input.into(), bits.into()),
        _ => Err(Error::UnsupportedDTypeForOp(dtype, OP)),
    }
}

/// `input` to the power `exponent`, both in f64, or in c128 if one is complex.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[2i64, 3], &Device::Cpu)?;
/// assert_eq!(opforge::functional::float_power((&x).into(), (-1i64).into())?.to_vec1::<f64>()?, [0.5, 1.0 / 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn float_power(input: Operand, exponent: Operand) -> Result<Tensor> {
    let complex = [input, exponent].iter().any(|operand| match operand {
        Operand::Tensor(t) => t.dtype().is_complex(),
        Operand::Scalar(number) => number.kind() == opforge_core::Kind::Complex,
    });
    let wide = |t: &Tensor| t.to_dtype(if complex { DType::C128 } else { DType::F64 });
    match (input, exponent) {
        (Operand::Tensor(a), Operand::Tensor(b)) => f::pow((&wide(a)?).into(), (&wide(b)?).into()),
        (Operand::Tensor(a), b) => f::pow((&wide(a)?).into(), b),
        (a, Operand::Tensor(b)) => f::pow(a, (&wide(b)?).into()),
        (a, b) => f::pow(a, b),
    }
}

/// `input * 2^other`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::ldexp(&x, &Tensor::new(&[3i64, -1], &Device::Cpu)?)?.to_vec1::<f32>()?, [8.0, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn ldexp(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    // Powers of 2 are as precise in any dtype.
    let real = real_dtype(input.dtype());
    let power =
        f::exp2(&if real.is_float() && other.dtype().is_int() { other.to_dtype(real)? } else { other.clone() })?;
    f::mul(input.into(), (&power).into())
}

/// The tensor itself.
///
/// # Errors
/// For truth values.
#[function]
#[view]
pub fn positive(input: &Tensor) -> Result<Tensor> {
    if input.dtype() == DType::Bool { Err(Error::UnsupportedDTypeForOp(DType::Bool, OP)) } else { Ok(input.clone()) }
}

/// Degrees as radians.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[180f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::deg2rad(&x)?.to_vec1::<f32>()?, [std::f32::consts::PI]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn deg2rad(input: &Tensor) -> Result<Tensor> {
    f::floating(input)?.affine(PI / 180.0, 0.0)
}

/// Radians as degrees.
#[function]
#[python(torch, method, in_place)]
pub fn rad2deg(input: &Tensor) -> Result<Tensor> {
    f::floating(input)?.affine(180.0 / PI, 0.0)
}

/// The distribution function of the normal distribution.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::ndtr(&x)?.to_vec1::<f32>()?, [0.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(special)]
pub fn ndtr(input: &Tensor) -> Result<Tensor> {
    f::erfc(&f::floating(input)?.affine(-FRAC_1_SQRT_2, 0.0)?)?.affine(0.5, 0.0)
}

/// Each element, but at least `min`.
#[function]
#[python(torch, method, in_place)]
pub fn clamp_min(input: &Tensor, min: Operand) -> Result<Tensor> {
    f::clamp(input, Some(min), None)
}

/// Each element, but at most `max`.
#[function]
#[python(torch, method, in_place)]
pub fn clamp_max(input: &Tensor, max: Operand) -> Result<Tensor> {
    f::clamp(input, None, Some(max))
}

/// The places where the condition is true: a vector of indices for each dimension.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, -1.0], [-1.0, 2.0]], &Device::Cpu)?;
/// let places = opforge::functional::where_places(&x.gt(0.0)?)?;
/// assert_eq!(places[1].to_vec1::<i64>()?, [0, 1]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, name = "where")]
pub fn where_places(condition: &Tensor) -> Result<Vec<Tensor>> {
    f::nonzero_tuple(condition)
}

/// `self` where the condition is true, else `other`.
#[function]
#[python(method, name = "where")]
pub fn where_method(input: &Tensor, condition: &Tensor, other: Operand) -> Result<Tensor> {
    f::where_cond(condition, input.into(), other)
}

/// The tensors in the dtype that all promote to.
pub(crate) fn together<const N: usize>(name: &'static str, tensors: [&Tensor; N]) -> Result<[Tensor; N]> {
    let of = |dims| f::promote_all(name, tensors.iter().filter(|t| (t.rank() > 0) == dims).map(|t| t.dtype()));
    let dtype = result_type(of(true)?, of(false)?, None, f::default_dtype());
    let dtype = dtype.ok_or_else(|| Error::dtypes(name, tensors[0].dtype(), tensors[1].dtype()))?;
    let mut cast = tensors.map(Tensor::clone);
    for tensor in &mut cast {
        *tensor = tensor.to_dtype(dtype)?;
    }
    Ok(cast)
}

/// The logarithm of the multivariate gamma function of dimension `p`, element by element.
///
/// # Errors
/// For a `p` below 1 or above 10,000.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::mvlgamma(&x, 1)?.to_vec1::<f32>()?, opforge::functional::lgamma(&x)?.to_vec1::<f32>()?);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn mvlgamma(input: &Tensor, p: i64) -> Result<Tensor> {
    ensure((1..=10_000).contains(&p), || Error::value(OP, "p", p, "1 to 10,000"))?;
    let x = f::floating(input)?;
    let term = |j: i64| f::lgamma(&x.affine(1.0, -0.5 * j as f64)?);
    let sum = (1..p).try_fold(term(0)?, |sum, j| sum.add(&term(j)?))?;
    sum.affine(1.0, (p * (p - 1)) as f64 * 0.25 * std::f64::consts::PI.ln())
}
