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

    /// The gradient passes where the output is positive.
    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let positive = ctx.output(0)?.gt(0.0)?;
        ctx.grad(0)?.mul(&positive.to_dtype(ctx.output_meta(0).dtype)?)
    }

    #[inline(always)]
    fn slope<V: Float>(self, y: V) -> V {
        V::select(y.gt(V::splat(0.0)), V::splat(1.0), V::splat(0.0))
    }
}

impl Tensor {
    /// `max(x, 0)`: see [`relu`].
    #[track_caller]
    pub fn relu(&self) -> Result<Tensor> {
        relu(self)
    }
}
