//! `atan(x)`: the arc tangent.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

/// The arc tangent in radians, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, f32::INFINITY], &Device::Cpu)?;
/// assert_eq!(opforge::functional::atan(&x)?.to_vec1::<f32>()?, [0.0, std::f32::consts::FRAC_PI_2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = f64::atan)]
#[python(torch, method, in_place)]
impl Unary for Atan {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::atan(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.sqr()?.affine(1.0, 1.0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, |z| z.turned(Parts::atanh))
    }
}
