//! `atanh(x)`: the inverse of the hyperbolic tangent.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

/// The inverse of the hyperbolic tangent, element by element; NaN outside of -1 to 1.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::atanh(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -0.9..0.9, reference = libm::atanh)]
#[python(torch, method, in_place)]
impl Unary for Atanh {
    const PICOSECONDS: usize = 400;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::atanh(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.sqr()?.affine(-1.0, 1.0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, Parts::atanh)
    }
}
