//! `ne(a, b)`: whether `a != b`.

use crate::functional as f;
use crate::functional::Parts;
use crate::ops::prelude::*;

/// The tile function of [`ne`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Ne;

impl CompareFn for Ne {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V::Mask {
        a.ne(b)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I::Mask {
        a.ne(b)
    }
}

impl Comparison for Ne {
    const NAME: &'static str = "ne";
    const OF_STORED: bool = true;

    fn complex(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let (a, b) = (Parts::of(&a.detach())?, Parts::of(&b.detach())?);
        let (re, im) = (ne((&a.re).into(), (&b.re).into())?, ne((&a.im).into(), (&b.im).into())?);
        f::logical_or((&re).into(), (&im).into())
    }
}

/// Whether `a != b`, element by element. NaN differs from everything.
///
/// Shapes are broadcast and dtypes promoted; the result has dtype bool.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::ne((&x).into(), 2.0.into())?.to_vec1::<bool>()?, [true, false, true]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::REAL, samples, Ne, gradient = false)]
pub fn ne(input: Operand, other: Operand) -> Result<Tensor> {
    compare_to(Ne, input, other, Rules::TORCH, out)
}

impl Tensor {
    /// Whether `a != b`, as u8, with a tensor of equal shape or a number: see [`ne`].
    #[track_caller]
    pub fn ne<T: TensorOrScalar>(&self, rhs: T) -> Result<Tensor> {
        compare(Ne, self.into(), rhs.operand(), Rules::SAME)
    }

    /// Whether `a != b`, as u8, of shapes broadcast to each other: see [`ne`].
    #[track_caller]
    pub fn broadcast_ne(&self, rhs: &Tensor) -> Result<Tensor> {
        compare(Ne, self.into(), rhs.into(), Rules::BROADCAST)
    }
}

fn samples() -> Vec<Sample> {
    compare_samples(Ne, |a, b| a != b)
}
