//! `neg(x)`: `-x`.

use crate::functional as f;
use crate::ops::prelude::*;

/// The tile function of [`neg`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Neg;

impl UnaryFn for Neg {
    const INT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        -x
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x.wrapping_neg()
    }
}

impl Unary for Neg {
    const NAME: &'static str = "neg";
    const SAVES: Saves = Saves::NOTHING;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.neg()
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        f::view_as_complex(&f::view_as_real(input)?.neg()?)
    }
}

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
#[function]
#[python(torch, method, in_place)]
pub fn neg(input: &Tensor) -> Result<Tensor> {
    unary(Neg, input)
}

impl Tensor {
    /// `-x`: see [`neg`].
    #[track_caller]
    pub fn neg(&self) -> Result<Tensor> {
        neg(self)
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Neg::NAME, function: &neg::FUNCTION, dtypes: DTypes::NUMERIC, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Neg, -3.0..3.0, |x| -x)
}
