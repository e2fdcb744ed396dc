//! `expm1(x) = e^x - 1`.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

/// `e^x - 1`, element by element, precise near 0.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1e-6], &Device::Cpu)?;
/// assert_eq!(opforge::functional::expm1(&x)?.to_vec1::<f32>()?, [0.0, 1.0000005e-6]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = f64::exp_m1)]
#[python(torch, method, in_place, special)]
impl Unary for Expm1 {
    const PICOSECONDS: usize = 150;
    const SAVES: Saves = Saves::OUTPUTS;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::exp_m1(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.output(0)?.affine(1.0, 1.0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, Parts::expm1)
    }
}
