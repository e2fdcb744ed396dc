//! `sign(x)`: -1, 0 or 1 by the sign.

use crate::ops::prelude::*;

/// The tile function of [`sign`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sign;

impl UnaryFn for Sign {
    const INT: bool = true;
    const BOOL: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        let (zero, one) = (V::splat(0.0), V::splat(1.0));
        V::select(x.gt(zero), one, V::select(x.lt(zero), -one, zero))
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x.signum()
    }
    #[inline(always)]
    fn boolean<M: Mask>(self, x: M) -> M {
        x
    }
}

impl Unary for Sign {
    const NAME: &'static str = "sign";
    const SAVES: Saves = Saves::NOTHING;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.zeros_like()
    }
}

/// -1, 0 or 1 by the sign, element by element. 0 for NaN. The gradient is 0.
///
/// Takes a tensor of any numeric dtype of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32, 0.0, -2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::sign(&x)?.to_vec1::<f32>()?, [1.0, 0.0, -1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn sign(input: &Tensor) -> Result<Tensor> {
    unary(Sign, input)
}

impl Tensor {
    /// -1, 0 or 1 by the sign, outside of the autograd graph; [`sign`] is within, with a gradient of 0.
    #[track_caller]
    pub fn sign(&self) -> Result<Tensor> {
        sign(&self.unrecorded())
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Sign::NAME, function: &sign::FUNCTION, dtypes: DTypes::REAL, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Sign, -3.0..3.0, |x| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)))
        .into_iter()
        .map(Sample::rough)
        .collect()
}
