//! `erfc(x) = 1 - erf(x)`.

use crate::ops::prelude::*;

/// `1 - erf(x)`, element by element, without cancellation.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::erfc(&x)?.to_vec1::<f32>()?, [1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -2.0..2.0, reference = libm::erfc)]
#[python(torch, method, in_place, special)]
impl Unary for Erfc {
    const PICOSECONDS: usize = 500;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::erfc(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.input(0)?.sqr()?.neg()?.exp()?.affine(-std::f64::consts::FRAC_2_SQRT_PI, 0.0)?)
    }
}
