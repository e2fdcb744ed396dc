//! `argmin(x, dim)`: where the least element is.

use super::argmax::ArgExtremum;
use crate::ops::extreme::{arg_over, arg_samples};
use crate::ops::prelude::*;

/// The index of the least element along `dim`, the first of several; without `dim`, in the flattened tensor. NaN counts as least. The
/// result has dtype i64.
///
/// # Errors
/// When there are no elements to choose from.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 5.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::argmin(&x, Some(0), false)?.to_vec1::<i64>()?, [0, 1]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false)]
#[python(torch, method)]
#[operator(DTypes::REAL, samples, ArgExtremum<false>, gradient = false)]
pub fn argmin(input: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
    arg_over(ArgExtremum::<false> { index: Rules::TORCH.index }, input, dim, keepdim)
}

impl Tensor {
    /// The index of the least element along a dimension, which goes away, as u32.
    #[track_caller]
    pub fn argmin<D: Dim>(&self, dim: D) -> Result<Tensor> {
        reduce_dim(ArgExtremum::<false> { index: Rules::SAME.index }, self, dim, false)
    }

    /// The index of the least element along a dimension, which stays with length 1, as u32.
    #[track_caller]
    pub fn argmin_keepdim<D: Dim>(&self, dim: D) -> Result<Tensor> {
        reduce_dim(ArgExtremum::<false> { index: Rules::SAME.index }, self, dim, true)
    }
}

fn samples() -> Vec<Sample> {
    arg_samples(ArgExtremum::<false> { index: DType::I64 }, |a, b| a < b)
}
