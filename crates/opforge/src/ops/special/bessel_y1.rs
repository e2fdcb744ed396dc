//! `bessel_y1(x)`: the Bessel function of the second kind and order 1.

use crate::ops::prelude::*;

/// The Bessel function of the second kind and order 1, element by element; minus infinity at 0 and NaN below.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::bessel_y1(&x)?.to_vec1::<f32>()?, [f32::NEG_INFINITY, -0.781_212_8]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.5..2.0, reference = reference)]
#[python(special)]
impl Unary for BesselY1 {
    const PICOSECONDS: usize = 1000;
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_y1(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // y0(x) - y1(x) / x.
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        ctx.grad(0)?.mul(&super::bessel_y0::bessel_y0(&x)?.sub(&y.div(&x)?)?)
    }
}

/// From the Wronskian, DLMF 10.5.2.
fn reference(x: f64) -> f64 {
    if x == 0.0 || x.is_infinite() {
        return super::bessel_y0::series(x);
    }
    let (j0, j1) = (super::bessel_j0::integral(0.0, x), super::bessel_j0::integral(1.0, x));
    (j1 * super::bessel_y0::series(x) - std::f64::consts::FRAC_2_PI / x) / j0
}
