//! `exp2(x) = 2^x`.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

/// 2 to the power `x`, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::exp2(&x)?.to_vec1::<f32>()?, [1.0, 8.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = f64::exp2)]
#[python(torch, method, in_place, special)]
impl Unary for Exp2 {
    const PICOSECONDS: usize = 150;
    const SAVES: Saves = Saves::OUTPUTS;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::exp2(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.output(0)?.affine(std::f64::consts::LN_2, 0.0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, Parts::exp2)
    }
}
