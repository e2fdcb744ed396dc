//! `lt(a, b)`: whether `a < b`.

use crate::ops::prelude::*;

/// The tile function of [`lt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Lt;

impl CompareFn for Lt {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V::Mask {
        a.lt(b)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I::Mask {
        a.lt(b)
    }
}

impl Comparison for Lt {
    const NAME: &'static str = "lt";
}

/// Whether `a < b`, element by element. False for NaN.
///
/// Shapes are broadcast and dtypes promoted; the result has dtype bool.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::lt((&x).into(), 2.0.into())?.to_vec1::<bool>()?, [true, false, false]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::REAL, samples, Lt, gradient = false)]
pub fn lt(input: Operand, other: Operand) -> Result<Tensor> {
    compare_to(Lt, input, other, Rules::TORCH, out)
}

impl Tensor {
    /// Whether `a < b`, as u8, with a tensor of equal shape or a number: see [`lt`].
    #[track_caller]
    pub fn lt<T: TensorOrScalar>(&self, rhs: T) -> Result<Tensor> {
        compare(Lt, self.into(), rhs.operand(), Rules::SAME)
    }

    /// Whether `a < b`, as u8, of shapes broadcast to each other: see [`lt`].
    #[track_caller]
    pub fn broadcast_lt(&self, rhs: &Tensor) -> Result<Tensor> {
        compare(Lt, self.into(), rhs.into(), Rules::BROADCAST)
    }
}

fn samples() -> Vec<Sample> {
    compare_samples(Lt, |a, b| a < b)
}
