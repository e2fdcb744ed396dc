//! `relu(x) = max(x, 0)`; NaN stays NaN.

use crate::ops::prelude::*;

/// The rectified linear unit, `max(x, 0)` element by element. NaN stays NaN.
///
/// Takes a tensor of any shape and numeric dtype; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-1f32, 0.5], &Device::Cpu)?;
/// assert_eq!(opforge::functional::relu(&x)?.to_vec1::<f32>()?, [0.0, 0.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = |x| if x <= 0.0 { 0.0 } else { x })]
#[python(torch, method, in_place, nn)]
impl Unary for Relu {
    const REPEATS: Repeats = Repeats::Same;
    const INT: bool = true;
    const SAVES: Saves = Saves::OUTPUTS;
    const FUSED: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.max(V::splat(0.0))
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x.greater(I::from_i64(0))
    }

    /// The gradient passes where the output is not 0.
    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let grad = ctx.grad(0)?;
        ctx.output(0)?.le(0.0)?.where_cond(&grad.zeros_like()?, &grad)
    }

    #[inline(always)]
    fn gradient<V: Float>(self, y: V, grad: V) -> V {
        V::select(y.le(V::splat(0.0)), V::splat(0.0), grad)
    }
}

impl Tensor {
    /// `max(x, 0)`: see [`relu`].
    #[track_caller]
    pub fn relu(&self) -> Result<Tensor> {
        relu(self)
    }
}
