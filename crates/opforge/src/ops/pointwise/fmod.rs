//! `fmod(a, b)`: what truncated division leaves.

use crate::ops::prelude::*;

/// The tile function of [`fmod`](fn@fmod).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Fmod;

impl BinaryFn for Fmod {
    const INT: bool = true;
    const INT_FAILURE: Option<(&'static str, &'static str)> = Some(("divisor", "divisors other than 0"));
    const PICOSECONDS: usize = 400;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        math::fmod(a, b)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.rem_trunc(b)
    }
    #[inline(always)]
    fn int_fails<I: Int>(self, _: I, b: I) -> I::Mask {
        b.eq(I::from_i64(0))
    }
}

impl Binary for Fmod {
    const NAME: &'static str = "fmod";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        match side {
            Side::Left => pair.grad()?.affine(1.0, 0.0),
            Side::Right => {
                let quotient = pair.lhs()?.broadcast_div(&pair.rhs()?)?;
                let quotient = super::trunc::trunc(&quotient)?;
                pair.grad()?.mul(&quotient)?.neg()
            }
        }
    }
}

/// What division rounded towards zero leaves; has the sign of `input`.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, and integers divided by 0.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[7f32, -7.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::fmod((&x).into(), 4.0.into())?.to_vec1::<f32>()?, [3.0, -3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::NUMERIC, samples, Fmod)]
pub fn fmod(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(Fmod, input, other, Rules::TORCH, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(Fmod, 0.6..0.9, 0.95..1.9, |a, b| a % b).into_iter().map(Sample::rough).collect()
}
