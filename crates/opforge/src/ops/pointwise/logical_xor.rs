//! `logical_xor(a, b)`: whether exactly one is true; what is not zero is true.

use crate::functional as f;
use crate::ops::prelude::*;

/// The tile function of [`logical_xor`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct LogicalXor;

impl CompareFn for LogicalXor {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V::Mask {
        a.ne(V::splat(0.0)) ^ b.ne(V::splat(0.0))
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I::Mask {
        a.ne(I::from_i64(0)) ^ b.ne(I::from_i64(0))
    }
}

impl Comparison for LogicalXor {
    const NAME: &'static str = "logical_xor";

    fn complex(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let (a, b) = (f::ne(a.into(), 0.0.into())?, f::ne(b.into(), 0.0.into())?);
        logical_xor((&a).into(), (&b).into())
    }
}

/// Whether exactly one is true (not zero), element by element. NaN counts as true.
///
/// Shapes are broadcast and dtypes promoted; the result has dtype bool.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::logical_xor((&x).into(), 2.0.into())?.to_vec1::<bool>()?, [true, false, false]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::REAL, samples, LogicalXor, gradient = false)]
pub fn logical_xor(input: Operand, other: Operand) -> Result<Tensor> {
    compare_to(LogicalXor, input, other, Rules::TORCH, out)
}

impl Tensor {
    /// Whether exactly one is true (not zero), as u8, with a tensor of equal shape or a number: see [`logical_xor`].
    #[track_caller]
    pub fn logical_xor<T: TensorOrScalar>(&self, rhs: T) -> Result<Tensor> {
        compare(LogicalXor, self.into(), rhs.operand(), Rules { cast: false, ..Rules::SAME })
    }
}

fn samples() -> Vec<Sample> {
    compare_samples(LogicalXor, |a, b| (a != 0.0) != (b != 0.0))
}
