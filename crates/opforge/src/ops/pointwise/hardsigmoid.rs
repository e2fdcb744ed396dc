//! `hardsigmoid(x) = min(max(x + 3, 0), 6) / 6`.

use crate::ops::prelude::*;

/// The tile function of [`hardsigmoid`](fn@hardsigmoid).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Hardsigmoid;

impl UnaryFn for Hardsigmoid {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        (x + V::splat(3.0)).max(V::splat(0.0)).min(V::splat(6.0)) * V::splat(1.0 / 6.0)
    }
}

impl Unary for Hardsigmoid {
    const NAME: &'static str = "hardsigmoid";
    const FUSED: bool = true;

    /// 1/6 between -3 and 3; 0 elsewhere and for NaN.
    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let (x, grad) = (ctx.input(0)?, ctx.grad(0)?);
        x.abs()?.lt(3.0)?.where_cond(&grad.affine(1.0 / 6.0, 0.0)?, &grad.zeros_like()?)
    }

    #[inline(always)]
    fn gradient<V: Float>(self, x: V, grad: V) -> V {
        V::select(x.abs().lt(V::splat(3.0)), grad * V::splat(1.0 / 6.0), V::splat(0.0))
    }
}

/// `x / 6 + 1/2` between 0 and 1.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-3f32, 0.0, 8.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::hardsigmoid(&x)?.to_vec1::<f32>()?, [0.0, 0.5, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(nn, inplace)]
#[operator(DTypes::FLOATS, samples, Hardsigmoid)]
pub fn hardsigmoid(input: &Tensor) -> Result<Tensor> {
    unary(Hardsigmoid, input)
}

fn samples() -> Vec<Sample> {
    unary_samples(Hardsigmoid, -4.0..4.0, |x| (x + 3.0).clamp(0.0, 6.0) / 6.0)
}
