//! `bitwise_right_shift(a, b)`: the bits of `a` shifted by `b` places.

use crate::ops::prelude::*;

/// The tile function of [`bitwise_right_shift`](fn@bitwise_right_shift).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BitwiseRightShift;

impl BinaryFn for BitwiseRightShift {
    const FLOAT: bool = false;
    const INT: bool = true;

    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.shift_right(b)
    }
}

impl Binary for BitwiseRightShift {
    const NAME: &'static str = "bitwise_right_shift";
    const SAVES: Saves = Saves::NOTHING;

    fn derivative(&self, pair: &Pair<'_, '_>, _: Side) -> Result<Tensor> {
        pair.grad()?.zeros_like()
    }
}

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
#[operator(DTypes::INTS, samples)]
pub fn bitwise_right_shift(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(BitwiseRightShift, input, other, Rules::TORCH, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(BitwiseRightShift, 0.0..7.0, 0.0..4.0, |a, b| ((a as i64) >> (b as i64)) as f64)
        .into_iter()
        .map(|sample| sample.on(f64::floor).rough())
        .collect()
}
