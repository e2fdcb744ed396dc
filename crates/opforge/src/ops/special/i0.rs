//! `i0(x)`: the modified Bessel function of the first kind and order 0.

use crate::ops::prelude::*;

/// The modified Bessel function of the first kind and order 0, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::i0(&x)?.to_vec1::<f32>()?, [1.0, 1.266_065_8]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -4.0..4.0, reference = |x| if x.is_infinite() { x.abs() } else { integral(0.0, x) })]
#[python(torch, method, in_place, special)]
impl Unary for I0 {
    const PICOSECONDS: usize = 600;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_i0(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&super::i1::i1(&ctx.input(0)?)?)
    }
}

/// DLMF 10.32.3, by the trapezoidal rule.
pub(super) fn integral(order: f64, x: f64) -> f64 {
    let angle = |k: u32| std::f64::consts::PI * (f64::from(k) + 0.5) / 64.0;
    (0..64).map(angle).map(|t| (x * t.cos()).exp() * (order * t).cos()).sum::<f64>() / 64.0
}
