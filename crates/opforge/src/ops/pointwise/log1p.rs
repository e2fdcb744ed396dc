//! `log1p(x) = log(1 + x)`.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

/// `log(1 + x)`, element by element, precise near 0.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1e-6], &Device::Cpu)?;
/// assert_eq!(opforge::functional::log1p(&x)?.to_vec1::<f32>()?, [0.0, 9.999995e-7]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -0.8..4.0, reference = f64::ln_1p)]
#[python(torch, method, in_place, special)]
impl Unary for Log1p {
    const PICOSECONDS: usize = 200;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::log_1p(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.affine(1.0, 1.0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, Parts::log1p)
    }
}
