//! What complex numbers are made of: conjugates and parts, of real numbers too.

use crate::functional as f;
use crate::functional::Parts;
use crate::ops::prelude::*;

functions! { conj, conj_physical, resolve_conj, resolve_neg, real, isreal, adjoint }

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

/// The conjugates of the transposed matrices.
///
/// # Errors
/// For one dimension.
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
        0 => conj(input),
        1 => Err(wrong_shape(OP, "input", input.shape(), "none or at least two dimensions")),
        _ => conj(&input.transpose(rank - 2, rank - 1)?),
    }
}
