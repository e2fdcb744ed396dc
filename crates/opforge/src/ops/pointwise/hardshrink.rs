//! `hardshrink(x)`: `x`, but 0 near 0.

use crate::operator::rounded;
use crate::ops::prelude::*;

/// The tile function of [`hardshrink`](fn@hardshrink).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Hardshrink {
    /// The magnitude up to which the result is 0.
    pub lambd: Number,
}

impl UnaryFn for Hardshrink {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        let lambd = V::splat(self.lambd.to_f64());
        V::select(x.abs().le(lambd), V::splat(0.0), x)
    }
}

impl Unary for Hardshrink {
    const NAME: &'static str = "hardshrink";
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

/// `x`, but 0 where its magnitude is at most `lambd`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-0.25f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::hardshrink(&x, 0.5)?.to_vec1::<f32>()?, [0.0, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(lambd = 0.5)]
#[python(torch, method, nn)]
#[operator(DTypes::FLOATS, samples, Hardshrink)]
pub fn hardshrink(input: &Tensor, lambd: f64) -> Result<Tensor> {
    crate::functional::fit(OP, Scalar::Float(lambd), input.dtype())?;
    unary(Hardshrink { lambd: rounded(Scalar::Float(lambd), input.dtype()).into() }, input)
}

fn samples() -> Vec<Sample> {
    unary_samples(Hardshrink { lambd: 0.3.into() }, -2.0..2.0, |x: f64| if x.abs() <= 0.3 { 0.0 } else { x })
}
