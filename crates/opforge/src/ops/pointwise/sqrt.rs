//! `sqrt(x)`: the square root.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

/// The square root, element by element. Negative numbers give NaN.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[4f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::sqrt(&x)?.to_vec1::<f32>()?, [2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.1..5.0, reference = f64::sqrt)]
#[python(torch, method, in_place)]
impl Unary for Sqrt {
    const PICOSECONDS: usize = 200;
    const SAVES: Saves = Saves::OUTPUTS;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.sqrt()
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.output(0)?.affine(2.0, 0.0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, Parts::sqrt)
    }
}

impl Tensor {
    /// The square root: see [`sqrt`].
    #[track_caller]
    pub fn sqrt(&self) -> Result<Tensor> {
        unary(Sqrt, self)
    }
}
