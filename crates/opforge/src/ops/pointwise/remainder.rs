//! `remainder(a, b)`: what floored division leaves.

use crate::ops::prelude::*;

/// The tile function of [`remainder`](fn@remainder).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Remainder;

impl BinaryFn for Remainder {
    const INT: bool = true;
    const INT_FAILURE: Option<(&'static str, &'static str)> = Some(("divisor", "divisors other than 0"));
    const PICOSECONDS: usize = 400;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        let (zero, r) = (V::splat(0.0), math::fmod(a, b));
        let opposite = r.ne(zero) & (r.lt(zero) ^ b.lt(zero));
        V::select(opposite, r + b, r)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.rem_floor(b)
    }
    #[inline(always)]
    fn int_fails<I: Int>(self, _: I, b: I) -> I::Mask {
        b.eq(I::from_i64(0))
    }
}

impl Binary for Remainder {
    const NAME: &'static str = "remainder";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        match side {
            Side::Left => pair.grad()?.affine(1.0, 0.0),
            Side::Right => {
                let quotient = super::floor::floor(&pair.lhs()?.broadcast_div(&pair.rhs()?)?)?;
                pair.grad()?.mul(&quotient)?.neg()
            }
        }
    }
}

/// What division rounded down leaves; has the sign of `other`, as in Python.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, and integers divided by 0.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[7f32, -7.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::remainder((&x).into(), 4.0.into())?.to_vec1::<f32>()?, [3.0, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::NUMERIC, samples, Remainder)]
pub fn remainder(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(Remainder, input, other, Rules::TORCH, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(Remainder, 0.6..0.9, 0.95..1.9, |a, b| {
        let r = a % b;
        if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
    })
    .into_iter()
    .map(Sample::rough)
    .collect()
}
