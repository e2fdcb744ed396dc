//! `argmax(x, dim)`: where the greatest element is.

use opforge_tile::forms::{Extreme, Search};

use crate::ops::extreme::{arg_over, arg_samples};
use crate::ops::prelude::*;

/// The mathematics of `argmax` if `MAX`, else of `argmin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct ArgExtremum<const MAX: bool> {
    /// The result's dtype: i64 or u32.
    pub index: DType,
}

impl<const MAX: bool> Reduction for ArgExtremum<MAX> {
    const NAME: &'static str = if MAX { "argmax" } else { "argmin" };
    const OF_NOTHING: bool = false;
    const DIFFERENTIABLE: bool = false;

    fn lower(&self, _: &Meta, axes: &[usize], _: &Meta) -> Result<Lowering> {
        let &[axis] = axes else {
            return Err(Error::value(Self::NAME, "dim", format!("{axes:?}"), "one dimension"));
        };
        let extreme = if MAX { Extreme::Max } else { Extreme::Min };
        Ok(Lowering::Search(Search { extreme, axis }))
    }

    fn dtype(&self, _: DType) -> DType {
        self.index
    }
}

/// The index of the greatest element along `dim`, the first of several; without `dim`, in the flattened tensor. NaN counts as greatest. The
/// result has dtype i64.
///
/// # Errors
/// When there are no elements to choose from.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 5.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::argmax(&x, Some(0), false)?.to_vec1::<i64>()?, [1, 0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false)]
#[python(torch, method)]
#[operator(DTypes::REAL, samples, ArgExtremum<true>, gradient = false)]
pub fn argmax(input: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
    arg_over(ArgExtremum::<true> { index: Rules::TORCH.index }, input, dim, keepdim)
}

impl Tensor {
    /// The index of the greatest element along a dimension, which goes away, as u32.
    #[track_caller]
    pub fn argmax<D: Dim>(&self, dim: D) -> Result<Tensor> {
        reduce_dim(ArgExtremum::<true> { index: Rules::SAME.index }, self, dim, false)
    }

    /// The index of the greatest element along a dimension, which stays with length 1, as u32.
    #[track_caller]
    pub fn argmax_keepdim<D: Dim>(&self, dim: D) -> Result<Tensor> {
        reduce_dim(ArgExtremum::<true> { index: Rules::SAME.index }, self, dim, true)
    }
}

fn samples() -> Vec<Sample> {
    arg_samples(ArgExtremum::<true> { index: DType::I64 }, |a, b| a > b)
}
