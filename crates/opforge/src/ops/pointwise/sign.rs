//! `sign(x)`: -1, 0 or 1 by the sign.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

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
#[unary(samples = -3.0..3.0, reference = |x| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)))]
#[python(torch, method, in_place)]
impl Unary for Sign {
    const REPEATS: Repeats = Repeats::Same;
    const INT: bool = true;
    const BOOL: bool = true;
    const FLAT: bool = true;

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

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, Parts::sign)
    }
}

impl Tensor {
    /// -1, 0 or 1 by the sign, outside of the autograd graph; [`sign`] is within, with a gradient of 0.
    #[track_caller]
    pub fn sign(&self) -> Result<Tensor> {
        sign(&self.unrecorded())
    }
}
