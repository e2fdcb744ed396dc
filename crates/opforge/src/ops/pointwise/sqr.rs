//! `sqr(x)`: `x * x`.

use crate::ops::prelude::*;

/// The tile function of [`sqr`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Sqr;

impl UnaryFn for Sqr {
    const INT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x * x
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x.wrapping_mul(x)
    }
}

impl Unary for Sqr {
    const NAME: &'static str = "sqr";

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.input(0)?.affine(2.0, 0.0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        input.mul(input)
    }
}

/// `x * x`, element by element.
///
/// Takes a tensor of any numeric dtype of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::sqr(&x)?.to_vec1::<f32>()?, [9.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place, name = "square")]
#[operator(DTypes::NUMERIC, samples, Sqr)]
pub fn sqr(input: &Tensor) -> Result<Tensor> {
    let truth = input.dtype() == DType::Bool;
    if truth { unary_to(Sqr, &input.to_dtype(DType::I64)?, out) } else { unary_to(Sqr, input, out) }
}

impl Tensor {
    /// `x * x`: see [`sqr`].
    #[track_caller]
    pub fn sqr(&self) -> Result<Tensor> {
        sqr(self)
    }
}

fn samples() -> Vec<Sample> {
    unary_samples(Sqr, -3.0..3.0, |x| x * x)
}
