//! `eq(a, b)`: whether `a == b`.

use crate::functional as f;
use crate::functional::Parts;
use crate::ops::prelude::*;

/// The tile function of [`eq`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Eq;

impl CompareFn for Eq {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V::Mask {
        a.eq(b)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I::Mask {
        a.eq(b)
    }
}

impl Comparison for Eq {
    const NAME: &'static str = "eq";
    const OF_STORED: bool = true;

    fn complex(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let (a, b) = (Parts::of(&a.detach())?, Parts::of(&b.detach())?);
        let (re, im) = (eq((&a.re).into(), (&b.re).into())?, eq((&a.im).into(), (&b.im).into())?);
        f::logical_and((&re).into(), (&im).into())
    }
}

/// Whether `a == b`, element by element. NaN differs from everything.
///
/// Shapes are broadcast and dtypes promoted; the result has dtype bool.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::eq((&x).into(), 2.0.into())?.to_vec1::<bool>()?, [false, true, false]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::REAL, samples, Eq, gradient = false)]
pub fn eq(input: Operand, other: Operand) -> Result<Tensor> {
    compare_to(Eq, input, other, Rules::TORCH, out)
}

impl Tensor {
    /// Whether `a == b`, as u8, with a tensor of equal shape or a number: see [`eq`].
    #[track_caller]
    pub fn eq<T: TensorOrScalar>(&self, rhs: T) -> Result<Tensor> {
        compare(Eq, self.into(), rhs.operand(), Rules::SAME)
    }

    /// Whether `a == b`, as u8, of shapes broadcast to each other: see [`eq`].
    #[track_caller]
    pub fn broadcast_eq(&self, rhs: &Tensor) -> Result<Tensor> {
        compare(Eq, self.into(), rhs.into(), Rules::BROADCAST)
    }
}

fn samples() -> Vec<Sample> {
    compare_samples(Eq, |a, b| a == b)
}
