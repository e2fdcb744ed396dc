//! `tan(x)`: the tangent.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

/// The tangent of radians, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::tan(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -1.2..1.2, reference = f64::tan)]
#[python(torch, method, in_place)]
impl Unary for Tan {
    const PICOSECONDS: usize = 500;
    const SAVES: Saves = Saves::OUTPUTS;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::tan(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.output(0)?.sqr()?.affine(1.0, 1.0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, |z| z.turned(Parts::tanh))
    }
}
