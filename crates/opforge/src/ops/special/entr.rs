//! `entr(x) = -x log(x)`, the entropy of a probability.

use crate::ops::prelude::*;

/// `-x log(x)`, element by element; 0 at 0 and minus infinity for negative numbers.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0, -1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::entr(&x)?.to_vec1::<f32>()?, [0.0, 0.0, f32::NEG_INFINITY]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.1..3.0, reference = |x| if x < 0.0 { f64::NEG_INFINITY } else if x == 0.0 { 0.0 } else { -x * x.ln() })]
#[python(special)]
impl Unary for Entr {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        let zero = V::splat(0.0);
        let entropy = V::select(x.eq(zero), zero, zero - x * math::log(x));
        V::select(x.lt(zero), V::splat(f64::NEG_INFINITY), entropy)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.input(0)?.log()?.affine(-1.0, -1.0)?)
    }
}
