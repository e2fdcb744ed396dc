//! `log(x)`: the natural logarithm.

use crate::functional as f;
use crate::ops::prelude::*;

/// The natural logarithm, element by element. Negative numbers give NaN, 0 gives minus infinity.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::log(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.1..5.0, reference = f64::ln)]
#[python(torch, method, in_place)]
impl Unary for Log {
    const PICOSECONDS: usize = 200;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::log(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        f::complex(&input.abs()?.log()?, &f::angle(input)?)
    }
}

impl Tensor {
    /// The natural logarithm: see [`log`].
    #[track_caller]
    pub fn log(&self) -> Result<Tensor> {
        unary(Log, self)
    }
}
