//! `max(x, dims)`: the greatest element over dimensions.

use opforge_tile::{Integers, Reducer};

use crate::ops::extreme::shared_by_ties;
use crate::ops::prelude::*;

/// The mathematics of `amax` if `MAX`, else of `amin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Extremum<const MAX: bool>;

impl<const MAX: bool> Reducer for Extremum<MAX> {
    const INTEGERS: Integers = Integers::Same;

    #[inline(always)]
    fn identity(self) -> f64 {
        if MAX { f64::NEG_INFINITY } else { f64::INFINITY }
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        // In this order each step waits for one instruction: whether the new element is NaN does not depend on what came before.
        if MAX { b.max(a) } else { b.min(a) }
    }
    #[inline(always)]
    fn int_identity<T: Int>(self) -> T {
        if MAX { T::least() } else { T::greatest() }
    }
    #[inline(always)]
    fn int_combine<T: Int>(self, a: T, b: T) -> T {
        if MAX { a.greater(b) } else { a.lesser(b) }
    }
}

impl<const MAX: bool> Reduction for Extremum<MAX> {
    const NAME: &'static str = if MAX { "max" } else { "min" };
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };
    const OF_NOTHING: bool = false;
    const ROLE: Role = if MAX { Role::Max } else { Role::Min };

    fn lower(&self, _: &Meta, axes: &[usize], _: &Meta) -> Result<Lowering> {
        Ok(Lowering::Reduce(Reduce::numbers(*self, axes)))
    }

    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        shared_by_ties(of, false)
    }
}

/// [`Extremum`] for [`max`](fn@crate::functional::max) and [`min`](fn@crate::functional::min): if it is NaN, those that are share its gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct TotalExtremum<const MAX: bool>;

impl<const MAX: bool> Reduction for TotalExtremum<MAX> {
    const NAME: &'static str = Extremum::<MAX>::NAME;
    const SAVES: Saves = Extremum::<MAX>::SAVES;
    const OF_NOTHING: bool = false;
    const ROLE: Role = Extremum::<MAX>::ROLE;

    fn lower(&self, input: &Meta, axes: &[usize], output: &Meta) -> Result<Lowering> {
        Extremum::<MAX>.lower(input, axes, output)
    }

    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        shared_by_ties(of, true)
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
#[operator(DTypes::REAL, samples, Extremum<true>, TotalExtremum<true>, name = "max")]
pub fn amax(input: &Tensor, dim: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    reduce_over(Extremum::<true>, input, dim, keepdim)
}

impl Tensor {
    /// The greatest element over a dimension, which goes away; NaN wins.
    #[track_caller]
    pub fn max<D: Dim>(&self, dim: D) -> Result<Tensor> {
        reduce_dim(Extremum::<true>, self, dim, false)
    }

    /// The greatest element over a dimension, which stays with length 1.
    #[track_caller]
    pub fn max_keepdim<D: Dim>(&self, dim: D) -> Result<Tensor> {
        reduce_dim(Extremum::<true>, self, dim, true)
    }

    /// The greatest of all elements, as a scalar.
    #[track_caller]
    pub fn max_all(&self) -> Result<Tensor> {
        dispatch1(&ReduceOp { reduction: Extremum::<true>, axes: Axes::all(self.rank()), keepdim: false }, &[self])
    }
}

fn samples() -> Vec<Sample> {
    let greatest =
        |x: &[f64]| x.iter().copied().fold(f64::NEG_INFINITY, |a, b| if a >= b || a.is_nan() { a } else { b });
    let mut samples = reduction_samples(Extremum::<true>, greatest);
    samples.extend(reduction_samples(TotalExtremum::<true>, greatest));
    samples
}
