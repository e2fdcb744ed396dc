//! `var(x, dims)`: the variance over dimensions.

use opforge_tile::forms::Spread;

use super::sum::Sum;
use crate::Dim;
use crate::family::reduce_dims;
use crate::functional::{Parts, reduced};
use crate::ops::prelude::*;

/// The mathematics of [`var`]: the sum of squared distances from the mean over `count - correction`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Var {
    /// 1 estimates a population's variance from a sample, 0 is the variance of the elements themselves.
    pub correction: Scalar,
}

impl Reduction for Var {
    const NAME: &'static str = "var";
    const SAVES: Saves = Saves::INPUTS;

    fn lower(&self, _: &Meta, axes: &[usize], _: &Meta) -> Result<Lowering> {
        Ok(Lowering::Spread(Spread { axes: axes.to_vec(), correction: self.correction, root: false }))
    }

    fn decompose(&self, input: &Tensor, axes: Axes, keepdim: bool) -> Option<Result<Tensor>> {
        let variance = variance(&widened(input).ok()?, axes, keepdim, self.correction.to_f64());
        Some(variance.and_then(|variance| variance.to_dtype(input.dtype())))
    }

    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        let x = of.input()?;
        let count = of.count() as f64;
        let mean = of.total(&x)?.affine(1.0 / count, 0.0)?;
        let scale = 2.0 / (count - self.correction.to_f64()).max(0.0);
        of.grad()?.mul(&x.sub(&mean)?.affine(scale, 0.0)?)
    }
}

/// In the dtype that halves are computed in.
pub(crate) fn widened(x: &Tensor) -> Result<Tensor> {
    if matches!(x.dtype(), DType::F16 | DType::BF16) { x.to_dtype(DType::F32) } else { Ok(x.clone()) }
}

/// The variance, composed of sums.
#[track_caller]
pub(super) fn variance(x: &Tensor, axes: Axes, keepdim: bool, correction: f64) -> Result<Tensor> {
    let count = axes.count(x.shape()) as f64;
    let mean = reduced(Sum { widen: false }, axes, true, x)?.affine(1.0 / count, 0.0)?;
    let squares = x.broadcast_sub(&mean)?.sqr()?;
    reduced(Sum { widen: false }, axes, keepdim, &squares)?.affine(1.0 / (count - correction).max(0.0), 0.0)
}

/// The variance over dimensions, all of them without `dim`: squared distances from the mean, summed over `count - correction`, which is 1 if not given. NaN where
/// that is not positive. Of complex numbers, the sum of their parts' variances.
///
/// Parts are combined without cancellation (Chan, Golub and LeVeque, 1979).
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::var(&x, None, None, false)?.to_scalar::<f32>()?, 2.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, *, correction = None, keepdim = false)]
#[operator(DTypes::FLOATS, samples, Var)]
pub fn var(input: &Tensor, dim: Option<&[i64]>, correction: Option<f64>, keepdim: bool) -> Result<Tensor> {
    if input.dtype().is_complex() {
        let Parts { re, im } = Parts::of(input)?;
        return var(&re, dim, correction, keepdim)?.add(&var(&im, dim, correction, keepdim)?);
    }
    let axes = reduce_dims(OP, input, dim)?;
    dispatch1(
        &ReduceOp { reduction: Var { correction: Scalar::Float(correction.unwrap_or(1.0)) }, axes, keepdim },
        &[input],
    )
}

/// Of a sample, without bias.
const SAMPLE: Var = Var { correction: Scalar::Float(1.0) };

impl Tensor {
    /// The unbiased variance over a dimension, which goes away. Of integers it is made of [`Tensor::mean`] and [`Tensor::affine`], which cut;
    /// [`var`] refuses them.
    #[track_caller]
    pub fn var<D: Dim>(&self, dim: D) -> Result<Tensor> {
        let dim = dim.to_index(self.shape(), "var")?;
        if self.dtype().is_int() { self.var_keepdim(dim)?.squeeze(dim) } else { reduce_dim(SAMPLE, self, dim, false) }
    }

    /// As [`Tensor::var`], the dimension stays with length 1.
    #[track_caller]
    pub fn var_keepdim<D: Dim>(&self, dim: D) -> Result<Tensor> {
        let dim = dim.to_index(self.shape(), "var")?;
        if !self.dtype().is_int() {
            return reduce_dim(SAMPLE, self, dim, true);
        }
        let squares = self.broadcast_sub(&self.mean_keepdim(dim)?)?.sqr()?;
        squares.sum_keepdim(dim)?.affine(1.0 / (self.dims()[dim] as f64 - 1.0), 0.0)
    }
}

fn samples() -> Vec<Sample> {
    fn squares(x: &[f64]) -> f64 {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        x.iter().map(|x| (x - mean).powi(2)).sum()
    }
    let population = Var { correction: Scalar::Float(0.0) };
    let mut samples = reduction_samples(population, |x| squares(x) / x.len() as f64);
    let axes = Axes::of(&[1]);
    let op = ReduceOp { reduction: Var { correction: Scalar::Float(1.0) }, axes, keepdim: false };
    samples.push(Sample::new(op, vec![Array::spread(&[3, 5], -2.0..2.0)], move |x| {
        reduce_array(&x[0], axes, false, |x| squares(x) / (x.len() - 1) as f64)
    }));
    samples
}
