//! `logaddexp2(a, b) = log2(2^a + 2^b)`.

use crate::ops::prelude::*;

/// The tile function of [`logaddexp2`](fn@logaddexp2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Logaddexp2;

impl BinaryFn for Logaddexp2 {
    const PICOSECONDS: usize = 500;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        let (least, greatest) = (a.min(b), a.max(b));
        let gap = V::select(a.eq(b), V::splat(0.0), least - greatest);
        greatest + math::log_1p(math::exp2(gap)) * V::splat(std::f64::consts::LOG2_E)
    }
}

impl Binary for Logaddexp2 {
    const NAME: &'static str = "logaddexp2";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        let (a, b) = (pair.lhs()?, pair.rhs()?);
        let gap = if side == Side::Left { a.broadcast_sub(&b)? } else { b.broadcast_sub(&a)? };
        pair.grad()?.mul(&gap.affine(std::f64::consts::LN_2, 0.0)?.sigmoid()?)
    }
}

/// `log2(2^input + 2^other)`, element by element, without overflow.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::logaddexp2((&x).into(), 1.0.into())?.to_vec1::<f32>()?, [2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method)]
#[operator(DTypes::FLOATS, samples, Logaddexp2)]
pub fn logaddexp2(input: Operand, other: Operand) -> Result<Tensor> {
    binary_float(Logaddexp2, input, other, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(Logaddexp2, -2.0..2.0, -1.5..2.5, |a, b| {
        if a == b {
            a + 1.0
        } else {
            a.max(b) + (-(a - b).abs()).exp2().ln_1p() * std::f64::consts::LOG2_E + special(a, b)
        }
    })
}

/// NaN where either operand is; 0 else.
fn special(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { 0.0 }
}
