//! `third_power(x) = x * x * x`, in one pass.

use crate::ops::prelude::*;

/// The tile function of [`third_power`](fn@third_power).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct ThirdPower;

impl UnaryFn for ThirdPower {
    const INT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x * x * x
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x.wrapping_mul(x).wrapping_mul(x)
    }
}

impl Unary for ThirdPower {
    const NAME: &'static str = "third_power";

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.input(0)?.sqr()?.affine(3.0, 0.0)?)
    }
}

/// `x * x * x`, element by element: what [`pow`](fn@crate::functional::pow) computes for an exponent of 3.
///
/// Takes a tensor of any real dtype of any shape; the result has the same shape and dtype.
///
/// # Errors
/// For dtypes that have no arithmetic.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[2f32, -3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::third_power(&x)?.to_vec1::<f32>()?, [8.0, -27.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(hidden)]
#[operator(DTypes::NUMERIC, samples, ThirdPower)]
pub fn third_power(input: &Tensor) -> Result<Tensor> {
    unary(ThirdPower, input)
}

fn samples() -> Vec<Sample> {
    unary_samples(ThirdPower, -3.0..3.0, |x| x * x * x)
}
