//! `minimum(a, b)`: the lesser of `a` and `b`.

use crate::ops::extreme::of_winner;
use crate::ops::prelude::*;

/// The tile function of [`minimum`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Minimum;

impl BinaryFn for Minimum {
    const INT: bool = true;
    const BOOL: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        a.min(b)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.lesser(b)
    }
    #[inline(always)]
    fn boolean<M: Mask>(self, a: M, b: M) -> M {
        a & b
    }
}

impl Binary for Minimum {
    const NAME: &'static str = "minimum";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        of_winner(pair, side, super::lt::Lt)
    }
}

/// The lesser of `a` and `b`, element by element. NaN wins. Where both are equal each gets half of the gradient.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, and numbers that the dtype cannot hold.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::minimum((&x).into(), 2.0.into())?.to_vec1::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method)]
#[operator(DTypes::REAL, samples)]
pub fn minimum(input: Operand, other: Operand) -> Result<Tensor> {
    binary(Minimum, input, other, Rules::TORCH)
}

impl Tensor {
    /// The lesser of `a` and `b`, with a tensor of equal shape or a number: see [`minimum`].
    #[track_caller]
    pub fn minimum<T: TensorOrScalar>(&self, rhs: T) -> Result<Tensor> {
        binary(Minimum, self.into(), rhs.operand(), Rules::SAME)
    }

    /// The lesser of `a` and `b` of shapes broadcast to each other: see [`minimum`].
    #[track_caller]
    pub fn broadcast_minimum(&self, rhs: &Tensor) -> Result<Tensor> {
        binary(Minimum, self.into(), rhs.into(), Rules::BROADCAST)
    }
}

fn samples() -> Vec<Sample> {
    binary_samples(Minimum, -2.0..2.0, -1.5..2.5, |a, b| if a <= b || a.is_nan() { a } else { b })
}
