//! `modified_bessel_k1(x)`: the modified Bessel function of the second kind and order 1.

use crate::ops::prelude::*;

/// The modified Bessel function of the second kind and order 1, element by element; infinite at 0 and NaN below.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::modified_bessel_k1(&x)?.to_vec1::<f32>()?, [f32::INFINITY, 0.601_907_25]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.5..3.0, reference = |x| super::modified_bessel_k0::scaled_integral(1.0, x) * (-x).exp())]
#[python(special)]
impl Unary for ModifiedBesselK1 {
    const PICOSECONDS: usize = 900;
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_k1(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // -k0(x) - k1(x) / x.
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        ctx.grad(0)?.mul(&super::modified_bessel_k0::modified_bessel_k0(&x)?.add(&y.div(&x)?)?.neg()?)
    }
}
