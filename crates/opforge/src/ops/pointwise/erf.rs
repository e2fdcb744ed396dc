//! `erf(x)`: the error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to x.

use crate::ops::prelude::*;

/// The error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to x, element by element.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::erf(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = libm::erf)]
#[python(torch, method, in_place, special)]
impl Unary for Erf {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::erf(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let slope = ctx.input(0)?.sqr()?.neg()?.exp()?.affine(std::f64::consts::FRAC_2_SQRT_PI, 0.0)?;
        ctx.grad(0)?.mul(&slope)
    }
}

impl Tensor {
    /// The error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to x: see [`erf`].
    #[track_caller]
    pub fn erf(&self) -> Result<Tensor> {
        unary(Erf, self)
    }
}
