//! `sigmoid(x)`: `1 / (1 + e^-x)`.

use crate::functional::by_parts;
use crate::ops::prelude::*;

/// `1 / (1 + e^-x)`, element by element.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::sigmoid(&x)?.to_vec1::<f32>()?, [0.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -4.0..4.0, reference = |x| 1.0 / (1.0 + (-x).exp()))]
#[python(torch, method, in_place, nn)]
impl Unary for Sigmoid {
    const PICOSECONDS: usize = 250;
    const SAVES: Saves = Saves::OUTPUTS;
    const FUSED: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::sigmoid(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let y = ctx.output(0)?;
        ctx.grad(0)?.mul(&y.mul(&y.affine(-1.0, 1.0)?)?)
    }

    #[inline(always)]
    fn slope<V: Float>(self, y: V) -> V {
        y * (V::splat(1.0) - y)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, |z| z.map(Tensor::neg)?.exp())?.add(&input.ones_like()?)?.recip()
    }
}

impl Tensor {
    /// `1 / (1 + e^-x)`: see [`sigmoid`].
    #[track_caller]
    pub fn sigmoid(&self) -> Result<Tensor> {
        unary(Sigmoid, self)
    }
}
