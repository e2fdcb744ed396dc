//! `zeta(s, q)`: the zeta function of Hurwitz.

use crate::ops::prelude::*;

/// The tile function of [`zeta`](fn@zeta).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Zeta;

impl BinaryFn for Zeta {
    const PICOSECONDS: usize = 300_000;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        math::zeta(a, b)
    }
}

impl Binary for Zeta {
    const NAME: &'static str = "zeta";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        match side {
            Side::Left => Err(super::igamma::no_gradient(Self::NAME, "input")),
            Side::Right => {
                let s = pair.lhs()?;
                let next = zeta((&s.affine(1.0, 1.0)?).into(), (&pair.rhs()?).into())?;
                pair.grad()?.broadcast_mul(&s.neg()?.broadcast_mul(&next)?)
            }
        }
    }
}

/// The zeta function of Hurwitz: the sum of `(k + other)^-input` over k of 0 and more, element by element.
///
/// Infinite for an exponent `input` of 1, NaN below. The gradient is that of `other` only.
/// Shapes are broadcast and dtypes promoted; integers become floating-point numbers first.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let q = Tensor::new(&[1f32, 0.0], &Device::Cpu)?;
/// let y = opforge::functional::zeta(2.0.into(), (&q).into())?;
/// assert_eq!(y.to_vec1::<f32>()?, [1.644_934_1, f32::INFINITY]); // pi^2 / 6
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(special)]
#[operator(DTypes::FLOATS, samples, Zeta)]
pub fn zeta(input: Operand, other: Operand) -> Result<Tensor> {
    binary_float(Zeta, input, other, None)
}

fn samples() -> Vec<Sample> {
    super::igamma::samples_of_second(Zeta, 1.5..4.0, reference)
}

/// The sum, and its tail by Euler and Maclaurin.
fn reference(s: f64, q: f64) -> f64 {
    if s.is_nan() || q.is_nan() || s < 1.0 {
        return if s == 1.0 { f64::INFINITY } else { f64::NAN };
    }
    if q == 0.0 || s.is_infinite() || q.is_infinite() {
        return if s == 1.0 || q < 1.0 { f64::INFINITY } else { 0.0 };
    }
    let end = q + 1000.0;
    let sum: f64 = (0..1000).rev().map(|k| (q + f64::from(k)).powf(-s)).sum();
    sum + end.powf(-s) * (end / (s - 1.0) + 0.5 + s / (12.0 * end))
}
