//! `all(x, dims)`: whether all elements are true over dimensions.

use opforge_tile::TruthReducer;

use crate::functional as f;
use crate::ops::prelude::*;

/// The mathematics of `all` if `ALL`, else of `any`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Truth<const ALL: bool>;

impl<const ALL: bool> Reduction for Truth<ALL> {
    const NAME: &'static str = if ALL { "all" } else { "any" };
    const DIFFERENTIABLE: bool = false;
    const ROLE: Role = if ALL { Role::All } else { Role::Any };

    fn lower(&self, _: &Meta, axes: &[usize], _: &Meta) -> Result<Lowering> {
        Ok(Lowering::Reduce(Reduce::truths(if ALL { TruthReducer::All } else { TruthReducer::Any }, axes)))
    }

    fn dtype(&self, input: DType) -> DType {
        if input == DType::U8 { DType::U8 } else { Rules::TORCH.truth }
    }
}

/// The truth over dimensions, all of them without `dim`: unlike other reductions, over none if the list is empty.
#[track_caller]
pub(super) fn truth_over<const ALL: bool>(
    truth: Truth<ALL>,
    input: &Tensor,
    dim: Option<&[i64]>,
    keepdim: bool,
) -> Result<Tensor> {
    match dim {
        Some([]) => dispatch1(&ReduceOp { reduction: truth, axes: Axes::default(), keepdim }, &[input]),
        _ => reduce_over(truth, input, dim, keepdim),
    }
}

/// Whether all elements are true (not zero; NaN is not) over dimensions, all of them without `dim`, as bool, of u8 as u8. Of no elements it is true.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[0i64, 0], [3, 0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::all(&x, Some(&[1]), false)?.to_vec1::<bool>()?, [false, false]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false)]
#[operator(DTypes::REAL, samples, Truth<true>, gradient = false)]
pub fn all(input: &Tensor, dim: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    if input.dtype().is_complex() {
        return all(&f::ne(input.into(), 0.0.into())?, dim, keepdim);
    }
    truth_over(Truth::<true>, input, dim, keepdim)
}

fn samples() -> Vec<Sample> {
    let truth = |x: &[f64]| f64::from(x.iter().all(|&x| x != 0.0));
    reduction_samples(Truth::<true>, truth).into_iter().map(|s| s.on(|x| (x - 0.6).max(0.0).ceil()).rough()).collect()
}
