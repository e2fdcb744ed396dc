//! `bitwise_and(a, b)`: the bits that both have.

use crate::ops::prelude::*;

/// The tile function of [`bitwise_and`](fn@bitwise_and).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct BitwiseAnd;

impl BinaryFn for BitwiseAnd {
    const FLOAT: bool = false;
    const INT: bool = true;
    const BOOL: bool = true;

    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.bit_and(b)
    }
    #[inline(always)]
    fn boolean<M: Mask>(self, a: M, b: M) -> M {
        a & b
    }
}

impl Binary for BitwiseAnd {
    const NAME: &'static str = "bitwise_and";
    const FLAT: bool = true;
}

/// The bits that both have, of integers and truth values.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, and floating-point tensors.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[6i64], &Device::Cpu)?;
/// assert_eq!(opforge::functional::bitwise_and((&x).into(), 3i64.into())?.to_vec1::<i64>()?, [2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::INTS.and(DTypes::of(&[DType::Bool])), samples, BitwiseAnd)]
pub fn bitwise_and(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(BitwiseAnd, input, other, Rules::TORCH, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(BitwiseAnd, 0.0..9.0, 0.0..9.0, |a, b| ((a as i64) & (b as i64)) as f64)
}
