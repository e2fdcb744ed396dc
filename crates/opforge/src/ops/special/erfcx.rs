//! `erfcx(x) = exp(x^2) erfc(x)`.

use crate::ops::prelude::*;

/// `exp(x^2) erfc(x)`, which does not underflow, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::erfcx(&x)?.to_vec1::<f32>()?, [1.0, 0.427_583_58]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -1.5..3.0, reference = |x| if x == f64::INFINITY { 0.0 } else { (x * x).exp() * libm::erfc(x) })]
#[python(special)]
impl Unary for Erfcx {
    const PICOSECONDS: usize = 700;
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::erfcx(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // 2 x erfcx(x) - 2 / sqrt(pi).
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        ctx.grad(0)?.mul(&x.mul(&y)?.affine(2.0, -std::f64::consts::FRAC_2_SQRT_PI)?)
    }
}
