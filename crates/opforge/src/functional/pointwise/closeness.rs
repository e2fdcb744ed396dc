//! Comparisons of whole tensors (`equal`, `allclose`), and of elements within tolerances.

use crate::functional as f;
use crate::ops::prelude::*;

functions! { equal, isclose, allclose }

/// Whether two tensors have the same shape and elements, which are compared in the dtype that both are promoted to. NaN equals nothing.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert!(opforge::functional::equal(&x, &x)?);
/// assert!(!opforge::functional::equal(&x, &x.neg()?)?);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn equal(input: &Tensor, other: &Tensor) -> Result<bool> {
    if input.shape() != other.shape() {
        return Ok(false);
    }
    truth(&f::all(&f::eq(input.into(), other.into())?, None, false)?)
}

/// Whether elements are equal to within `atol + rtol * |other|`. Infinities are close to themselves, NaN only with `equal_nan`.
///
/// # Errors
/// For dtypes that differ, and negative tolerances.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let (a, b) = (Tensor::new(&[1f32, 2.0], &Device::Cpu)?, Tensor::new(&[1.000001f32, 2.1], &Device::Cpu)?);
/// assert_eq!(opforge::functional::isclose(&a, &b, 1e-5, 1e-8, false)?.to_vec1::<bool>()?, [true, false]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(rtol = 1e-5, atol = 1e-8, equal_nan = false)]
pub fn isclose(input: &Tensor, other: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<Tensor> {
    ensure(input.dtype() == other.dtype(), || Error::dtypes(OP, input.dtype(), other.dtype()))?;
    if !(rtol >= 0.0 && atol >= 0.0) {
        return Err(Error::value(OP, "rtol, atol", format!("{rtol}, {atol}"), "tolerances of 0 or more"));
    }
    let or = |a: &Tensor, b: &Tensor| f::logical_or(a.into(), b.into());
    let and = |a: &Tensor, b: &Tensor| f::logical_and(a.into(), b.into());
    let mut close = f::eq(input.into(), other.into())?;
    if equal_nan {
        close = or(&close, &and(&f::isnan(input)?, &f::isnan(other)?)?)?;
    }
    // Differences of integers may not be integers of their dtype.
    let (a, b) = (f::floating(input)?.into_owned(), f::floating(other)?.into_owned());
    let distance = f::abs(&f::sub((&a).into(), (&b).into(), Scalar::Int(1))?)?;
    let allowed = f::add((&f::abs(&f::mul((&b).into(), rtol.into())?)?).into(), atol.into(), Scalar::Int(1))?;
    let near = f::le((&distance).into(), (&allowed).into())?;
    or(&close, &and(&f::isfinite(&distance)?, &near)?)
}

/// Whether all elements are close: see [`isclose`].
///
/// # Errors
/// As [`isclose`].
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert!(opforge::functional::allclose(&x, &x, 1e-5, 1e-8, false)?);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(rtol = 1e-5, atol = 1e-8, equal_nan = false)]
pub fn allclose(input: &Tensor, other: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
    truth(&f::all(&f::isclose(input, other, rtol, atol, equal_nan)?, None, false)?)
}

/// The truth value of a tensor without dimensions. Meta tensors have none.
fn truth(tensor: &Tensor) -> Result<bool> {
    tensor.to_scalar::<bool>()
}
