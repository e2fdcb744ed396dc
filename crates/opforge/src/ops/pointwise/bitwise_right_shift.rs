//! `bitwise_right_shift(a, b)`: the bits of `a` shifted by `b` places.

use super::bitwise_left_shift::{Shift, shift_samples};
use crate::ops::prelude::*;

/// The bits of `input` shifted to the right by `other` places, negative numbers staying negative; shifts that are negative or by all bits or
/// more leave the sign: -1 or 0.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, and floating-point tensors.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let (x, shifts) = (Tensor::new(&[-6i64], &Device::Cpu)?, Tensor::new(&[1i64, -1, 64], &Device::Cpu)?);
/// assert_eq!(opforge::functional::bitwise_right_shift((&x).into(), (&shifts).into())?.to_vec1::<i64>()?, [-3, -1, -1]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::INTS, shift_samples::<false>, Shift<false>)]
pub fn bitwise_right_shift(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(Shift::<false>, input, other, Rules::TORCH, out)
}
