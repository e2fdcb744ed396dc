//! `bitwise_left_shift(a, b)`: the bits of `a` shifted by `b` places.

use crate::ops::prelude::*;

/// The tile function of `bitwise_left_shift` if `LEFT`, else of `bitwise_right_shift`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Shift<const LEFT: bool>;

impl<const LEFT: bool> BinaryFn for Shift<LEFT> {
    const FLOAT: bool = false;
    const INT: bool = true;

    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        if LEFT { a.shift_left(b) } else { a.shift_right(b) }
    }
}

impl<const LEFT: bool> Binary for Shift<LEFT> {
    const NAME: &'static str = if LEFT { "bitwise_left_shift" } else { "bitwise_right_shift" };
    const FLAT: bool = true;
}

/// The bits of `input` shifted to the left by `other` places; shifts that are negative or by all bits or more leave 0.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, and floating-point tensors.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[6i64], &Device::Cpu)?;
/// let shifts = Tensor::new(&[2i64, -1, 64], &Device::Cpu)?;
/// assert_eq!(opforge::functional::bitwise_left_shift((&x).into(), (&shifts).into())?.to_vec1::<i64>()?, [24, 0, 0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::INTS, shift_samples::<true>, Shift<true>)]
pub fn bitwise_left_shift(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(Shift::<true>, input, other, Rules::TORCH, out)
}

pub(super) fn shift_samples<const LEFT: bool>() -> Vec<Sample> {
    let shifted = |a, b| (if LEFT { (a as i64) << (b as i64) } else { (a as i64) >> (b as i64) }) as f64;
    binary_samples(Shift::<LEFT>, 0.0..7.0, 0.0..4.0, shifted)
}
