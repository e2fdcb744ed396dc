//! `min(x, dims)`: the least element over dimensions.

use opforge_tile::{Integers, Reducer};

use crate::Dim;
use crate::family::reduce_dims;
use crate::ops::extreme::shared_by_ties;
use crate::ops::prelude::*;

/// The mathematics of [`amin`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Min;

impl Reducer for Min {
    const INTEGERS: Integers = Integers::Same;

    #[inline(always)]
    fn identity(self) -> f64 {
        f64::INFINITY
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a.min(b)
    }
    #[inline(always)]
    fn int_identity<T: Int>(self) -> T {
        T::greatest()
    }
    #[inline(always)]
    fn int_combine<T: Int>(self, a: T, b: T) -> T {
        a.lesser(b)
    }
}

impl Reduction for Min {
    const NAME: &'static str = "min";
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };
    const OF_NOTHING: bool = false;

    fn lower(&self, _: &Meta, axes: &[usize], _: &Meta) -> Result<Lowering> {
        Ok(Lowering::Reduce(Reduce::numbers(*self, axes)))
    }

    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        shared_by_ties(of)
    }
}

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
#[operator(DTypes::REAL, samples, name = "min")]
pub fn amin(input: &Tensor, dim: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    let axes = reduce_dims("min", input, dim)?;
    dispatch1(&ReduceOp { reduction: Min, axes, keepdim }, &[input])
}

impl Tensor {
    /// The least element over a dimension, which goes away; NaN wins.
    #[track_caller]
    pub fn min<D: Dim>(&self, dim: D) -> Result<Tensor> {
        reduce_dim(Min, self, dim, false)
    }

    /// The least element over a dimension, which stays with length 1.
    #[track_caller]
    pub fn min_keepdim<D: Dim>(&self, dim: D) -> Result<Tensor> {
        reduce_dim(Min, self, dim, true)
    }

    /// The least of all elements, as a scalar.
    #[track_caller]
    pub fn min_all(&self) -> Result<Tensor> {
        dispatch1(&ReduceOp { reduction: Min, axes: Axes::all(self.rank()), keepdim: false }, &[self])
    }
}

fn samples() -> Vec<Sample> {
    reduction_samples(Min, |x| x.iter().copied().fold(f64::INFINITY, |a, b| if a <= b || a.is_nan() { a } else { b }))
}
