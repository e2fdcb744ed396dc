//! `sin(x)`: the sine of an angle in radians.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

/// The sine of an angle in radians, element by element.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::sin(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -4.0..4.0, reference = f64::sin)]
#[python(torch, method, in_place)]
impl Unary for Sin {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::sin(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.input(0)?.cos()?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, |z| z.turned(Parts::sinh))
    }
}

impl Tensor {
    /// The sine of an angle in radians: see [`sin`].
    #[track_caller]
    pub fn sin(&self) -> Result<Tensor> {
        unary(Sin, self)
    }
}
