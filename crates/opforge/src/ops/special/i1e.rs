//! `i1e(x) = i1(x) exp(-|x|)`.

use crate::ops::prelude::*;

/// `exp(-|x|)` times the modified Bessel function of the first kind and order 1: it does not overflow.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1e6], &Device::Cpu)?;
/// assert_eq!(opforge::functional::i1e(&x)?.to_vec1::<f32>()?, [0.0, 3.989_421_2e-4]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.5..4.0, reference = reference)]
#[python(special)]
impl Unary for I1e {
    const PICOSECONDS: usize = 700;
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_i1e(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // i0e(x) - i1e(x) (sign(x) + 1 / x), and a half at 0.
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let flat = super::i1::near_zero(&x)?;
        let safe = flat.where_cond(&x.ones_like()?, &x)?;
        let slope = super::i0e::i0e(&x)?.sub(&y.mul(&crate::functional::sign(&x)?.add(&safe.recip()?)?)?)?;
        ctx.grad(0)?.mul(&flat.where_cond(&x.ones_like()?.affine(0.5, 0.0)?, &slope)?)
    }
}

fn reference(x: f64) -> f64 {
    match x {
        0.0 => x,
        _ if x.is_infinite() => 0.0f64.copysign(x),
        _ => super::i0::integral(1.0, x) * (-x.abs()).exp(),
    }
}
