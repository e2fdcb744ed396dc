//! `maximum(a, b)`: the greater of `a` and `b`.

use crate::ops::extreme::of_winner;
use crate::ops::prelude::*;

/// The tile function of `maximum` if `MAX`, else of `minimum`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Winner<const MAX: bool>;

impl<const MAX: bool> BinaryFn for Winner<MAX> {
    const INT: bool = true;
    const BOOL: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        if MAX { a.max(b) } else { a.min(b) }
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        if MAX { a.greater(b) } else { a.lesser(b) }
    }
    #[inline(always)]
    fn boolean<M: Mask>(self, a: M, b: M) -> M {
        if MAX { a | b } else { a & b }
    }
}

impl<const MAX: bool> Binary for Winner<MAX> {
    const NAME: &'static str = if MAX { "maximum" } else { "minimum" };

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        if MAX { of_winner(pair, side, super::gt::Gt) } else { of_winner(pair, side, super::lt::Lt) }
    }
}

/// The greater of `a` and `b`, element by element. NaN wins. Where both are equal each gets half of the gradient.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, and numbers that the dtype cannot hold.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::maximum((&x).into(), 2.0.into())?.to_vec1::<f32>()?, [2.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method)]
#[operator(DTypes::REAL, samples, Winner<true>)]
pub fn maximum(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(Winner::<true>, input, other, Rules::TORCH, out)
}

impl Tensor {
    /// The greater of `a` and `b`, with a tensor of equal shape or a number: see [`maximum`].
    #[track_caller]
    pub fn maximum<T: TensorOrScalar>(&self, rhs: T) -> Result<Tensor> {
        binary(Winner::<true>, self.into(), rhs.operand(), Rules::SAME)
    }

    /// The greater of `a` and `b` of shapes broadcast to each other: see [`maximum`].
    #[track_caller]
    pub fn broadcast_maximum(&self, rhs: &Tensor) -> Result<Tensor> {
        binary(Winner::<true>, self.into(), rhs.into(), Rules::BROADCAST)
    }
}

fn samples() -> Vec<Sample> {
    binary_samples(Winner::<true>, -2.0..2.0, -1.5..2.5, |a, b| if a >= b || a.is_nan() { a } else { b })
}
