//! `minimum(a, b)`: the lesser of `a` and `b`.

use super::maximum::Winner;
use crate::ops::prelude::*;

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
#[function(out)]
#[python(torch, method)]
#[operator(DTypes::REAL, samples, Winner<false>)]
pub fn minimum(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(Winner::<false>, input, other, Rules::TORCH, out)
}

impl Tensor {
    /// The lesser of `a` and `b`, with a tensor of equal shape or a number: see [`minimum`].
    #[track_caller]
    pub fn minimum<T: TensorOrScalar>(&self, rhs: T) -> Result<Tensor> {
        binary(Winner::<false>, self.into(), rhs.operand(), Rules::SAME)
    }

    /// The lesser of `a` and `b` of shapes broadcast to each other: see [`minimum`].
    #[track_caller]
    pub fn broadcast_minimum(&self, rhs: &Tensor) -> Result<Tensor> {
        binary(Winner::<false>, self.into(), rhs.into(), Rules::BROADCAST)
    }
}

fn samples() -> Vec<Sample> {
    binary_samples(Winner::<false>, -2.0..2.0, -1.5..2.5, |a, b| if a <= b || a.is_nan() { a } else { b })
}
