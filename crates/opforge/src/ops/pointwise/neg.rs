//! `neg(x)`: `-x`.

use crate::functional as f;
use crate::ops::prelude::*;

/// `-x`, element by element. Unsigned integers wrap.
///
/// Takes a tensor of any numeric dtype of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, -2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::neg(&x)?.to_vec1::<f32>()?, [-1.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = |x| -x)]
#[python(torch, method, in_place)]
impl Unary for Neg {
    const INT: bool = true;
    const SIGN: Option<fn(bool) -> bool> = Some(|negative| !negative);
    const LINEAR: bool = true;
    const REPEATS: Repeats = Repeats::Undone;
    const SAVES: Saves = Saves::NOTHING;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        -x
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x.wrapping_neg()
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.neg()
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        f::view_as_complex(&f::view_as_real(input)?.neg()?)
    }
}

impl Tensor {
    /// `-x`: see [`neg`].
    #[track_caller]
    pub fn neg(&self) -> Result<Tensor> {
        neg(self)
    }
}
