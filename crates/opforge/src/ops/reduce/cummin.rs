//! `cummin(x, dim)`: the least of each element and all before it, and where it is.

use opforge_tile::forms::Extreme;

use crate::ops::extreme::{running_extreme, running_samples};
use crate::ops::prelude::*;

/// The least of each element and all before it along `dim`, and the index of the last that is equal to it. NaN wins and stays, the last of several.
///
/// # Errors
/// For a dimension out of range.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[2f32, 1.0, 3.0], &Device::Cpu)?;
/// let (values, indices) = opforge::functional::cummin(&x, 0)?;
/// assert_eq!(values.to_vec1::<f32>()?, [2.0, 1.0, 1.0]);
/// assert_eq!(indices.to_vec1::<i64>()?, [0, 1, 1]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, results(values, indices))]
#[operator(DTypes::REAL, samples, gradient = false)]
pub fn cummin(input: &Tensor, dim: i64) -> Result<(Tensor, Tensor)> {
    running_extreme(Extreme::Min, input, dim)
}

fn samples() -> Vec<Sample> {
    running_samples(Extreme::Min, |new, old| new <= old)
}
