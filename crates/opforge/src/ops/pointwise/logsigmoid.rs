//! `logsigmoid(x) = log(sigmoid(x))`.

use crate::ops::prelude::*;

/// `log(1 / (1 + exp(-x)))`, element by element, without overflow.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::logsigmoid(&x)?.to_vec1::<f32>()?, [-std::f32::consts::LN_2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -4.0..4.0, reference = |x| x.min(0.0) - (-x.abs()).exp().ln_1p())]
#[python(nn)]
impl Unary for Logsigmoid {
    const PICOSECONDS: usize = 400;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.min(V::splat(0.0)) - math::log_1p(math::exp(-x.abs()))
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.input(0)?.neg()?.sigmoid()?)
    }
}
