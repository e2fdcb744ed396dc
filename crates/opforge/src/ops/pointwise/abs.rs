//! `abs(x)`: `|x|`.

use crate::functional::Parts;
use crate::ops::prelude::*;

/// `|x|`, element by element. The gradient at 0 is 0; the least signed integer stays itself.
///
/// Takes a tensor of any numeric dtype of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, -2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::abs(&x)?.to_vec1::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = f64::abs)]
#[python(torch, method, in_place)]
impl Unary for Abs {
    const REPEATS: Repeats = Repeats::Same;
    const INT: bool = true;
    const SIGN: Option<fn(bool) -> bool> = Some(|_| false);

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.abs()
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x.wrapping_abs()
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&super::sign::sign(&ctx.input(0)?)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        Parts::of(input)?.magnitude()
    }
}

impl Tensor {
    /// `|x|`: see [`abs`].
    #[track_caller]
    pub fn abs(&self) -> Result<Tensor> {
        abs(self)
    }
}
