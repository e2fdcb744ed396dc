//! `sum(x, dims)`: the sum over dimensions.

use opforge_tile::{Integers, Reducer};

use crate::Dims;
use crate::arguments::accumulation_dtype;
use crate::functional::{self as f, reduced};
use crate::ops::prelude::*;

/// The mathematics of [`sum`]. Rounding errors grow with the logarithm of the number of elements; f16 and bf16 accumulate in f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Sum {
    /// Whether integers are summed into i64.
    pub widen: bool,
}

/// The total of all elements, divided by their number if `mean`: one type, since loops are compiled for each.
#[derive(Clone, Copy)]
struct Total {
    mean: bool,
}

/// The mean over axes.
///
/// # Errors
/// Integers and truth values: of those there are totals alone.
pub(crate) fn mean_over(op: &'static str, input: &Meta, axes: &[usize]) -> Result<Lowering> {
    ensure(!input.dtype.is_int() && input.dtype != DType::Bool, || Error::UnsupportedDTypeForOp(input.dtype, op))?;
    Ok(Lowering::Reduce(Reduce::numbers(Total { mean: true }, axes)))
}

impl Reducer for Total {
    const INTEGERS: Integers = Integers::Widen;

    #[inline(always)]
    fn identity(self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
    #[inline(always)]
    fn finish<V: Float>(self, acc: V, count: f64) -> V {
        if self.mean { acc / V::splat(count) } else { acc }
    }
    #[inline(always)]
    fn int_combine<T: Int>(self, a: T, b: T) -> T {
        a.wrapping_add(b)
    }
}

impl Reduction for Sum {
    const NAME: &'static str = "sum";
    const ROLE: Role = Role::Sum;

    fn lower(&self, _: &Meta, axes: &[usize], _: &Meta) -> Result<Lowering> {
        Ok(Lowering::Reduce(Reduce::numbers(Total { mean: false }, axes)))
    }

    fn dtype(&self, input: DType) -> DType {
        if self.widen { accumulation_dtype(input) } else { input }
    }

    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        of.grad()
    }
}

/// The sum over dimensions, all of them without `dim`. Integers and truth values are summed into i64, wrapping, unless `dtype` says
/// otherwise.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1i64, 2], [3, 4]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::sum(&x, Some(&[0]), false, None)?.to_vec1::<i64>()?, [4, 6]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false, *, dtype = None)]
#[operator(DTypes::REAL, samples, Sum)]
pub fn sum(input: &Tensor, dim: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    if dtype == Some(DType::Bool) {
        let dim = dim.filter(|dim| !dim.is_empty());
        return f::any(&f::ne(input.into(), 0i64.into())?, dim, keepdim);
    }
    // What is summed in this dtype anyway need not be converted before.
    let dtype = dtype.filter(|&dtype| dtype != accumulation_dtype(input.dtype()));
    let input = dtype.map_or_else(|| Ok(input.clone()), |dtype| input.to_dtype(dtype))?;
    let axes = reduce_dims(OP, &input, dim)?;
    reduced(Sum { widen: dtype.is_none() }, axes, keepdim, &input)
}

impl Tensor {
    #[track_caller]
    fn sum_impl<D: Dims>(&self, dims: D, keepdim: bool) -> Result<Tensor> {
        let axes = Axes::of(&dims.to_indexes(self.shape(), "sum")?);
        reduced(Sum { widen: false }, axes, keepdim, self)
    }

    /// The sum over dimensions, which go away; the dtype stays.
    #[track_caller]
    pub fn sum<D: Dims>(&self, dims: D) -> Result<Tensor> {
        self.sum_impl(dims, false)
    }

    /// The sum over dimensions, which stay with length 1; the dtype stays.
    #[track_caller]
    pub fn sum_keepdim<D: Dims>(&self, dims: D) -> Result<Tensor> {
        self.sum_impl(dims, true)
    }

    /// The sum of all elements, as a scalar.
    #[track_caller]
    pub fn sum_all(&self) -> Result<Tensor> {
        reduced(Sum { widen: false }, Axes::all(self.rank()), false, self)
    }
}

fn samples() -> Vec<Sample> {
    reduction_samples(Sum { widen: true }, |x| x.iter().sum())
}
