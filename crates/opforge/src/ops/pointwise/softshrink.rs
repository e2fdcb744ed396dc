//! `softshrink(x)`: `x` brought nearer to 0.

use crate::operator::rounded;
use crate::ops::prelude::*;

/// The tile function of [`softshrink`](fn@softshrink).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Softshrink {
    /// The magnitude up to which the result is 0.
    pub lambd: Number,
}

impl UnaryFn for Softshrink {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        let lambd = V::splat(self.lambd.to_f64());
        V::select(x.abs().le(lambd), V::splat(0.0), x - lambd.copysign(x))
    }
}

impl Unary for Softshrink {
    const NAME: &'static str = "softshrink";
    const FUSED: bool = true;

    /// The gradient passes where the result is not 0.
    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let grad = ctx.grad(0)?;
        ctx.input(0)?.abs()?.le(self.lambd.to_f64())?.where_cond(&grad.zeros_like()?, &grad)
    }

    #[inline(always)]
    fn gradient<V: Float>(self, x: V, grad: V) -> V {
        V::select(x.abs().le(V::splat(self.lambd.to_f64())), V::splat(0.0), grad)
    }
}

/// `x` brought nearer to 0 by `lambd`, not beyond it.
///
/// # Errors
/// For a negative `lambd`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-0.25f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::softshrink(&x, 0.5)?.to_vec1::<f32>()?, [0.0, 0.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(lambd = 0.5)]
#[python(nn)]
#[operator(DTypes::FLOATS, samples, Softshrink)]
pub fn softshrink(input: &Tensor, lambd: f64) -> Result<Tensor> {
    if lambd.is_nan() || lambd < 0.0 {
        return Err(Error::value(OP, "lambd", lambd, "0 or more"));
    }
    crate::functional::fit(OP, Scalar::Float(lambd), input.dtype())?;
    unary(Softshrink { lambd: rounded(Scalar::Float(lambd), input.dtype()).into() }, input)
}

fn samples() -> Vec<Sample> {
    unary_samples(Softshrink { lambd: 0.3.into() }, -2.0..2.0, |x: f64| {
        if x.abs() <= 0.3 { 0.0 } else { x - 0.3f64.copysign(x) }
    })
}
