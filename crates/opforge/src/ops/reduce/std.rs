//! `std(x, dims)`: the standard deviation over dimensions.

use opforge_tile::forms::Spread;

use super::var::{variance, widened};
use crate::family::reduce_dims;
use crate::functional as f;
use crate::ops::prelude::*;

/// The mathematics of [`std()`]: the square root of [`Var`](super::var::Var).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Std {
    /// 1 estimates a population from a sample, 0 is of the elements themselves.
    pub correction: Scalar,
}

impl Reduction for Std {
    const NAME: &'static str = "std";
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    fn lower(&self, _: &Meta, axes: &[usize], _: &Meta) -> Result<Lowering> {
        Ok(Lowering::Spread(Spread { axes: axes.to_vec(), correction: self.correction, root: true }))
    }

    fn decompose(&self, input: &Tensor, axes: Axes, keepdim: bool) -> Option<Result<Tensor>> {
        let deviation = || {
            let variance = variance(&widened(input)?, axes, keepdim, self.correction.to_f64())?;
            variance.sqrt()?.to_dtype(input.dtype())
        };
        Some(deviation())
    }

    /// The distance from the mean over `(count - correction) * std`; 0 where the deviation is 0.
    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        let (x, deviation) = (of.input()?, of.output()?);
        let count = of.count() as f64;
        let distance = x.sub(&of.total(&x)?.affine(1.0 / count, 0.0)?)?;
        let scale = 1.0 / (count - self.correction.to_f64()).max(0.0);
        let flat = deviation.eq(0.0)?;
        // Not by 0, from which the second derivative would be NaN.
        let slope = distance.div(&flat.where_cond(&deviation.ones_like()?, &deviation)?)?.affine(scale, 0.0)?;
        of.grad()?.mul(&flat.where_cond(&slope.zeros_like()?, &slope)?)
    }
}

/// The standard deviation over dimensions, all of them without `dim`: the square root of [`var`](fn@crate::functional::var).
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 5.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::std(&x, None, Some(0.0), false)?.to_scalar::<f32>()?, 2.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, *, correction = None, keepdim = false)]
#[operator(DTypes::FLOATS, samples, Std)]
pub fn std(input: &Tensor, dim: Option<&[i64]>, correction: Option<f64>, keepdim: bool) -> Result<Tensor> {
    if input.dtype().is_complex() {
        return f::var(input, dim, correction, keepdim)?.sqrt();
    }
    let axes = reduce_dims(OP, input, dim)?;
    dispatch1(
        &ReduceOp { reduction: Std { correction: Scalar::Float(correction.unwrap_or(1.0)) }, axes, keepdim },
        &[input],
    )
}

fn samples() -> Vec<Sample> {
    fn deviation(x: &[f64]) -> f64 {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64).sqrt()
    }
    // Of one element it is not smooth.
    let several = |sample: &Sample| !sample.inputs[0].shape.is_empty();
    let population = Std { correction: Scalar::Float(0.0) };
    reduction_samples(population, deviation).into_iter().filter(several).collect()
}
