//! `scaled_modified_bessel_k1(x) = modified_bessel_k1(x) exp(x)`.

use crate::ops::prelude::*;

/// `exp(x)` times the modified Bessel function of the second kind and order 1: it does not underflow.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1e3], &Device::Cpu)?;
/// assert_eq!(opforge::functional::scaled_modified_bessel_k1(&x)?.to_vec1::<f32>()?, [f32::INFINITY, 3.964_813e-2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.5..3.0, reference = |x| super::modified_bessel_k0::scaled_integral(1.0, x))]
#[python(special)]
impl Unary for ScaledModifiedBesselK1 {
    const PICOSECONDS: usize = 1000;
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_k1e(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // k1e(x) (1 - 1 / x) - k0e(x).
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let other = super::scaled_modified_bessel_k0::scaled_modified_bessel_k0(&x)?;
        ctx.grad(0)?.mul(&y.sub(&y.div(&x)?)?.sub(&other)?)
    }
}
