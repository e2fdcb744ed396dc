//! `floor_divide(a, b)`: division rounded down.

use crate::ops::prelude::*;

/// The tile function of [`floor_divide`](fn@floor_divide).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct FloorDivide;

impl BinaryFn for FloorDivide {
    const INT: bool = true;
    const WIDE_NUMBERS: bool = true;
    const INT_FAILURE: Option<(&'static str, &'static str)> = Some(("divisor", "divisors other than 0"));
    const PICOSECONDS: usize = 400;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        let (zero, quotient) = (V::splat(0.0), a / b);
        let r = math::fmod(a, b);
        // As Python has it: from the exact remainder, so that rounding of the quotient does not carry over.
        let exact = (a - r) / b;
        let opposite = r.ne(zero) & (r.lt(zero) ^ b.lt(zero));
        let exact = V::select(opposite, exact - V::splat(1.0), exact);
        let down = exact.floor();
        let whole = V::select((exact - down).gt(V::splat(0.5)), down + V::splat(1.0), down);
        let whole = V::select(exact.eq(zero), zero.copysign(quotient), whole);
        V::select(b.eq(zero), quotient, whole)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.div_floor(b)
    }
    #[inline(always)]
    fn int_fails<I: Int>(self, _: I, b: I) -> I::Mask {
        b.eq(I::from_i64(0))
    }
}

impl Binary for FloorDivide {
    const NAME: &'static str = "floor_divide";
    const OF_NUMBERS: bool = true;
    const FLAT: bool = true;
}

/// `input / other` rounded down, element by element; integers stay integers.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, and integers divided by 0.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[7f32, -7.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::floor_divide((&x).into(), 2.0.into())?.to_vec1::<f32>()?, [3.0, -4.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::NUMERIC, samples, FloorDivide)]
pub fn floor_divide(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(FloorDivide, input, other, Rules::TORCH, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(FloorDivide, -3.0..3.0, 0.5..2.0, floor_quotient)
}

fn floor_quotient(a: f64, b: f64) -> f64 {
    let r = a % b;
    if b == 0.0 || r.is_nan() {
        return if b == 0.0 { a / b } else { f64::NAN };
    }
    let r = if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r };
    if b.is_infinite() && r == b { -1.0 } else { ((a - r) / b).round() }
}
