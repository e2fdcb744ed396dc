//! `le(a, b)`: whether `a <= b`.

use crate::ops::prelude::*;

/// The tile function of [`le`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Le;

impl CompareFn for Le {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V::Mask {
        a.le(b)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I::Mask {
        a.le(b)
    }
}

impl Comparison for Le {
    const NAME: &'static str = "le";
}

/// Whether `a <= b`, element by element. False for NaN.
///
/// Shapes are broadcast and dtypes promoted; the result has dtype bool.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::le((&x).into(), 2.0.into())?.to_vec1::<bool>()?, [true, true, false]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::REAL, samples, Le, gradient = false)]
pub fn le(input: Operand, other: Operand) -> Result<Tensor> {
    compare_to(Le, input, other, Rules::TORCH, out)
}

impl Tensor {
    /// Whether `a <= b`, as u8, with a tensor of equal shape or a number: see [`le`].
    #[track_caller]
    pub fn le<T: TensorOrScalar>(&self, rhs: T) -> Result<Tensor> {
        compare(Le, self.into(), rhs.operand(), Rules::SAME)
    }

    /// Whether `a <= b`, as u8, of shapes broadcast to each other: see [`le`].
    #[track_caller]
    pub fn broadcast_le(&self, rhs: &Tensor) -> Result<Tensor> {
        compare(Le, self.into(), rhs.into(), Rules::BROADCAST)
    }
}

fn samples() -> Vec<Sample> {
    compare_samples(Le, |a, b| a <= b)
}
