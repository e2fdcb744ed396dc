//! `ge(a, b)`: whether `a >= b`.

use crate::ops::prelude::*;

/// The tile function of [`ge`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Ge;

impl CompareFn for Ge {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V::Mask {
        a.ge(b)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I::Mask {
        a.ge(b)
    }
}

impl Comparison for Ge {
    const NAME: &'static str = "ge";
}

/// Whether `a >= b`, element by element. False for NaN.
///
/// Shapes are broadcast and dtypes promoted; the result has dtype bool.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::ge((&x).into(), 2.0.into())?.to_vec1::<bool>()?, [false, true, true]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::REAL, samples, Ge, gradient = false)]
pub fn ge(input: Operand, other: Operand) -> Result<Tensor> {
    compare_to(Ge, input, other, Rules::TORCH, out)
}

impl Tensor {
    /// Whether `a >= b`, as u8, with a tensor of equal shape or a number: see [`ge`].
    #[track_caller]
    pub fn ge<T: TensorOrScalar>(&self, rhs: T) -> Result<Tensor> {
        compare(Ge, self.into(), rhs.operand(), Rules::SAME)
    }

    /// Whether `a >= b`, as u8, of shapes broadcast to each other: see [`ge`].
    #[track_caller]
    pub fn broadcast_ge(&self, rhs: &Tensor) -> Result<Tensor> {
        compare(Ge, self.into(), rhs.into(), Rules::BROADCAST)
    }
}

fn samples() -> Vec<Sample> {
    compare_samples(Ge, |a, b| a >= b)
}
