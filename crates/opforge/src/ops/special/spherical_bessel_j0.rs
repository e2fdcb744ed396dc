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
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::spherical_j0(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // (cos(x) - j0(x)) / x, and 0 at 0.
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let flat = x.eq(0.0)?;
        let safe = flat.where_cond(&x.ones_like()?, &x)?;
        let slope = safe.cos()?.sub(&y)?.div(&safe)?;
        ctx.grad(0)?.mul(&flat.where_cond(&x.zeros_like()?, &slope)?)
    }
}

fn reference(x: f64) -> f64 {
    match x {
        0.0 => 1.0,
        _ if x.is_infinite() => 0.0,
        _ => x.sin() / x,
    }
}
