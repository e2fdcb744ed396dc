//! Pooling by the number of spatial dimensions.

use crate::family::pool::Pooling;
use crate::ops::nn::avg_pool2d::{avg_pool, divisor};
use crate::ops::nn::max_pool2d::max_pool_values;
use crate::ops::prelude::*;

functions! { max_pool1d, max_pool3d, avg_pool1d, avg_pool3d }

/// [`max_pool2d`](crate::functional::max_pool2d) over the last dimension of `[batch, channels, ..]`.
///
/// # Errors
/// As [`max_pool2d`](crate::functional::max_pool2d).
#[function(stride = None, padding = &[0], dilation = &[1], ceil_mode = false)]
#[python(torch)]
pub fn max_pool1d(
    input: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    dilation: &[i64],
    ceil_mode: bool,
) -> Result<Tensor> {
    max_pool_values(&Pooling::new(OP, 1, kernel_size, stride, [padding, dilation], ceil_mode)?, input)
}

/// [`max_pool2d`](crate::functional::max_pool2d) over the last three dimensions of `[batch, channels, ..]`.
///
/// # Errors
/// As [`max_pool2d`](crate::functional::max_pool2d).
#[function(stride = None, padding = &[0], dilation = &[1], ceil_mode = false)]
#[python(torch)]
pub fn max_pool3d(
    input: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    dilation: &[i64],
    ceil_mode: bool,
) -> Result<Tensor> {
    max_pool_values(&Pooling::new(OP, 3, kernel_size, stride, [padding, dilation], ceil_mode)?, input)
}

/// [`avg_pool2d`](crate::functional::avg_pool2d) over the last dimension of `[batch, channels, length]`.
///
/// # Errors
/// As [`avg_pool2d`](crate::functional::avg_pool2d).
#[function(stride = None, padding = &[0], ceil_mode = false, count_include_pad = true)]
#[python(torch, nn)]
pub fn avg_pool1d(
    input: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    ceil_mode: bool,
    count_include_pad: bool,
) -> Result<Tensor> {
    let pooling = Pooling::new(OP, 1, kernel_size, stride, [padding, &[1]], ceil_mode)?;
    avg_pool(&pooling, divisor(OP, count_include_pad, None)?, input)
}

/// [`avg_pool2d`](crate::functional::avg_pool2d) over the last three dimensions of `[batch, channels, depth, height, width]`.
///
/// # Errors
/// As [`avg_pool2d`](crate::functional::avg_pool2d).
#[function(stride = None, padding = &[0], ceil_mode = false, count_include_pad = true, divisor_override = None)]
#[python(nn)]
pub fn avg_pool3d(
    input: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Option<i64>,
) -> Result<Tensor> {
    let pooling = Pooling::new(OP, 3, kernel_size, stride, [padding, &[1]], ceil_mode)?;
    avg_pool(&pooling, divisor(OP, count_include_pad, divisor_override)?, input)
}
