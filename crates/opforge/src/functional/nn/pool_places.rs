//! Max pooling that tells where the greatest elements are.

use crate::family::pool::Pooling;
use crate::ops::nn::max_pool2d::{max_pool, max_pool_returning};
use crate::ops::prelude::*;

functions! {
    max_pool1d_with_indices, max_pool1d_returning, max_pool2d_with_indices, max_pool2d_returning,
    max_pool3d_with_indices, max_pool3d_returning,
}

/// [`max_pool1d`](crate::functional::max_pool1d), with the places of the greatest elements among those of the last
/// dimensions (1), in i64. `return_indices` changes nothing.
///
/// # Errors
/// As [`max_pool1d`](crate::functional::max_pool1d).
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 5.0, 2.0, 3.0]], &Device::Cpu)?;
/// let (y, places) = opforge::functional::max_pool1d_with_indices(&x, &[2], None, &[0], &[1], false, true)?;
/// assert_eq!((y.to_vec2::<f32>()?, places.to_vec2::<i64>()?), (vec![vec![5.0, 3.0]], vec![vec![1, 3]]));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(stride = None, padding = &[0], dilation = &[1], ceil_mode = false, return_indices = false)]
#[python(torch, nn)]
pub fn max_pool1d_with_indices(
    input: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    dilation: &[i64],
    ceil_mode: bool,
    return_indices: bool,
) -> Result<(Tensor, Tensor)> {
    let _ = return_indices;
    max_pool(&Pooling::new("max_pool1d", 1, kernel_size, stride, [padding, dilation], ceil_mode)?, input)
}

/// [`max_pool1d`](crate::functional::max_pool1d), or with the places too if `return_indices`.
///
/// # Errors
/// As [`max_pool1d`](crate::functional::max_pool1d).
#[function(stride = None, padding = &[0], dilation = &[1], ceil_mode = false, return_indices = false)]
#[python(nn, name = "max_pool1d")]
pub fn max_pool1d_returning(
    input: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    dilation: &[i64],
    ceil_mode: bool,
    return_indices: bool,
) -> Result<Value> {
    let pooling = Pooling::new("max_pool1d", 1, kernel_size, stride, [padding, dilation], ceil_mode)?;
    max_pool_returning(&pooling, input, return_indices)
}

/// [`max_pool2d`](crate::functional::max_pool2d), with the places of the greatest elements among those of the last
/// dimensions (2), in i64. `return_indices` changes nothing.
///
/// # Errors
/// As [`max_pool2d`](crate::functional::max_pool2d).
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[[1f32, 5.0], [2.0, 3.0]]], &Device::Cpu)?;
/// let (y, places) = opforge::functional::max_pool2d_with_indices(&x, &[2], None, &[0], &[1], false, true)?;
/// assert_eq!((y.to_vec3::<f32>()?, places.to_vec3::<i64>()?), (vec![vec![vec![5.0]]], vec![vec![vec![1]]]));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(stride = None, padding = &[0], dilation = &[1], ceil_mode = false, return_indices = false)]
#[python(nn)]
pub fn max_pool2d_with_indices(
    input: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    dilation: &[i64],
    ceil_mode: bool,
    return_indices: bool,
) -> Result<(Tensor, Tensor)> {
    let _ = return_indices;
    max_pool(&Pooling::new("max_pool2d", 2, kernel_size, stride, [padding, dilation], ceil_mode)?, input)
}

/// [`max_pool2d`](crate::functional::max_pool2d), or with the places too if `return_indices`.
///
/// # Errors
/// As [`max_pool2d`](crate::functional::max_pool2d).
#[function(stride = None, padding = &[0], dilation = &[1], ceil_mode = false, return_indices = false)]
#[python(nn, name = "max_pool2d")]
pub fn max_pool2d_returning(
    input: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    dilation: &[i64],
    ceil_mode: bool,
    return_indices: bool,
) -> Result<Value> {
    let pooling = Pooling::new("max_pool2d", 2, kernel_size, stride, [padding, dilation], ceil_mode)?;
    max_pool_returning(&pooling, input, return_indices)
}

/// [`max_pool3d`](crate::functional::max_pool3d), with the places of the greatest elements among those of the last
/// dimensions (3), in i64. `return_indices` changes nothing.
///
/// # Errors
/// As [`max_pool3d`](crate::functional::max_pool3d).
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::arange(0f32, 8.0, &Device::Cpu)?.reshape((1, 2, 2, 2))?;
/// let (y, places) = opforge::functional::max_pool3d_with_indices(&x, &[2], None, &[0], &[1], false, true)?;
/// assert_eq!((y.flatten_all()?.to_vec1::<f32>()?[0], places.dims()), (7.0, &[1, 1, 1, 1][..]));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(stride = None, padding = &[0], dilation = &[1], ceil_mode = false, return_indices = false)]
#[python(nn)]
pub fn max_pool3d_with_indices(
    input: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    dilation: &[i64],
    ceil_mode: bool,
    return_indices: bool,
) -> Result<(Tensor, Tensor)> {
    let _ = return_indices;
    max_pool(&Pooling::new("max_pool3d", 3, kernel_size, stride, [padding, dilation], ceil_mode)?, input)
}

/// [`max_pool3d`](crate::functional::max_pool3d), or with the places too if `return_indices`.
///
/// # Errors
/// As [`max_pool3d`](crate::functional::max_pool3d).
#[function(stride = None, padding = &[0], dilation = &[1], ceil_mode = false, return_indices = false)]
#[python(nn, name = "max_pool3d")]
pub fn max_pool3d_returning(
    input: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    dilation: &[i64],
    ceil_mode: bool,
    return_indices: bool,
) -> Result<Value> {
    let pooling = Pooling::new("max_pool3d", 3, kernel_size, stride, [padding, dilation], ceil_mode)?;
    max_pool_returning(&pooling, input, return_indices)
}
