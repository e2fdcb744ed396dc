//! `cos(x)`: the cosine of an angle in radians.

use crate::functional::by_parts;
use crate::ops::prelude::*;

/// The cosine of an angle in radians, element by element.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::cos(&x)?.to_vec1::<f32>()?, [1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -4.0..4.0, reference = f64::cos)]
#[python(torch, method, in_place)]
impl Unary for Cos {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::cos(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.input(0)?.sin()?)?.neg()
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, |z| z.times_i()?.cosh())
    }
}

impl Tensor {
    /// The cosine of an angle in radians: see [`cos`].
    #[track_caller]
    pub fn cos(&self) -> Result<Tensor> {
        unary(Cos, self)
    }
}
