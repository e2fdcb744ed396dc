//! Pooling under as many about equal windows as the result has elements.

use opforge_tile::forms::Divisor;
use opforge_tile::forms::MAX_SPATIAL;

use crate::family::pool::Pooling;
use crate::ops::nn::avg_pool2d::avg_pool;
use crate::ops::nn::max_pool2d::{max_pool, max_pool_returning};
use crate::ops::prelude::*;

functions! {
    adaptive_avg_pool1d, adaptive_max_pool1d, adaptive_max_pool1d_returning, adaptive_avg_pool2d, adaptive_max_pool2d,
    adaptive_max_pool2d_returning, adaptive_avg_pool3d, adaptive_max_pool3d, adaptive_max_pool3d_returning,
}

/// The windows that give a result of this size.
fn adaptive(op: &'static str, spatial: usize, input: &Tensor, size: &[i64]) -> Result<Pooling> {
    let mut pooling = Pooling::adaptive(op, spatial);
    let mut lengths = pooling.input_lengths(input)?;
    // Each window has a place in a table.
    const MOST: usize = 1 << 24;
    let accepted = || format!("1 or {spatial} numbers, -1 to {MOST}");
    let wrong = || Error::value(op, "output_size", format!("{size:?}"), accepted());
    if size.len() != 1 && size.len() != spatial {
        return Err(wrong());
    }
    for (i, length) in lengths[MAX_SPATIAL - spatial..].iter_mut().enumerate() {
        match size[if size.len() == 1 { 0 } else { i }] {
            -1 => {}
            n => *length = usize::try_from(n).ok().filter(|&n| n <= MOST).ok_or_else(wrong)?,
        }
    }
    pooling.adapted = Some(lengths);
    Ok(pooling)
}

/// The averages of as many about equal windows as `output_size` says, over the last dimension of `[batch, channels, ..]`
/// (the batch may be missing). A size of -1 is the input's.
///
/// # Errors
/// For an input of another rank or without elements, and sizes below -1.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0, 6.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::adaptive_avg_pool1d(&x, &[2])?.to_vec2::<f32>()?, [[1.5, 4.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, nn)]
pub fn adaptive_avg_pool1d(input: &Tensor, output_size: &[i64]) -> Result<Tensor> {
    avg_pool(&adaptive(OP, 1, input, output_size)?, Divisor::Inside, input)
}

/// The greatest elements, and their places, under as many about equal windows as `output_size` says: otherwise as
/// [`adaptive_avg_pool1d`].
///
/// # Errors
/// As [`adaptive_avg_pool1d`].
#[function]
#[python(torch)]
pub fn adaptive_max_pool1d(input: &Tensor, output_size: &[i64]) -> Result<(Tensor, Tensor)> {
    max_pool(&adaptive(OP, 1, input, output_size)?, input)
}

/// [`adaptive_max_pool1d`], without the places unless `return_indices`.
///
/// # Errors
/// As [`adaptive_avg_pool1d`].
#[function(return_indices = false)]
#[python(nn, name = "adaptive_max_pool1d")]
pub fn adaptive_max_pool1d_returning(input: &Tensor, output_size: &[i64], return_indices: bool) -> Result<Value> {
    max_pool_returning(&adaptive("adaptive_max_pool1d", 1, input, output_size)?, input, return_indices)
}

/// The averages of as many about equal windows as `output_size` says, over the last 2 dimensions of `[batch, channels, ..]`
/// (the batch may be missing). A size of -1 is the input's.
///
/// # Errors
/// For an input of another rank or without elements, and sizes below -1.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[[1f32, 2.0, 6.0], [3.0, 4.0, 8.0]]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::adaptive_avg_pool2d(&x, &[1, 2])?.to_vec3::<f32>()?, [[[2.5, 5.0]]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(nn)]
pub fn adaptive_avg_pool2d(input: &Tensor, output_size: &[i64]) -> Result<Tensor> {
    avg_pool(&adaptive(OP, 2, input, output_size)?, Divisor::Inside, input)
}

/// The greatest elements, and their places, under as many about equal windows as `output_size` says: otherwise as
/// [`adaptive_avg_pool2d`].
///
/// # Errors
/// As [`adaptive_avg_pool2d`].
#[function]
#[python(hidden)]
pub fn adaptive_max_pool2d(input: &Tensor, output_size: &[i64]) -> Result<(Tensor, Tensor)> {
    max_pool(&adaptive(OP, 2, input, output_size)?, input)
}

/// [`adaptive_max_pool2d`], without the places unless `return_indices`.
///
/// # Errors
/// As [`adaptive_avg_pool2d`].
#[function(return_indices = false)]
#[python(nn, name = "adaptive_max_pool2d")]
pub fn adaptive_max_pool2d_returning(input: &Tensor, output_size: &[i64], return_indices: bool) -> Result<Value> {
    max_pool_returning(&adaptive("adaptive_max_pool2d", 2, input, output_size)?, input, return_indices)
}

/// The averages of as many about equal windows as `output_size` says, over the last 3 dimensions of `[batch, channels, ..]`
/// (the batch may be missing). A size of -1 is the input's.
///
/// # Errors
/// For an input of another rank or without elements, and sizes below -1.
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let x = Tensor::ones((1, 2, 3, 4, 5), DType::F32, &Device::Cpu)?;
/// assert_eq!(opforge::functional::adaptive_avg_pool3d(&x, &[2, -1, 1])?.dims(), [1, 2, 2, 4, 1]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(nn)]
pub fn adaptive_avg_pool3d(input: &Tensor, output_size: &[i64]) -> Result<Tensor> {
    avg_pool(&adaptive(OP, 3, input, output_size)?, Divisor::Inside, input)
}

/// The greatest elements, and their places, under as many about equal windows as `output_size` says: otherwise as
/// [`adaptive_avg_pool3d`].
///
/// # Errors
/// As [`adaptive_avg_pool3d`].
#[function]
#[python(hidden)]
pub fn adaptive_max_pool3d(input: &Tensor, output_size: &[i64]) -> Result<(Tensor, Tensor)> {
    max_pool(&adaptive(OP, 3, input, output_size)?, input)
}

/// [`adaptive_max_pool3d`], without the places unless `return_indices`.
///
/// # Errors
/// As [`adaptive_avg_pool3d`].
#[function(return_indices = false)]
#[python(nn, name = "adaptive_max_pool3d")]
pub fn adaptive_max_pool3d_returning(input: &Tensor, output_size: &[i64], return_indices: bool) -> Result<Value> {
    max_pool_returning(&adaptive("adaptive_max_pool3d", 3, input, output_size)?, input, return_indices)
}
