//! `mean_square(x, dims)`: the mean of squares over dimensions.

use opforge_tile::Squares;

use super::mean::Mean;
use super::var::widened;
use crate::functional::reduced;
use crate::ops::prelude::*;

/// The mathematics of [`mean_square`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct MeanSquare;

impl Reduction for MeanSquare {
    const NAME: &'static str = "mean_square";
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: 0 };

    fn lower(&self, _: &Meta, axes: &[usize], _: &Meta) -> Result<Lowering> {
        Ok(Lowering::Reduce(Reduce::numbers(Squares::Mean, axes)))
    }

    fn decompose(&self, input: &Tensor, axes: Axes, keepdim: bool) -> Option<Result<Tensor>> {
        let composed = || reduced(Mean, axes, keepdim, &widened(input)?.sqr()?)?.to_dtype(input.dtype());
        Some(composed())
    }

    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        let (x, count) = (of.input()?, of.count() as f64);
        of.grad()?.affine(2.0 / count, 0.0)?.broadcast_mul(&x)
    }
}

/// The mean of squares over dimensions, all of them without `dim`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::mean_square(&x, None, false)?.to_scalar::<f32>()?, 5.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false)]
#[python(hidden)]
#[operator(DTypes::FLOATS, samples, MeanSquare)]
pub fn mean_square(input: &Tensor, dim: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    let axes = reduce_dims(OP, input, dim)?;
    dispatch1(&ReduceOp { reduction: MeanSquare, axes, keepdim }, &[input])
}

fn samples() -> Vec<Sample> {
    reduction_samples(MeanSquare, |x| x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64)
}
