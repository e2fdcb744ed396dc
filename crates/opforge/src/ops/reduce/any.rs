//! `any(x, dims)`: whether any element is true over dimensions.

use super::all::{Truth, truth_over};
use crate::functional as f;
use crate::ops::prelude::*;

/// Whether any element is true (not zero; NaN is not) over dimensions, all of them without `dim`, as bool, of u8 as u8. Of no elements it is false.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[0i64, 0], [3, 0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::any(&x, Some(&[1]), false)?.to_vec1::<bool>()?, [false, true]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false)]
#[operator(DTypes::REAL, samples, Truth<false>, gradient = false)]
pub fn any(input: &Tensor, dim: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    if input.dtype().is_complex() {
        return any(&f::ne(input.into(), 0.0.into())?, dim, keepdim);
    }
    truth_over(Truth::<false>, input, dim, keepdim)
}

fn samples() -> Vec<Sample> {
    let truth = |x: &[f64]| f64::from(x.iter().any(|&x| x != 0.0));
    reduction_samples(Truth::<false>, truth).into_iter().map(|s| s.on(|x| (x - 1.2).max(0.0).ceil()).rough()).collect()
}
