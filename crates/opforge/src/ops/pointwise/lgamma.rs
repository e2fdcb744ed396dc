//! `lgamma(x)`: the logarithm of the magnitude of the gamma function.

use crate::ops::prelude::*;

/// The logarithm of the magnitude of the gamma function, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::lgamma(&x)?.to_vec1::<f32>()?, [0.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.3..5.0, reference = libm::lgamma)]
#[python(torch, method, in_place)]
impl Unary for Lgamma {
    const PICOSECONDS: usize = 900;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::lgamma(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&super::digamma::digamma(&ctx.input(0)?)?)
    }
}
