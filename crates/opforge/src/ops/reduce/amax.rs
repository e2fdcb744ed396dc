//! `max(x, dims)`: the greatest element over dimensions.

use opforge_tile::{Integers, Reducer};

use crate::Dim;
use crate::family::reduce_dims;
use crate::ops::extreme::shared_by_ties;
use crate::ops::prelude::*;

/// The mathematics of [`amax`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Max;

impl Reducer for Max {
    const INTEGERS: Integers = Integers::Same;

    #[inline(always)]
    fn identity(self) -> f64 {
        f64::NEG_INFINITY
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a.max(b)
    }
    #[inline(always)]
    fn int_identity<T: Int>(self) -> T {
        T::least()
    }
    #[inline(always)]
    fn int_combine<T: Int>(self, a: T, b: T) -> T {
        a.greater(b)
    }
}

impl Reduction for Max {
    const NAME: &'static str = "max";
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };
    const OF_NOTHING: bool = false;

    fn lower(&self, _: &Meta, axes: &[usize], _: &Meta) -> Result<Lowering> {
        Ok(Lowering::Reduce(Reduce::numbers(*self, axes)))
    }

    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        shared_by_ties(of)
    }
}

/// The greatest element over dimensions, all of them without `dim`. NaN wins.
///
/// # Errors
/// When there are no elements to reduce.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 5.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::amax(&x, Some(&[0]), false)?.to_vec1::<f32>()?, [3.0, 5.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false)]
#[operator(DTypes::REAL, samples, name = "max")]
pub fn amax(input: &Tensor, dim: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    let axes = reduce_dims("max", input, dim)?;
    dispatch1(&ReduceOp { reduction: Max, axes, keepdim }, &[input])
}

impl Tensor {
    /// The greatest element over a dimension, which goes away; NaN wins.
    #[track_caller]
    pub fn max<D: Dim>(&self, dim: D) -> Result<Tensor> {
        reduce_dim(Max, self, dim, false)
    }

    /// The greatest element over a dimension, which stays with length 1.
    #[track_caller]
    pub fn max_keepdim<D: Dim>(&self, dim: D) -> Result<Tensor> {
        reduce_dim(Max, self, dim, true)
    }

    /// The greatest of all elements, as a scalar.
    #[track_caller]
    pub fn max_all(&self) -> Result<Tensor> {
        dispatch1(&ReduceOp { reduction: Max, axes: Axes::all(self.rank()), keepdim: false }, &[self])
    }
}

fn samples() -> Vec<Sample> {
    reduction_samples(Max, |x| {
        x.iter().copied().fold(f64::NEG_INFINITY, |a, b| if a >= b || a.is_nan() { a } else { b })
    })
}
