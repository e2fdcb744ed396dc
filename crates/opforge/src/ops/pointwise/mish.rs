//! `mish(x) = x tanh(softplus(x))`.

use crate::ops::prelude::*;

/// `x * tanh(softplus(x))`, element by element. Source: Misra, "Mish: A Self Regularized Non-Monotonic Activation Function" (2019).
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::mish(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -4.0..4.0, reference = |x: f64| x * x.exp().ln_1p().tanh())]
#[python(nn, inplace)]
impl Unary for Mish {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        // tanh(log(1 + e^x)) = n / (n + 2) with n = e^x (e^x + 2); beyond 20 it rounds to 1.
        let e = math::exp(x.min(V::splat(20.0)));
        let n = e * (e + V::splat(2.0));
        x * (n / (n + V::splat(2.0)))
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let x = ctx.input(0)?;
        let (soft, steep) = (super::softplus::softplus(&x, 1.0, 20.0)?.tanh()?, x.sigmoid()?);
        let bend = x.mul(&steep)?.mul(&soft.sqr()?.affine(-1.0, 1.0)?)?;
        ctx.grad(0)?.mul(&soft.add(&bend)?)
    }
}
