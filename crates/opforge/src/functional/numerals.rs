//! Numbers taken apart, and functions that are sums of others.

use crate::functional as f;
use crate::functional::complex::Parts;
use crate::functional::floating;
use crate::operator::prelude::*;

functions! {
    frexp, mvlgamma, conj, conj_physical, resolve_conj, resolve_neg, real, isreal, angle, adjoint, narrow_copy,
}

/// Mantissas, from a half to below 1 in magnitude, and exponents, in i32: `input = mantissa * 2^exponent`. Zeros, infinities and NaN are their own
/// mantissas, with an exponent of 0.
///
/// # Errors
/// For tensors that are not floating-point.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let (mantissa, exponent) = opforge::functional::frexp(&Tensor::new(&[6f32, -0.5], &Device::Cpu)?)?;
/// assert_eq!((mantissa.to_vec1::<f32>()?, exponent.to_vec1::<i32>()?), (vec![0.75, -0.5], vec![3, 0]));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, results(mantissa, exponent))]
pub fn frexp(input: &Tensor) -> Result<(Tensor, Tensor)> {
    if !input.dtype().is_float() {
        return Err(Error::dtype(OP, "input", input.dtype(), "a floating-point dtype"));
    }
    let x = if input.dtype() == DType::F64 { input.clone() } else { input.to_dtype(DType::F32)? };
    let plain = f::logical_and((&f::isfinite(&x)?).into(), (&f::ne((&x).into(), 0.0.into())?).into())?;
    let size = f::where_cond(&plain, (&x.detach().abs()?).into(), 1.0.into())?;
    let near = f::log2(&size)?.floor()?.affine(1.0, 1.0)?;
    // The logarithm may be rounded up or down to a whole number.
    let rough = scaled(&size, &near)?;
    let high = f::ge((&rough).into(), 1.0.into())?.to_dtype(x.dtype())?;
    let low = f::lt((&rough).into(), 0.5.into())?.to_dtype(x.dtype())?;
    let exponent = f::where_cond(&plain, (&near.add(&high)?.sub(&low)?).into(), 0.0.into())?;
    Ok((scaled(&x, &exponent)?.to_dtype(input.dtype())?, exponent.to_dtype(DType::I32)?))
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
    if !(1..=10_000).contains(&p) {
        return Err(Error::value(OP, "p", p, "1 to 10,000"));
    }
    let x = floating(input)?;
    let term = |j: i64| f::lgamma(&x.affine(1.0, -0.5 * j as f64)?);
    let sum = (1..p).try_fold(term(0)?, |sum, j| sum.add(&term(j)?))?;
    sum.affine(1.0, (p * (p - 1)) as f64 * 0.25 * std::f64::consts::PI.ln())
}

/// The complex conjugates; real numbers are their own.
///
/// ```
/// # use opforge::{Complex, Device, Tensor};
/// let z = Tensor::new(&[Complex::new(1f32, 2.0)], &Device::Cpu)?;
/// assert_eq!(opforge::functional::conj(&z)?.to_vec1::<Complex<f32>>()?, [Complex::new(1.0, -2.0)]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[view]
pub fn conj(input: &Tensor) -> Result<Tensor> {
    if input.dtype().is_complex() { Parts::of(input)?.conj()?.join() } else { Ok(input.clone()) }
}

/// As [`conj`].
#[function]
#[view]
pub fn conj_physical(input: &Tensor) -> Result<Tensor> {
    conj(input)
}

/// The tensor itself: no conjugation waits to be done.
#[function]
#[view]
pub fn resolve_conj(input: &Tensor) -> Result<Tensor> {
    Ok(input.clone())
}

/// The tensor itself: no negation waits to be done.
#[function]
#[view]
pub fn resolve_neg(input: &Tensor) -> Result<Tensor> {
    Ok(input.clone())
}

/// The real parts, a view; of real numbers the tensor itself.
///
/// ```
/// # use opforge::{Complex, Device, Tensor};
/// let z = Tensor::new(&[Complex::new(1f32, 2.0)], &Device::Cpu)?;
/// assert_eq!(opforge::functional::real(&z)?.to_vec1::<f32>()?, [1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch)]
#[view]
pub fn real(input: &Tensor) -> Result<Tensor> {
    if input.dtype().is_complex() { Ok(Parts::of(input)?.re) } else { Ok(input.clone()) }
}

/// Whether the elements are real numbers: their imaginary parts 0.
#[function]
pub fn isreal(input: &Tensor) -> Result<Tensor> {
    match input.dtype().is_complex() {
        true => f::eq((&f::imag(input)?).into(), 0.0.into()),
        false => Tensor::ones(input.shape(), DType::Bool, input.device()),
    }
}

/// The angles of the numbers in the complex plane, from -pi to pi: of real ones pi if they are negative, 0 for others, NaN for NaN.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, -2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::angle(&x)?.to_vec1::<f32>()?, [0.0, std::f32::consts::PI]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn angle(input: &Tensor) -> Result<Tensor> {
    if input.dtype().is_complex() {
        let Parts { re, im } = Parts::of(input)?;
        return f::atan2((&im).into(), (&re).into());
    }
    let x = floating(input)?.into_owned();
    let half_turn = Tensor::full_scalar(std::f64::consts::PI.into(), (), x.dtype(), x.device())?;
    let side = f::where_cond(&f::lt((&x).into(), 0.0.into())?, (&half_turn).into(), 0.0.into())?;
    f::where_cond(&f::isnan(&x)?, (&x).into(), (&side).into())
}

/// The conjugates of the transposed matrices.
///
/// # Errors
/// For fewer than two dimensions.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::adjoint(&x)?.to_vec2::<f32>()?, [[1.0], [2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[view]
pub fn adjoint(input: &Tensor) -> Result<Tensor> {
    let rank = input.rank();
    match rank {
        0 | 1 => Err(Error::shape(OP, "input", format!("{:?}", input.shape()), "at least two dimensions")),
        _ => conj(&input.transpose(rank - 2, rank - 1)?),
    }
}

/// [`narrow`](fn@crate::functional::narrow) in new memory.
///
/// # Errors
/// For elements that the dimension does not have.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::narrow_copy(&x, 0, 1, 2)?.to_vec1::<f32>()?, [2.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn narrow_copy(input: &Tensor, dim: i64, start: i64, length: usize) -> Result<Tensor> {
    f::copy(&f::narrow(input, dim, start, length)?)
}

/// `x / 2^exponent`, by two factors, since one might not be a number of the dtype.
fn scaled(x: &Tensor, exponent: &Tensor) -> Result<Tensor> {
    let half = exponent.affine(-0.5, 0.0)?.floor()?;
    let rest = exponent.add(&half)?.neg()?;
    x.mul(&f::exp2(&half)?)?.mul(&f::exp2(&rest)?)
}
