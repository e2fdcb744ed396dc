//! `hardswish(x) = x min(max(x + 3, 0), 6) / 6`.

use crate::ops::prelude::*;

/// `x` times a hard sigmoid: 0 up to -3, x from 3 on. Source: Howard and others, "Searching for MobileNetV3" (2019).
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-4f32, 0.0, 8.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::hardswish(&x)?.to_vec1::<f32>()?, [0.0, 0.0, 8.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -4.0..4.0, reference = |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0)]
#[python(nn, inplace)]
impl Unary for Hardswish {
    const FUSED: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x * (x + V::splat(3.0)).max(V::splat(0.0)).min(V::splat(6.0)) / V::splat(6.0)
    }

    /// 0 up to -3, `x / 3 + 1 / 2` between, 1 from 3 on and for NaN.
    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let (x, grad) = (ctx.input(0)?, ctx.grad(0)?);
        let bent = grad.mul(&x.affine(1.0 / 3.0, 0.5)?)?;
        x.le(-3.0)?.where_cond(&grad.zeros_like()?, &x.lt(3.0)?.where_cond(&bent, &grad)?)
    }

    #[inline(always)]
    fn gradient<V: Float>(self, x: V, grad: V) -> V {
        let bent = grad * (x / V::splat(3.0) + V::splat(0.5));
        V::select(x.le(V::splat(-3.0)), V::splat(0.0), V::select(x.lt(V::splat(3.0)), bent, grad))
    }
}
