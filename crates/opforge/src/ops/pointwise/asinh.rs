//! `asinh(x)`: the inverse of the hyperbolic sine.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

/// The inverse of the hyperbolic sine, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::asinh(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = libm::asinh)]
#[python(torch, method, in_place)]
impl Unary for Asinh {
    const PICOSECONDS: usize = 700;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::asinh(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.sqr()?.affine(1.0, 1.0)?.sqrt()?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, |z| z.turned(Parts::asin))
    }
}
