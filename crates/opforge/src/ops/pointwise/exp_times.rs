//! `exp_times(a, b) = exp(a) b`: what gradients of logarithms of probabilities are made of.

use crate::ops::prelude::*;

/// The tile function of [`exp_times`](fn@exp_times).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct ExpTimes;

impl BinaryFn for ExpTimes {
    const PICOSECONDS: usize = 200;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        math::exp(a) * b
    }
}

impl Binary for ExpTimes {
    const NAME: &'static str = "exp_times";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        let (a, grad) = (pair.lhs()?, pair.grad()?);
        match side {
            Side::Left => binary(ExpTimes, (&a).into(), (&grad.broadcast_mul(&pair.rhs()?)?).into(), Rules::BROADCAST),
            Side::Right => binary(ExpTimes, (&a).into(), (&grad).into(), Rules::BROADCAST),
        }
    }
}

/// `exp(input) * other`, element by element, in one pass.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::exp_times((&x).into(), 2.0.into())?.to_vec1::<f32>()?, [2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(hidden)]
#[operator(DTypes::FLOATS, samples, ExpTimes)]
pub fn exp_times(input: Operand, other: Operand) -> Result<Tensor> {
    binary(ExpTimes, input, other, Rules::TORCH)
}

fn samples() -> Vec<Sample> {
    binary_samples(ExpTimes, -2.0..2.0, -2.0..2.0, |a, b| a.exp() * b)
}
