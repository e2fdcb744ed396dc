//! `fmin(a, b)`: the lesser, numbers before NaN.

use super::fmax::WinningNumber;
use crate::ops::prelude::*;

/// The lesser of both, element by element; NaN only where both are.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, f32::NAN], &Device::Cpu)?;
/// assert_eq!(opforge::functional::fmin((&x).into(), 2.0.into())?.to_vec1::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method)]
#[operator(DTypes::REAL, samples, WinningNumber<false>)]
pub fn fmin(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(WinningNumber::<false>, input, other, Rules::TORCH, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(WinningNumber::<false>, -2.0..2.0, -1.5..2.5, f64::min)
}
