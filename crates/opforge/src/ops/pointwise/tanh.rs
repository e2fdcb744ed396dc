//! `tanh(x)`: the hyperbolic tangent.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

/// The hyperbolic tangent, element by element.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::tanh(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = f64::tanh)]
#[python(torch, method, in_place, nn)]
impl Unary for Tanh {
    const PICOSECONDS: usize = 250;
    const SAVES: Saves = Saves::OUTPUTS;
    const FUSED: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::tanh(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.output(0)?.sqr()?.affine(-1.0, 1.0)?)
    }

    #[inline(always)]
    fn slope<V: Float>(self, y: V) -> V {
        V::splat(1.0) - y * y
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, Parts::tanh)
    }
}

impl Tensor {
    /// The hyperbolic tangent: see [`tanh`].
    #[track_caller]
    pub fn tanh(&self) -> Result<Tensor> {
        unary(Tanh, self)
    }
}
