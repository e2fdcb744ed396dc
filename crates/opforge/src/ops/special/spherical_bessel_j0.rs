//! `spherical_bessel_j0(x) = sin(x) / x`.

use crate::ops::prelude::*;

/// The spherical Bessel function of the first kind and order 0, element by element: `sin(x) / x`, 1 at 0.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::spherical_bessel_j0(&x)?.to_vec1::<f32>()?, [1.0, 0.841_470_96]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.2..5.0, reference = reference)]
#[python(special)]
impl Unary for SphericalBesselJ0 {
    const PICOSECONDS: usize = 500;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::spherical_j0(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&slope(&ctx.input(0)?)?)
    }
}

/// `(cos(x) - sin(x) / x) / x`; near 0, where that is a difference of equals, by its series.
pub(crate) fn slope(x: &Tensor) -> Result<Tensor> {
    let (near, one) = (x.abs()?.lt(0.1)?, x.ones_like()?);
    let far = near.where_cond(&one, x)?;
    let far = far.cos()?.sub(&far.sin()?.div(&far)?)?.div(&far)?;
    let small = near.where_cond(x, &one.zeros_like()?)?;
    let square = small.sqr()?;
    let series = square.affine(1.0 / 45360.0, -1.0 / 840.0)?.mul(&square)?.affine(1.0, 1.0 / 30.0)?;
    let series = series.mul(&square)?.affine(1.0, -1.0 / 3.0)?.mul(&small)?;
    near.where_cond(&series, &far)
}

fn reference(x: f64) -> f64 {
    match x {
        0.0 => 1.0,
        _ if x.is_infinite() => 0.0,
        _ => x.sin() / x,
    }
}
