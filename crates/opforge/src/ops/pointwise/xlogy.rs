//! `xlogy(a, b) = a log(b)`, 0 where `a` is 0.

use crate::functional::{logical_and, where_cond};
use crate::ops::prelude::*;

/// The tile function of [`xlogy`](fn@xlogy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Xlogy;

impl BinaryFn for Xlogy {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        let zero = V::splat(0.0);
        let product = V::select(a.eq(zero), zero, a * math::log(b));
        V::select(b.is_nan(), b, product)
    }
}

impl Binary for Xlogy {
    const NAME: &'static str = "xlogy";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        let (a, b) = (pair.lhs()?, pair.rhs()?);
        match side {
            Side::Left => pair.grad()?.broadcast_mul(&unless_lost(&a, &b, 0.0, &b.log()?)?),
            Side::Right => pair.grad()?.mul(&a.broadcast_div(&b)?),
        }
    }
}

/// `log` of `b`, and 0 where `a` is 0 and `b`, at most `bound`, has no finite logarithm: what makes the gradient of `a log(..)`.
pub(crate) fn unless_lost(a: &Tensor, b: &Tensor, bound: f64, log: &Tensor) -> Result<Tensor> {
    let flat = compare(super::eq::Eq, a.into(), 0.0.into(), Rules::SAME)?;
    let lost = compare(super::le::Le, b.into(), bound.into(), Rules::SAME)?;
    let zero = Tensor::zeros((), log.dtype(), log.device())?;
    where_cond(&logical_and((&flat).into(), (&lost).into())?, (&zero).into(), log.into())
}

/// `input * log(other)`, element by element; 0 where `input` is 0, unless `other` is NaN.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::xlogy((&x).into(), 1.0.into())?.to_vec1::<f32>()?, [0.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place, special)]
#[operator(DTypes::FLOATS, samples, Xlogy)]
pub fn xlogy(input: Operand, other: Operand) -> Result<Tensor> {
    binary_float(Xlogy, input, other, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(Xlogy, 0.5..2.0, 0.5..2.0, |a, b| if a == 0.0 && !b.is_nan() { 0.0 } else { a * b.ln() })
}
