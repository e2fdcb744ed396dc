//! `hypot(a, b) = sqrt(a^2 + b^2)`.

use crate::ops::prelude::*;

/// The tile function of [`hypot`](fn@hypot).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Hypot;

impl BinaryFn for Hypot {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        math::hypot(a, b)
    }
}

impl Binary for Hypot {
    const NAME: &'static str = "hypot";
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        match side {
            Side::Left => pair.grad()?.broadcast_mul(&pair.lhs()?)?.broadcast_div(&pair.output()?),
            Side::Right => pair.grad()?.broadcast_mul(&pair.rhs()?)?.broadcast_div(&pair.output()?),
        }
    }
}

/// `sqrt(input^2 + other^2)`, element by element, without overflow.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::hypot((&x).into(), 4.0.into())?.to_vec1::<f32>()?, [5.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::FLOATS, samples, Hypot)]
pub fn hypot(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(Hypot, input, other, Rules::TORCH, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(Hypot, 0.5..2.0, 0.5..2.0, f64::hypot)
}
