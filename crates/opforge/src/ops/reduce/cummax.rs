//! `cummax(x, dim)`: the greatest of each element and all before it, and where it is.

use opforge_tile::forms::Extreme;

use crate::ops::extreme::{RunningArg, running_extreme, running_samples};
use crate::ops::prelude::*;

/// The greatest of each element and all before it along `dim`, and the index of the last that is equal to it. NaN wins and stays, the last of several.
///
/// # Errors
/// For a dimension out of range.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[2f32, 1.0, 3.0], &Device::Cpu)?;
/// let (values, indices) = opforge::functional::cummax(&x, 0)?;
/// assert_eq!(values.to_vec1::<f32>()?, [2.0, 2.0, 3.0]);
/// assert_eq!(indices.to_vec1::<i64>()?, [0, 0, 2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, results(values, indices))]
#[operator(DTypes::REAL, samples, RunningArg, gradient = false)]
pub fn cummax(input: &Tensor, dim: i64) -> Result<(Tensor, Tensor)> {
    running_extreme(Extreme::Max, input, dim)
}

fn samples() -> Vec<Sample> {
    running_samples(Extreme::Max, |new, old| new >= old)
}
