//! `bitwise_xor(a, b)`: the bits that one has, but not both.

use crate::ops::prelude::*;

/// The tile function of [`bitwise_xor`](fn@bitwise_xor).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct BitwiseXor;

impl BinaryFn for BitwiseXor {
    const FLOAT: bool = false;
    const INT: bool = true;
    const BOOL: bool = true;

    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.bit_xor(b)
    }
    #[inline(always)]
    fn boolean<M: Mask>(self, a: M, b: M) -> M {
        a ^ b
    }
}

impl Binary for BitwiseXor {
    const NAME: &'static str = "bitwise_xor";
    const FLAT: bool = true;
}

/// The bits that one has, but not both, of integers and truth values.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, and floating-point tensors.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[6i64], &Device::Cpu)?;
/// assert_eq!(opforge::functional::bitwise_xor((&x).into(), 3i64.into())?.to_vec1::<i64>()?, [5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::INTS.and(DTypes::of(&[DType::Bool])), samples, BitwiseXor)]
pub fn bitwise_xor(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(BitwiseXor, input, other, Rules::TORCH, out)
}

fn samples() -> Vec<Sample> {
    let mut samples = binary_samples(BitwiseXor, 0.0..9.0, 0.0..9.0, |a, b| ((a as i64) ^ (b as i64)) as f64);
    // Without those of a number, which bool cannot hold.
    samples.truncate(5);
    samples
}
