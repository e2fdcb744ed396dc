//! `log_softmax(x, dim) = x - ln(sum(e^x))` along a dimension.

use opforge_tile::Softmax as Kind;

use super::softmax::{apply, softmax_samples};
use crate::ops::prelude::*;

/// The logarithm of softmax, `x - ln(sum(e^x))` along `dim`, accurate where softmax itself would round to 0.
///
/// Takes a floating-point tensor (or converts to `dtype` first); the result has the same shape.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1000.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::log_softmax(&x, -1, None)?.to_vec1::<f32>()?, [-1000.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None)]
#[python(torch, method, nn)]
#[operator(DTypes::FLOATS, samples)]
pub fn log_softmax(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    apply(OP, Kind::Log, input, dim, dtype)
}

fn samples() -> Vec<Sample> {
    softmax_samples(Kind::Log, |x, total| x - total.ln())
}
