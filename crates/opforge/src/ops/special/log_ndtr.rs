//! `log_ndtr(x)`: the logarithm of the normal distribution function.

use crate::ops::prelude::*;

/// The logarithm of the distribution function of the normal distribution, precise far from 0 too.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, -10.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::log_ndtr(&x)?.to_vec1::<f32>()?, [-std::f32::consts::LN_2, -53.231_285]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -4.0..3.0, reference = |x| (0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)).ln())]
#[python(special)]
impl Unary for LogNdtr {
    const PICOSECONDS: usize = 1200;
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::log_ndtr(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // sqrt(2 / pi) / erfcx(-x / sqrt(2)); where erfcx would overflow, exp(-x^2 / 2 - log_ndtr(x)) / sqrt(2 pi).
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let (far, zero) = (x.gt(4.0)?, x.zeros_like()?);
        let near = far.where_cond(&zero, &x)?.affine(-std::f64::consts::FRAC_1_SQRT_2, 0.0)?;
        let near = super::erfcx::erfcx(&near)?.recip()?.affine(std::f64::consts::FRAC_2_PI.sqrt(), 0.0)?;
        let log = far.where_cond(&x.sqr()?.affine(-0.5, -0.5 * std::f64::consts::TAU.ln())?.sub(&y)?, &zero)?;
        ctx.grad(0)?.mul(&far.where_cond(&log.exp()?, &near)?)
    }
}
