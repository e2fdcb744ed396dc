//! `norm2(x, dims)`: the Euclidean length over dimensions.

use opforge_tile::Squares;

use super::sum::Sum;
use super::var::widened;
use crate::functional::{self as f, reduced};
use crate::ops::prelude::*;

/// The mathematics of [`norm2`]: the square root of the sum of squares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Norm2;

impl Reduction for Norm2 {
    const NAME: &'static str = "norm2";
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    fn lower(&self, _: &Meta, axes: &[usize], _: &Meta) -> Result<Lowering> {
        Ok(Lowering::Reduce(Reduce::numbers(Squares::Root, axes)))
    }

    fn decompose(&self, input: &Tensor, axes: Axes, keepdim: bool) -> Option<Result<Tensor>> {
        let composed =
            || reduced(Sum { widen: false }, axes, keepdim, &widened(input)?.sqr()?)?.sqrt()?.to_dtype(input.dtype());
        Some(composed())
    }

    /// The direction; 0 where the length is 0.
    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        let (x, length) = (of.input()?, of.output()?);
        let divisor = length.eq(0.0)?.where_cond(&length.ones_like()?, &length)?;
        of.grad()?.mul(&x.div(&divisor)?)
    }
}

/// The Euclidean length over dimensions, all of them without `dim`: what [`norm`](fn@crate::functional::norm) computes for `p` of 2.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32, 4.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::norm2(&x, None, false)?.to_scalar::<f32>()?, 5.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false)]
#[python(hidden)]
#[operator(DTypes::FLOATS, samples, Norm2)]
pub fn norm2(input: &Tensor, dim: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    let axes = reduce_dims("norm", input, dim)?;
    if input.dtype().is_complex() {
        let dims: Vec<i64> = axes.to_vec().into_iter().chain([input.rank()]).map(|d| d as i64).collect();
        let length = norm2(&f::view_as_real(input)?, Some(&dims), keepdim)?;
        return if keepdim { length.squeeze(input.rank()) } else { Ok(length) };
    }
    dispatch1(&ReduceOp { reduction: Norm2, axes, keepdim }, &[input])
}

fn samples() -> Vec<Sample> {
    reduction_samples(Norm2, |x| x.iter().map(|x| x * x).sum::<f64>().sqrt())
}
