//! `bessel_j0(x)`: the Bessel function of the first kind and order 0.

use crate::ops::prelude::*;

/// The Bessel function of the first kind and order 0, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::bessel_j0(&x)?.to_vec1::<f32>()?, [1.0, 0.765_197_7]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -6.0..6.0, reference = |x| if x.is_infinite() { 0.0 } else { integral(0.0, x) })]
#[python(special)]
impl Unary for BesselJ0 {
    const PICOSECONDS: usize = 600;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_j0(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&super::bessel_j1::bessel_j1(&ctx.input(0)?)?.neg()?)
    }
}

/// DLMF 10.9.2, by the trapezoidal rule.
pub(super) fn integral(order: f64, x: f64) -> f64 {
    let angle = |k: u32| std::f64::consts::PI * (f64::from(k) + 0.5) / 64.0;
    (0..64).map(angle).map(|t| (order * t - x * t.sin()).cos()).sum::<f64>() / 64.0
}
