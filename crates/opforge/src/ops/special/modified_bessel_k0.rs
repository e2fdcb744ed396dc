//! `modified_bessel_k0(x)`: the modified Bessel function of the second kind and order 0.

use crate::ops::prelude::*;

/// The modified Bessel function of the second kind and order 0, element by element; infinite at 0 and NaN below.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::modified_bessel_k0(&x)?.to_vec1::<f32>()?, [f32::INFINITY, 0.421_024_44]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.5..3.0, reference = |x| scaled_integral(0.0, x) * (-x).exp())]
#[python(special)]
impl Unary for ModifiedBesselK0 {
    const PICOSECONDS: usize = 900;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_k0(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&super::modified_bessel_k1::modified_bessel_k1(&ctx.input(0)?)?.neg()?)
    }
}

/// `exp(x)` times DLMF 10.32.9, by the trapezoidal rule.
pub(super) fn scaled_integral(order: f64, x: f64) -> f64 {
    match x {
        0.0 => f64::INFINITY,
        f64::INFINITY => 0.0,
        _ if x < 0.0 => f64::NAN,
        _ => {
            let term = |k: u32| {
                let t = f64::from(k) / 20.0;
                (x - x * t.cosh()).exp() * (order * t).cosh()
            };
            ((1..140).map(term).sum::<f64>() + 0.5) / 20.0
        }
    }
}
