//! `scaled_modified_bessel_k0(x) = modified_bessel_k0(x) exp(x)`.

use crate::ops::prelude::*;

/// `exp(x)` times the modified Bessel function of the second kind and order 0: it does not underflow.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1e6], &Device::Cpu)?;
/// assert_eq!(opforge::functional::scaled_modified_bessel_k0(&x)?.to_vec1::<f32>()?, [f32::INFINITY, 1.253_314e-3]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.5..3.0, reference = |x| super::modified_bessel_k0::scaled_integral(0.0, x))]
#[python(special)]
impl Unary for ScaledModifiedBesselK0 {
    const PICOSECONDS: usize = 1000;
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_k0e(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        ctx.grad(0)?.mul(&y.sub(&super::scaled_modified_bessel_k1::scaled_modified_bessel_k1(&x)?)?)
    }
}
