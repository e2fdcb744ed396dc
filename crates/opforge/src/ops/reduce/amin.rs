//! `min(x, dims)`: the least element over dimensions.

use super::amax::{Extremum, TotalExtremum};
use crate::ops::prelude::*;

/// The least element over dimensions, all of them without `dim`. NaN wins.
///
/// # Errors
/// When there are no elements to reduce.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 5.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::amin(&x, Some(&[0]), false)?.to_vec1::<f32>()?, [1.0, 4.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false)]
#[operator(DTypes::REAL, samples, Extremum<false>, TotalExtremum<false>, name = "min")]
pub fn amin(input: &Tensor, dim: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    reduce_over(Extremum::<false>, input, dim, keepdim)
}

impl Tensor {
    /// The least element over a dimension, which goes away; NaN wins.
    #[track_caller]
    pub fn min<D: Dim>(&self, dim: D) -> Result<Tensor> {
        reduce_dim(Extremum::<false>, self, dim, false)
    }

    /// The least element over a dimension, which stays with length 1.
    #[track_caller]
    pub fn min_keepdim<D: Dim>(&self, dim: D) -> Result<Tensor> {
        reduce_dim(Extremum::<false>, self, dim, true)
    }

    /// The least of all elements, as a scalar.
    #[track_caller]
    pub fn min_all(&self) -> Result<Tensor> {
        dispatch1(&ReduceOp { reduction: Extremum::<false>, axes: Axes::all(self.rank()), keepdim: false }, &[self])
    }
}

fn samples() -> Vec<Sample> {
    let least = |x: &[f64]| x.iter().copied().fold(f64::INFINITY, |a, b| if a <= b || a.is_nan() { a } else { b });
    let mut samples = reduction_samples(Extremum::<false>, least);
    samples.extend(reduction_samples(TotalExtremum::<false>, least));
    samples
}
