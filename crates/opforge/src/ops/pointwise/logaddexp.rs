//! `logaddexp(a, b) = log(e^a + e^b)`.

use crate::functional as f;
use crate::ops::prelude::*;

/// The tile function of [`logaddexp`](fn@logaddexp).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Logaddexp;

impl BinaryFn for Logaddexp {
    const PICOSECONDS: usize = 500;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        let (least, greatest) = (a.min(b), a.max(b));
        // Infinity less infinity is NaN: equal operands have the distance 0.
        let gap = V::select(a.eq(b), V::splat(0.0), least - greatest);
        greatest + math::log_1p(math::exp(gap))
    }
}

impl Binary for Logaddexp {
    const NAME: &'static str = "logaddexp";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        let (a, b) = (pair.lhs()?, pair.rhs()?);
        let gap = if side == Side::Left { a.broadcast_sub(&b)? } else { b.broadcast_sub(&a)? };
        pair.grad()?.mul(&gap.sigmoid()?)
    }

    /// As of real numbers, from the one with the greater real part.
    fn by_parts(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let swap = f::lt((&f::real(a)?).into(), (&f::real(b)?).into())?;
        let greatest = f::where_cond(&swap, b.into(), a.into())?;
        let least = f::where_cond(&swap, a.into(), b.into())?;
        greatest.add(&least.sub(&greatest)?.exp()?.affine(1.0, 1.0)?.log()?)
    }
}

/// `log(exp(input) + exp(other))`, element by element, without overflow.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::logaddexp((&x).into(), 0.0.into())?.to_vec1::<f32>()?, [std::f32::consts::LN_2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method)]
#[operator(DTypes::FLOATS, samples, Logaddexp)]
pub fn logaddexp(input: Operand, other: Operand) -> Result<Tensor> {
    binary_float(Logaddexp, input, other, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(Logaddexp, -2.0..2.0, -1.5..2.5, |a, b| {
        if a == b { a + std::f64::consts::LN_2 } else { a.max(b) + (-(a - b).abs()).exp().ln_1p() + special(a, b) }
    })
}

/// NaN where either operand is; 0 else.
fn special(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { 0.0 }
}
