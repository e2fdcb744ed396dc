//! `triu(x, diagonal)`: the upper triangles of matrices.

use super::tril::{Triangle, triangle, triangle_samples};
use crate::ops::prelude::*;

/// The matrices, the last two dimensions, with zeros below the diagonal that is `diagonal` above the main one.
///
/// # Errors
/// For fewer than two dimensions.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::triu(&x, 1)?.to_vec2::<f32>()?, [[0.0, 2.0], [0.0, 0.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(diagonal = 0, out)]
#[python(torch, method, in_place)]
#[operator(DTypes::ALL, samples)]
pub fn triu(input: &Tensor, diagonal: i64) -> Result<Tensor> {
    triangle(Triangle { lower: false, diagonal }, input, out)
}

fn samples() -> Vec<Sample> {
    triangle_samples(false)
}
