//! `nansum(x, dims)`: the sum over dimensions of what is not NaN.

use opforge_tile::Reducer;

use super::sum::Sum;
use crate::functional::{self as f, reduced};
use crate::ops::prelude::*;

/// The mathematics of [`nansum`] of floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct NanSum;

impl Reducer for NanSum {
    #[inline(always)]
    fn identity(self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn map<V: Float>(self, x: V) -> V {
        V::select(x.is_nan(), V::splat(0.0), x)
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
}

impl Reduction for NanSum {
    const NAME: &'static str = "nansum";
    const SAVES: Saves = Saves::INPUTS;

    fn lower(&self, _: &Meta, axes: &[usize], _: &Meta) -> Result<Lowering> {
        Ok(Lowering::Reduce(Reduce::numbers(*self, axes)))
    }

    /// Sums can be made of parts; this function, which is not linear, would count as one of what several ranks hold together.
    fn decompose(&self, input: &Tensor, axes: Axes, keepdim: bool) -> Option<Result<Tensor>> {
        let composed = || reduced(Sum { widen: false }, axes, keepdim, &numbers(input)?);
        Some(composed())
    }

    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        f::where_cond(&f::isnan(&of.input()?)?, 0i64.into(), (&of.grad()?).into())
    }
}

/// 0 in place of NaN.
#[track_caller]
fn numbers(input: &Tensor) -> Result<Tensor> {
    f::where_cond(&f::isnan(input)?, 0i64.into(), input.into())
}

/// The sum over dimensions, all of them without `dim`, with NaN as 0.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, f32::NAN], &Device::Cpu)?;
/// assert_eq!(opforge::functional::nansum(&x, None, false, None)?.to_scalar::<f32>()?, 1.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false, *, dtype = None)]
#[operator(DTypes::FLOATS, samples, NanSum)]
pub fn nansum(input: &Tensor, dim: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    if input.dtype().is_int() || input.dtype() == DType::Bool {
        return f::sum(input, dim, keepdim, dtype);
    }
    if input.dtype().is_complex() || dtype.is_some_and(|dtype| dtype != input.dtype()) {
        return f::sum(&numbers(input)?, dim, keepdim, dtype);
    }
    reduced(NanSum, reduce_dims(OP, input, dim)?, keepdim, input)
}

fn samples() -> Vec<Sample> {
    reduction_samples(NanSum, |x| x.iter().filter(|x| !x.is_nan()).sum())
}
