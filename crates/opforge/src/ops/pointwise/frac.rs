//! `frac(x) = x - trunc(x)`.

use crate::ops::prelude::*;

/// What truncation takes away, with the sign of `x`.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1.5f32, -1.5], &Device::Cpu)?;
/// assert_eq!(opforge::functional::frac(&x)?.to_vec1::<f32>()?, [0.5, -0.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.1..0.9, reference = f64::fract)]
#[python(torch, method, in_place)]
impl Unary for Frac {
    const SAVES: Saves = Saves::NOTHING;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x - x.trunc()
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.affine(1.0, 0.0)
    }
}
