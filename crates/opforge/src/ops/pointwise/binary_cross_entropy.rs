//! `binary_cross_entropy(x, y)`: the cross entropy between probabilities and targets from 0 to 1.

use crate::functional::{self as f, reduced_loss, same_shapes};
use crate::ops::prelude::*;

/// The least logarithm of a probability that counts, so that the loss of a certain mistake is finite.
const LEAST: f64 = -100.0;

/// The tile function of [`binary_cross_entropy`](fn@binary_cross_entropy), of a probability and a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct BinaryCrossEntropy;

impl BinaryFn for BinaryCrossEntropy {
    const PICOSECONDS: usize = 600;

    #[inline(always)]
    fn float<V: Float>(self, x: V, y: V) -> V {
        let least = V::splat(LEAST);
        (y - V::splat(1.0)) * math::log_1p(-x).max(least) - y * math::log(x).max(least)
    }
}

impl Binary for BinaryCrossEntropy {
    const NAME: &'static str = "binary_cross_entropy";
    const READS: [Saves; 2] = [Saves::INPUTS, Saves { inputs: 1, outputs: 0 }];

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        let x = pair.lhs()?;
        let other = x.affine(-1.0, 1.0)?;
        match side {
            // (x - y) / (x (1 - x)), finite where a probability is 0 or 1.
            Side::Left => {
                let least = if x.dtype() == DType::F16 { 2f64.powi(-14) } else { 1e-12 };
                let spread = f::clamp(&x.mul(&other)?, Some(least.into()), None)?;
                pair.grad()?.mul(&x.broadcast_sub(&pair.rhs()?)?.broadcast_div(&spread)?)
            }
            Side::Right => {
                let log = |p: &Tensor| f::clamp(&p.log()?, Some(LEAST.into()), None);
                pair.grad()?.broadcast_mul(&log(&other)?.sub(&log(&x)?)?)
            }
        }
    }
}

/// The cross entropy between probabilities and targets from 0 to 1; logarithms are at least -100, and gradients finite.
///
/// # Errors
/// For shapes that differ.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[0.5f32, 0.0], &Device::Cpu)?, Tensor::new(&[1f32, 1.0], &Device::Cpu)?);
/// let loss = f::binary_cross_entropy(&x, &y, None, "none")?.to_vec1::<f32>()?;
/// assert_eq!(loss, [2f32.ln(), 100.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(weight = None, *, reduction = "mean")]
#[python(nn)]
#[operator(DTypes::FLOATS, samples, BinaryCrossEntropy)]
pub fn binary_cross_entropy(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: &str,
) -> Result<Tensor> {
    same_shapes(OP, input, target)?;
    let target = target.to_dtype(input.dtype())?;
    let loss = binary(BinaryCrossEntropy, input.into(), (&target).into(), Rules::SAME)?;
    reduced_loss(OP, loss, weight, reduction)
}

fn samples() -> Vec<Sample> {
    fn reference(x: f64, y: f64) -> f64 {
        // NaN stays.
        let log = |p: f64| if p.ln() < LEAST { LEAST } else { p.ln() };
        (y - 1.0) * log(1.0 - x) - y * log(x)
    }
    binary_samples(BinaryCrossEntropy, 0.1..0.9, 0.1..0.9, reference)
}
