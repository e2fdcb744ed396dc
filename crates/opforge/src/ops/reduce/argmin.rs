//! `argmin(x, dim)`: where the least element is.

use opforge_core::normalize_dim;
use opforge_cpu::reduce::{Extreme, arg_reduce};

use crate::Dim;
use crate::operator::prelude::*;

/// The mathematics of [`argmin`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArgMin {
    /// The result's dtype: i64 or u32.
    pub index: DType,
}

impl Reduction for ArgMin {
    const NAME: &'static str = "argmin";
    const OF_NOTHING: bool = false;
    const DIFFERENTIABLE: bool = false;

    fn kernel(&self, input: &Meta, axes: &[usize], output: &Meta) -> Result<Arc<dyn Kernel>> {
        let &[axis] = axes else {
            return Err(Error::value(Self::NAME, "dim", format!("{axes:?}"), "one dimension"));
        };
        arg_reduce(Self::NAME, Extreme::Min, input, axis, output)
    }

    fn dtype(&self, _: DType) -> DType {
        self.index
    }
}

function! {
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
    #[python(torch, method)]
    pub fn argmin(input: &Tensor, dim: Option<i64> = None, keepdim: bool = false) -> Result<Tensor> {
        let reduction = ArgMin { index: Rules::TORCH.index };
        match dim {
            Some(dim) if input.rank() > 0 => {
                let axes = Axes::of(&[normalize_dim(dim, input.rank(), "argmin")?]);
                dispatch1(&ReduceOp { reduction, axes, keepdim }, &[input])
            }
            _ => {
                let index = dispatch1(&ReduceOp { reduction, axes: Axes::of(&[0]), keepdim: false }, &[&input.flatten_all()?])?;
                if keepdim { index.reshape(Axes::all(input.rank()).reduced(input.shape(), true)) } else { Ok(index) }
            }
        }
    }
}

impl Tensor {
    #[track_caller]
    fn argmin_impl<D: Dim>(&self, dim: D, keepdim: bool) -> Result<Tensor> {
        let axes = Axes::of(&[dim.to_index(self.shape(), "argmin")?]);
        dispatch1(&ReduceOp { reduction: ArgMin { index: Rules::SAME.index }, axes, keepdim }, &[self])
    }

    /// The index of the least element along a dimension, which goes away, as u32.
    #[track_caller]
    pub fn argmin<D: Dim>(&self, dim: D) -> Result<Tensor> {
        self.argmin_impl(dim, false)
    }

    /// The index of the least element along a dimension, which stays with length 1, as u32.
    #[track_caller]
    pub fn argmin_keepdim<D: Dim>(&self, dim: D) -> Result<Tensor> {
        self.argmin_impl(dim, true)
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: ArgMin::NAME, function: &FUNCTION, dtypes: DTypes::REAL, samples };

fn samples() -> Vec<Sample> {
    let sample = |shape: &[usize], dim: usize, keepdim: bool| {
        let axes = Axes::of(&[dim]);
        let op = ReduceOp { reduction: ArgMin { index: DType::I64 }, axes, keepdim };
        let wins = |a: f64, b: f64| a < b || a.is_nan() && !b.is_nan();
        let first = move |x: &[f64]| (1..x.len()).fold(0, |best, i| if wins(x[i], x[best]) { i } else { best }) as f64;
        let inputs = vec![Array::spread(shape, 0.0..5.0).map(f64::floor)];
        Sample::new(op, inputs, move |x| reduce_array(&x[0], axes, keepdim, first)).rough()
    };
    vec![sample(&[3, 4], 1, false), sample(&[2, 3, 4], 1, true), sample(&[7], 0, false), sample(&[5, 3], 0, false)]
}
