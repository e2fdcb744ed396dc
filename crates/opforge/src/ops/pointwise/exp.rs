//! `exp(x)`: `e^x`.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

/// `e^x`, element by element.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::exp(&x)?.to_vec1::<f32>()?, [1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = f64::exp)]
#[python(torch, method, in_place)]
impl Unary for Exp {
    const PICOSECONDS: usize = 150;
    const SAVES: Saves = Saves::OUTPUTS;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::exp(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.output(0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, Parts::exp)
    }
}

impl Tensor {
    /// `e^x`: see [`exp`].
    #[track_caller]
    pub fn exp(&self) -> Result<Tensor> {
        unary(Exp, self)
    }
}
