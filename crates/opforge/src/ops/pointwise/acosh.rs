//! `acosh(x)`: the inverse of the hyperbolic cosine.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

/// The inverse of the hyperbolic cosine, element by element; NaN below 1.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::acosh(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 1.2..4.0, reference = libm::acosh)]
#[python(torch, method, in_place)]
impl Unary for Acosh {
    const PICOSECONDS: usize = 700;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::acosh(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.sqr()?.affine(1.0, -1.0)?.sqrt()?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, Parts::acosh)
    }
}
