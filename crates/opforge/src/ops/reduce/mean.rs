//! `mean(x, dims)`: the mean over dimensions.

use super::sum::{Sum, mean_over};
use super::var::widened;
use crate::Dims;
use crate::functional::reduced;
use crate::ops::prelude::*;

/// The mathematics of [`mean`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Mean;

impl Reduction for Mean {
    const NAME: &'static str = "mean";

    fn lower(&self, input: &Meta, axes: &[usize], _: &Meta) -> Result<Lowering> {
        mean_over(Self::NAME, input, axes)
    }

    fn decompose(&self, input: &Tensor, axes: Axes, keepdim: bool) -> Option<Result<Tensor>> {
        let mean = || {
            let sum = reduced(Sum { widen: false }, axes, keepdim, &widened(input)?)?;
            crate::functional::div((&sum).into(), (axes.count(input.shape()) as f64).into(), None)?
                .to_dtype(input.dtype())
        };
        Some(mean())
    }

    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        of.grad()?.affine(1.0 / of.count() as f64, 0.0)
    }
}

/// The mean over dimensions, all of them without `dim`. Of no elements it is NaN.
///
/// # Errors
/// For tensors that are neither floating-point nor converted by `dtype`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::mean(&x, Some(&[0]), false, None)?.to_vec1::<f32>()?, [2.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false, *, dtype = None)]
#[operator(DTypes::FLOATS, samples, Mean)]
pub fn mean(input: &Tensor, dim: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let input = dtype.map_or_else(|| Ok(input.clone()), |dtype| input.to_dtype(dtype))?;
    let axes = reduce_dims(OP, &input, dim)?;
    reduced(Mean, axes, keepdim, &input)
}

impl Tensor {
    #[track_caller]
    fn mean_impl(&self, axes: Axes, keepdim: bool) -> Result<Tensor> {
        if !self.dtype().is_int() {
            return reduced(Mean, axes, keepdim, self);
        }
        let dims = axes.to_vec();
        let sum = if keepdim { self.sum_keepdim(&*dims) } else { self.sum(&*dims) };
        sum?.affine(1.0 / axes.count(self.shape()) as f64, 0.0)
    }

    /// The mean over dimensions, which go away: of integers the sum times the inverse of the count, which [`Tensor::affine`] cuts to 0 for more
    /// than one element. [`mean`] refuses integers.
    #[track_caller]
    pub fn mean<D: Dims>(&self, dims: D) -> Result<Tensor> {
        self.mean_impl(Axes::of(&dims.to_indexes(self.shape(), "mean")?), false)
    }

    /// As [`Tensor::mean`], the dimensions stay with length 1.
    #[track_caller]
    pub fn mean_keepdim<D: Dims>(&self, dims: D) -> Result<Tensor> {
        self.mean_impl(Axes::of(&dims.to_indexes(self.shape(), "mean")?), true)
    }

    /// The mean of all elements as in [`Tensor::mean`], as a scalar.
    #[track_caller]
    pub fn mean_all(&self) -> Result<Tensor> {
        self.mean_impl(Axes::all(self.rank()), false)
    }
}

fn samples() -> Vec<Sample> {
    reduction_samples(Mean, |x| x.iter().sum::<f64>() / x.len() as f64)
}
