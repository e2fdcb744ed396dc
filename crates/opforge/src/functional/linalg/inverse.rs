//! Determinants and inverses.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use crate::family::matrix::square;
use crate::functional as f;
use crate::ops::linalg::slogdet::determinants;
use crate::ops::prelude::*;

functions! { det, logdet, inverse, inv }

/// The determinant of each matrix, the product of the pivots of Gauss's elimination.
///
/// # Errors
/// For matrices that are not square, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[2f64, 0.0], [0.0, 0.5]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::det(&a)?.to_scalar::<f64>()?, 1.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, linalg)]
pub fn det(input: &Tensor) -> Result<Tensor> {
    let [_, determinant] = determinants(input)?;
    Ok(determinant)
}

/// The logarithm of each matrix's determinant: NaN of a negative one; of complex matrices the principal one.
///
/// # Errors
/// For matrices that are not square, and dtypes other than f32, f64, c64 and c128.
#[function]
pub fn logdet(input: &Tensor) -> Result<Tensor> {
    let (sign, log) = f::slogdet(input)?;
    if sign.dtype().is_complex() {
        return f::complex(&log, &f::angle(&sign)?);
    }
    f::where_cond(&f::lt((&sign).into(), 0.0.into())?, f64::NAN.into(), (&log).into())
}

/// The inverse of each matrix.
///
/// # Errors
/// For matrices that are not square or have no inverse, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[2f32, 0.0], [0.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::inverse(&a)?.to_vec2::<f32>()?, [[0.5, 0.0], [0.0, 0.25]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn inverse(input: &Tensor) -> Result<Tensor> {
    let n = square(OP, input.meta())?;
    // Of the input's rank: `solve` takes what has one dimension less for vectors.
    f::solve(input, &Tensor::eye(n, input.dtype(), input.device())?.broadcast_as(input.shape())?, true)
}

/// As [`inverse`].
///
/// # Errors
/// As [`inverse`].
#[function]
#[python(linalg)]
pub fn inv(A: &Tensor) -> Result<Tensor> {
    inverse(A)
}
