//! `i0e(x) = i0(x) exp(-|x|)`.

use crate::ops::prelude::*;

/// `exp(-|x|)` times the modified Bessel function of the first kind and order 0: it does not overflow.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1e6], &Device::Cpu)?;
/// assert_eq!(opforge::functional::i0e(&x)?.to_vec1::<f32>()?, [1.0, 3.989_423_4e-4]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.5..4.0, reference = reference)]
#[python(special)]
impl Unary for I0e {
    const PICOSECONDS: usize = 700;
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_i0e(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        ctx.grad(0)?.mul(&super::i1e::i1e(&x)?.sub(&y.mul(&crate::functional::sign(&x)?)?)?)
    }
}

fn reference(x: f64) -> f64 {
    if x.is_infinite() { 0.0 } else { super::i0::integral(0.0, x) * (-x.abs()).exp() }
}
