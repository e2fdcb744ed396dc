//! `div(a, b)`: `a / b`.

use crate::functional::{Parts, conj};
use crate::ops::prelude::*;

/// The tile function of [`div`]: true division of floats, truncating division of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Div;

impl BinaryFn for Div {
    const INT: bool = true;
    const WIDE_NUMBERS: bool = true;
    const COMPLEX: bool = true;
    const INT_FAILURE: Option<(&'static str, &'static str)> = Some(("divisor", "divisors other than 0"));

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        a / b
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.div_trunc(b)
    }
    #[inline(always)]
    fn int_fails<I: Int>(self, _: I, b: I) -> I::Mask {
        b.eq(I::from_i64(0))
    }
    /// By Smith's method (1962).
    #[inline(always)]
    fn complex<V: Float>(self, [a, b]: [V; 2], [c, d]: [V; 2]) -> [V; 2] {
        let (tall, zero) = (d.abs().gt(c.abs()), V::splat(0.0));
        let (p, q) = (V::select(tall, d, c), V::select(tall, c, d));
        let vanishes = p.eq(zero) & q.eq(zero);
        let ratio = V::select(vanishes, zero, q / p);
        let divisor = V::select(vanishes, zero, p + q * ratio);
        let (e, f) = (a * ratio, b * ratio);
        [V::select(tall, e + b, a + f) / divisor, V::select(tall, f - a, b - e) / divisor]
    }
}

impl Binary for Div {
    const NAME: &'static str = "div";
    const LINEAR: Linearity = Linearity::InFirst;
    const OF_NUMBERS: bool = true;
    const READS: [Saves; 2] = [Saves::inputs([1]), Saves::INPUTS];

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        let grad = pair.grad()?;
        if let (Side::Left, Some(number)) = (side, pair.number(Side::Right)) {
            return binary(Div, (&grad).into(), number.into(), Rules::BROADCAST);
        }
        let rhs = pair.rhs()?;
        let slope = grad.broadcast_div(&conj(&rhs)?)?;
        if side == Side::Left {
            return Ok(slope);
        }
        let quotient = match pair.number(Side::Left) {
            Some(number) => binary(Div, number.into(), (&rhs).into(), Rules::BROADCAST)?,
            None => pair.lhs()?.broadcast_div(&rhs)?,
        };
        slope.broadcast_mul(&conj(&quotient)?)?.neg()
    }

    fn by_parts(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        Parts::of(a)?.div(&Parts::of(b)?)?.join()
    }
}

/// `input / other`, element by element, as real numbers: integers are divided in f32.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, and numbers that the dtype cannot hold.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1i64, 3], &Device::Cpu)?;
/// assert_eq!(opforge::functional::div((&x).into(), 2i64.into(), None)?.to_vec1::<f32>()?, [0.5, 1.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, rounding_mode = None, out)]
#[python(torch, method, in_place)]
#[operator(DTypes::NUMBERS, samples, Div)]
pub fn div(input: Operand, other: Operand, rounding_mode: Option<&str>) -> Result<Tensor> {
    match rounding_mode {
        None => binary_float(Div, input, other, out),
        Some("floor") => crate::functional::floor_divide(input, other),
        Some("trunc") => truncated(input, other),
        Some(mode) => Err(Error::value(OP, "rounding_mode", mode, "None, \"trunc\" or \"floor\"")),
    }
}

/// The quotient without its fraction; that of f16 or bf16 and a number is not rounded before.
#[track_caller]
fn truncated(input: Operand, other: Operand) -> Result<Tensor> {
    let quotient = |input: Operand| crate::functional::trunc(&binary(Div, input, other, Rules::TORCH)?);
    match (input, other) {
        (Operand::Tensor(x), Operand::Scalar(by)) if is_half(x.dtype()) && by.as_real().is_some() => {
            quotient((&x.to_dtype(DType::F32)?).into())?.to_dtype(x.dtype())
        }
        _ => quotient(input),
    }
}

impl Tensor {
    /// `self / rhs` of equal shapes and dtypes; integers truncate towards zero.
    ///
    /// # Errors
    /// Also when an integer is divided by 0.
    #[track_caller]
    pub fn div(&self, rhs: &Tensor) -> Result<Tensor> {
        binary(Div, self.into(), rhs.into(), Rules::SAME)
    }

    /// As [`Tensor::div`], of shapes broadcast to each other.
    #[track_caller]
    pub fn broadcast_div(&self, rhs: &Tensor) -> Result<Tensor> {
        binary(Div, self.into(), rhs.into(), Rules::BROADCAST)
    }

    /// As [`Tensor::broadcast_div`], in place.
    ///
    /// # Errors
    /// Also when this is a leaf that needs a gradient, or its memory overlaps itself or the other's.
    #[track_caller]
    pub fn div_(&self, rhs: &Tensor) -> Result<()> {
        dispatch_into(&BinaryOp(Div), &[self, rhs], &[self])
    }
}

fn samples() -> Vec<Sample> {
    binary_samples(Div, -2.0..2.0, 0.5..2.0, |a, b| a / b)
}
