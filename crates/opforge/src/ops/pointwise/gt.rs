//! `gt(a, b)`: whether `a > b`.

use crate::ops::prelude::*;

/// The tile function of [`gt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Gt;

impl CompareFn for Gt {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V::Mask {
        a.gt(b)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I::Mask {
        a.gt(b)
    }
}

impl Comparison for Gt {
    const NAME: &'static str = "gt";
}

/// Whether `a > b`, element by element. False for NaN.
///
/// Shapes are broadcast and dtypes promoted; the result has dtype bool.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::gt((&x).into(), 2.0.into())?.to_vec1::<bool>()?, [false, false, true]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::REAL, samples, Gt, gradient = false)]
pub fn gt(input: Operand, other: Operand) -> Result<Tensor> {
    compare_to(Gt, input, other, Rules::TORCH, out)
}

impl Tensor {
    /// Whether `a > b`, as u8, with a tensor of equal shape or a number: see [`gt`].
    #[track_caller]
    pub fn gt<T: TensorOrScalar>(&self, rhs: T) -> Result<Tensor> {
        compare(Gt, self.into(), rhs.operand(), Rules::SAME)
    }

    /// Whether `a > b`, as u8, of shapes broadcast to each other: see [`gt`].
    #[track_caller]
    pub fn broadcast_gt(&self, rhs: &Tensor) -> Result<Tensor> {
        compare(Gt, self.into(), rhs.into(), Rules::BROADCAST)
    }
}

fn samples() -> Vec<Sample> {
    compare_samples(Gt, |a, b| a > b)
}
