//! Pooling by the number of spatial dimensions.

use opforge_tile::forms::{Divisor, MAX_SPATIAL, Window, Windows};

use crate::family::pool::Pooling;
use crate::functional as f;
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

/// Averages of i64 under sliding windows, rounded towards 0: sums are of integers, which floats cannot hold.
#[track_caller]
pub(crate) fn average_of_integers(pooling: &Pooling, divisor: Divisor, input: &Tensor) -> Result<Tensor> {
    let (lengths, spatial) = (pooling.lengths(input)?, pooling.spatial);
    let Windows::Sliding { kernel, windows } = pooling.windows else {
        return Err(Error::UnsupportedDTypeForOp(DType::I64, "adaptive_avg_pool"));
    };
    let (mut sums, mut counts) = (input.clone(), Tensor::new(1i64, input.device())?);
    for (place, d) in (input.rank() - spatial..input.rank()).zip(MAX_SPATIAL - spatial..) {
        let (own, Window { stride, padding, .. }) = (input.dims()[place], windows[d]);
        let end = (lengths[d] - 1) * stride + kernel[d];
        sums = sums.pad_with_zeros(place, padding, end.saturating_sub(own + padding))?;
        sums = sums.unfold(place, kernel[d], stride)?.sum(sums.rank())?;
        // What counts, from the padding's beginning on.
        let counted = if divisor == Divisor::Padded { 0..own + 2 * padding } else { padding..own + padding };
        let inside = |first: usize| (first + kernel[d]).min(counted.end) - first.max(counted.start);
        let inside: Vec<i64> = (0..lengths[d]).map(|i| inside(i * stride) as i64).collect();
        counts = counts.unsqueeze(counts.rank())?.broadcast_mul(&Tensor::new(inside, input.device())?)?;
    }
    match divisor {
        Divisor::Number(n) => f::div((&sums).into(), n.into(), Some("trunc")),
        _ => f::div((&sums).into(), (&counts).into(), Some("trunc")),
    }
}

/// A height and a width: two numbers, or one for both.
pub trait ToUsize2 {
    /// The height and the width.
    fn to_usize2(self) -> (usize, usize);
}

impl ToUsize2 for usize {
    fn to_usize2(self) -> (usize, usize) {
        (self, self)
    }
}

impl ToUsize2 for (usize, usize) {
    fn to_usize2(self) -> (usize, usize) {
        self
    }
}

/// Sliding windows without padding.
fn sliding(op: &'static str, kernel: (usize, usize), stride: (usize, usize)) -> Result<Pooling> {
    let ints = |(h, w): (usize, usize)| [h, w].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
    Pooling::new(op, 2, &ints(kernel), Some(&ints(stride)), [&[0], &[1]], false)
}

impl Tensor {
    /// The averages under windows that lie side by side on the last two dimensions: see
    /// [`avg_pool2d`](crate::functional::avg_pool2d).
    ///
    /// # Errors
    /// As [`Tensor::avg_pool2d_with_stride`].
    #[track_caller]
    pub fn avg_pool2d<T: ToUsize2>(&self, kernel_size: T) -> Result<Tensor> {
        let kernel = kernel_size.to_usize2();
        self.avg_pool2d_with_stride(kernel, kernel)
    }

    /// The averages under windows that move over the last two dimensions.
    ///
    /// # Errors
    /// For a window or stride of 0 and a window larger than the input.
    #[track_caller]
    pub fn avg_pool2d_with_stride<T: ToUsize2>(&self, kernel_size: T, stride: T) -> Result<Tensor> {
        avg_pool(&sliding("avg_pool2d", kernel_size.to_usize2(), stride.to_usize2())?, Divisor::Inside, self)
    }

    /// The greatest elements under windows that lie side by side on the last two dimensions: see [`max_pool2d`](crate::functional::max_pool2d).
    ///
    /// # Errors
    /// As [`Tensor::max_pool2d_with_stride`].
    #[track_caller]
    pub fn max_pool2d<T: ToUsize2>(&self, kernel_size: T) -> Result<Tensor> {
        let kernel = kernel_size.to_usize2();
        self.max_pool2d_with_stride(kernel, kernel)
    }

    /// The greatest elements under windows that move over the last two dimensions.
    ///
    /// # Errors
    /// For a window or stride of 0 and a window larger than the input.
    #[track_caller]
    pub fn max_pool2d_with_stride<T: ToUsize2>(&self, kernel_size: T, stride: T) -> Result<Tensor> {
        max_pool_values(&sliding("max_pool2d", kernel_size.to_usize2(), stride.to_usize2())?, self)
    }
}
