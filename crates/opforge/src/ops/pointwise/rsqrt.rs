//! `rsqrt(x) = 1 / sqrt(x)`.

use crate::ops::prelude::*;

/// `1 / sqrt(x)`, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 4.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::rsqrt(&x)?.to_vec1::<f32>()?, [1.0, 0.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.1..5.0, reference = |x| 1.0 / x.sqrt())]
#[python(torch, method, in_place)]
impl Unary for Rsqrt {
    const PICOSECONDS: usize = 200;
    const SAVES: Saves = Saves::OUTPUTS;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::rsqrt(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let y = ctx.output(0)?;
        ctx.grad(0)?.mul(&y.sqr()?.mul(&y)?.affine(-0.5, 0.0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        input.sqrt()?.recip()
    }
}
