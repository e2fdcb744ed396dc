//! `frexp(x)`: the mantissa and the exponent.

use crate::family::check_float;
use crate::ops::prelude::*;

/// The tile function of the mantissas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Mantissa;

impl UnaryFn for Mantissa {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::mantissa(x)
    }
}

impl Unary for Mantissa {
    const NAME: &'static str = "mantissa";

    /// The gradient over the power of 2, by two factors, since one might not be a number of the dtype.
    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let exponent = unary(Exponent, &ctx.input(0)?)?;
        let half = exponent.affine(-0.5, 0.0)?.floor()?;
        let rest = exponent.add(&half)?.neg()?;
        ctx.grad(0)?.mul(&super::exp2::exp2(&half)?)?.mul(&super::exp2::exp2(&rest)?)
    }
}

/// The tile function of the exponents, which are floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Exponent;

impl UnaryFn for Exponent {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::exponent(x)
    }
}

impl Unary for Exponent {
    const NAME: &'static str = "exponent";
    const FLAT: bool = true;
}

/// Mantissas, from a half to below 1 in magnitude, and exponents, in i32: `input = mantissa * 2^exponent`. Zeros, infinities and NaN are their own
/// mantissas, with an exponent of 0.
///
/// # Errors
/// For tensors that are not floating-point.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let (mantissa, exponent) = opforge::functional::frexp(&Tensor::new(&[6f32, -0.5], &Device::Cpu)?)?;
/// assert_eq!((mantissa.to_vec1::<f32>()?, exponent.to_vec1::<i32>()?), (vec![0.75, -0.5], vec![3, 0]));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, results(mantissa, exponent))]
#[operator(DTypes::FLOATS, samples, Mantissa, Exponent)]
pub fn frexp(input: &Tensor) -> Result<(Tensor, Tensor)> {
    check_float(OP, "input", input)?;
    let exponent = unary(Exponent, &input.detach())?;
    Ok((unary(Mantissa, input)?, exponent.to_dtype(DType::I32)?))
}

fn samples() -> Vec<Sample> {
    // Between powers of 2, where the mantissa jumps.
    let mantissa = unary_samples(Mantissa, 1.1..1.9, |x| parts(x).0);
    mantissa.into_iter().chain(unary_samples(Exponent, 4.1..7.9, |x| parts(x).1)).collect()
}

fn parts(x: f64) -> (f64, f64) {
    let (mut mantissa, mut exponent) = (x, 0.0);
    if x == 0.0 || !x.is_finite() {
        return (x, 0.0);
    }
    while mantissa.abs() >= 1.0 {
        (mantissa, exponent) = (0.5 * mantissa, exponent + 1.0);
    }
    while mantissa.abs() < 0.5 {
        (mantissa, exponent) = (2.0 * mantissa, exponent - 1.0);
    }
    (mantissa, exponent)
}
