//! `threshold(x)`: `x` where it is above a threshold, else a number.

use super::clamp::whole_for;
use crate::functional::fit;
use crate::operator::rounded;
use crate::ops::prelude::*;

/// The tile function of [`threshold`](fn@threshold); the numbers are in the tensor's dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Threshold {
    /// The greatest number that is replaced.
    pub threshold: Number,
    /// What replaces it.
    pub value: Number,
}

impl UnaryFn for Threshold {
    const INT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        V::select(x.le(V::splat(self.threshold.to_f64())), V::splat(self.value.to_f64()), x)
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        I::select(x.le(I::from_i64(self.threshold.to_i64())), I::from_i64(self.value.to_i64()), x)
    }
}

impl Unary for Threshold {
    const NAME: &'static str = "threshold";
    const FUSED: bool = true;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let grad = ctx.grad(0)?;
        ctx.input(0)?.le(self.threshold.to_f64())?.where_cond(&grad.zeros_like()?, &grad)
    }

    #[inline(always)]
    fn gradient<V: Float>(self, x: V, grad: V) -> V {
        V::select(x.le(V::splat(self.threshold.to_f64())), V::splat(0.0), grad)
    }
}

/// `x` where it is above the threshold, else `value`. NaN stays NaN.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-1f32, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::threshold(&x, 0.0, 9.0)?.to_vec1::<f32>()?, [9.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, nn, inplace)]
#[operator(DTypes::NUMERIC, samples, Threshold)]
pub fn threshold(input: &Tensor, threshold: f64, value: f64) -> Result<Tensor> {
    let number = |number: f64| -> Result<Number> {
        let number = Scalar::Float(whole_for(input, number));
        fit(OP, number, input.dtype())?;
        Ok(rounded(number, input.dtype()).into())
    };
    unary(Threshold { threshold: number(threshold)?, value: number(value)? }, input)
}

fn samples() -> Vec<Sample> {
    let f = Threshold { threshold: 1i64.into(), value: 7i64.into() };
    unary_samples(f, -3.0..3.0, |x| if x <= 1.0 { 7.0 } else { x })
}
