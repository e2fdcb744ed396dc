//! `nan_to_num(x)`: finite numbers in the place of NaN and infinities.

use crate::functional::{Parts, part_dtype};
use crate::ops::prelude::*;

/// The tile function of [`nan_to_num`](fn@nan_to_num).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct NanToNum {
    /// What NaN becomes.
    pub nan: Number,
    /// What infinity becomes.
    pub posinf: Number,
    /// What minus infinity becomes.
    pub neginf: Number,
}

impl UnaryFn for NanToNum {
    const INT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        let x = V::select(x.is_nan(), V::splat(self.nan.to_f64()), x);
        let x = V::select(x.eq(V::splat(f64::INFINITY)), V::splat(self.posinf.to_f64()), x);
        V::select(x.eq(V::splat(f64::NEG_INFINITY)), V::splat(self.neginf.to_f64()), x)
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x
    }
}

impl Unary for NanToNum {
    const NAME: &'static str = "nan_to_num";

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let grad = ctx.grad(0)?;
        super::isfinite::isfinite(&ctx.input(0)?)?.where_cond(&grad, &grad.zeros_like()?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        Parts::of(input)?.map(|part| unary(*self, part))?.join()
    }
}

/// NaN and infinities replaced by numbers: 0, and the dtype's greatest and least, unless given.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[f32::NAN, 1.0, f32::INFINITY], &Device::Cpu)?;
/// assert_eq!(opforge::functional::nan_to_num(&x, None, Some(7.0), None)?.to_vec1::<f32>()?, [0.0, 1.0, 7.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(nan = None, posinf = None, neginf = None, out)]
#[python(torch, method, in_place)]
#[operator(DTypes::NUMERIC, samples, NanToNum)]
pub fn nan_to_num(input: &Tensor, nan: Option<f64>, posinf: Option<f64>, neginf: Option<f64>) -> Result<Tensor> {
    let greatest = super::clamp::greatest_finite(part_dtype(input.dtype()).unwrap_or(input.dtype()));
    let number = |given: Option<f64>, default: f64| Number::from(given.unwrap_or(default));
    let (nan, posinf, neginf) = (number(nan, 0.0), number(posinf, greatest), number(neginf, -greatest));
    if input.dtype() == DType::Bool {
        Ok(input.clone())
    } else {
        unary_to(NanToNum { nan, posinf, neginf }, input, out)
    }
}

fn samples() -> Vec<Sample> {
    unary_samples_with(NanToNum { nan: 0.5.into(), posinf: 9.0.into(), neginf: (-9.0).into() }, -4.0..4.0, |x: f64| {
        if x.is_nan() { 0.5 } else { x.clamp(-9.0, 9.0) }
    })
}
