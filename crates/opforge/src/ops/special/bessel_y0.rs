//! `bessel_y0(x)`: the Bessel function of the second kind and order 0.

use crate::ops::prelude::*;

/// The Bessel function of the second kind and order 0, element by element; minus infinity at 0 and NaN below.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::bessel_y0(&x)?.to_vec1::<f32>()?, [f32::NEG_INFINITY, 0.088_256_96]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.5..4.0, reference = series)]
#[python(special)]
impl Unary for BesselY0 {
    const PICOSECONDS: usize = 1000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_y0(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&super::bessel_y1::bessel_y1(&ctx.input(0)?)?.neg()?)
    }
}

/// DLMF 10.8.2.
pub(super) fn series(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x.is_infinite() {
        return if x > 0.0 { 0.0 } else { f64::NAN };
    }
    let (mut term, mut harmonic, mut sum) = (1.0, 0.0, 0.0);
    for k in 1..40 {
        term *= -0.25 * x * x / f64::from(k * k);
        harmonic += 1.0 / f64::from(k);
        sum -= term * harmonic;
    }
    let gamma = 0.577_215_664_901_532_9;
    (((0.5 * x).ln() + gamma) * super::bessel_j0::integral(0.0, x) + sum) * std::f64::consts::FRAC_2_PI
}
