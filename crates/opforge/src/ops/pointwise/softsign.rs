//! `softsign(x) = x / (1 + |x|)`.

use crate::ops::prelude::*;

/// `x / (1 + |x|)`.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-1f32, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::softsign(&x)?.to_vec1::<f32>()?, [-0.5, 0.75]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = |x| x / (1.0 + x.abs()))]
#[python(nn)]
impl Unary for Softsign {
    const FUSED: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x / (x.abs() + V::splat(1.0))
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.abs()?.affine(1.0, 1.0)?.sqr()?)
    }

    #[inline(always)]
    fn gradient<V: Float>(self, x: V, grad: V) -> V {
        let below = x.abs() + V::splat(1.0);
        grad / (below * below)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        crate::functional::div(input.into(), (&crate::functional::abs(input)?.affine(1.0, 1.0)?).into(), None)
    }
}
