//! `igammac(a, x) = 1 - igamma(a, x)`.

use super::igamma::{density, no_gradient, reference, samples_of_second};
use crate::ops::prelude::*;

/// The tile function of [`igammac`](fn@igammac).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Igammac;

impl BinaryFn for Igammac {
    const PICOSECONDS: usize = 300_000;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        math::gamma_q(a, b)
    }
}

impl Binary for Igammac {
    const NAME: &'static str = "igammac";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        match side {
            Side::Left => Err(no_gradient(Self::NAME, "input")),
            Side::Right => pair.grad()?.broadcast_mul(&density(&pair.lhs()?, &pair.rhs()?)?)?.neg(),
        }
    }
}

/// The regularised upper incomplete gamma function, Q(input, other), element by element.
///
/// NaN for negative operands. The gradient is that of `other` only.
/// Shapes are broadcast and dtypes promoted; integers become floating-point numbers first.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::igammac(1.0.into(), (&x).into())?.to_vec1::<f32>()?, [1.0, 0.135_335_28]); // exp(-x)
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::FLOATS, samples, Igammac)]
pub fn igammac(input: Operand, other: Operand) -> Result<Tensor> {
    binary_float(Igammac, input, other, out)
}

fn samples() -> Vec<Sample> {
    samples_of_second(Igammac, 0.6..3.0, |a, x| 1.0 - reference(a, x))
}
