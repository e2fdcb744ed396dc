//! `bessel_j1(x)`: the Bessel function of the first kind and order 1.

use crate::ops::prelude::*;

/// The Bessel function of the first kind and order 1, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::bessel_j1(&x)?.to_vec1::<f32>()?, [0.0, 0.440_050_57]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.5..6.0, reference = reference)]
#[python(special)]
impl Unary for BesselJ1 {
    const PICOSECONDS: usize = 600;
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_j1(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // j0(x) - j1(x) / x, and a half at 0.
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let flat = super::i1::near_zero(&x)?;
        let ratio = y.div(&flat.where_cond(&x.ones_like()?, &x)?)?;
        let ratio = flat.where_cond(&x.ones_like()?.affine(0.5, 0.0)?, &ratio)?;
        ctx.grad(0)?.mul(&super::bessel_j0::bessel_j0(&x)?.sub(&ratio)?)
    }
}

fn reference(x: f64) -> f64 {
    match x {
        0.0 => x,
        _ if x.is_infinite() => 0.0,
        _ => super::bessel_j0::integral(1.0, x),
    }
}
